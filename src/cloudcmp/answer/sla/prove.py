"""What samples prove of a claim: met, broken, or cannot tell."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cloudcmp.answer.sla.downtime import downtime_of
from cloudcmp.answer.sla.requirements import Seen, requirement_of
from cloudcmp.answer.sla.timeline import Timeline, groups_of, length_s, moment, values_of, windows_of
from cloudcmp.errors import UserMistake
from cloudcmp.model.credits import Spans
from cloudcmp.model.result import Bounds
from cloudcmp.model.service_level import (
    Burn,
    Calendar,
    Claim,
    ClaimFinding,
    Clusters,
    Doubt,
    ErrorBudget,
    Quantity,
    SampleGroup,
    Standing,
    Statistic,
    WindowFinding,
)
from cloudcmp.stats.describe import Interval
from cloudcmp.stats.service_level import clustered_mean, effective_size, miss_bounds

Floats = NDArray[np.float64]

CONFIDENCE = 0.95
"""Each bound is wrong with probability at most 1 - this."""
_BURNS_S = (3600.0, 6 * 3600.0, 3 * 86400.0, 30 * 86400.0)
_NOTHING = 1e-9
"""A share of a window that is nothing."""


def prove_watch(claim: Claim, line: Timeline, confidence: float = CONFIDENCE) -> ClaimFinding:
    """What the samples of a watched service prove of a claim, in each window if it has one.

    Within a window the samples of a regular watch are a stratified sample of its time, so the bounds of Clopper and
    Pearson hold for what happened in it, however outages cluster. In general, blocks of time are what is independent.

    Raises UserMistake as `values_of` does, and for a month or a year in which nobody looked.
    """
    values = values_of(line, claim.quantity)
    kind, groups = groups_of(line, values)
    unit = "B/s" if claim.quantity is Quantity.THROUGHPUT else "s"
    found = prove(claim, line.target, groups, kind, unit, confidence=confidence)
    found = replace(found, watched_s=line.seen_s(line.start, line.end))
    if claim.window is None:
        return found
    spans = list(windows_of(claim.window, line.start, math.nextafter(float(line.at[-1]), math.inf)))
    if claim.window.unit in {Calendar.MONTH, Calendar.YEAR}:
        _check_watched(line, spans)
    watch = _Watch(claim, line, values, downtime_of(line).least, confidence, 1.0 - (1.0 - confidence) / len(spans))
    windows = tuple(_window(watch, *span) for span in spans)
    standing, doubt = _overall(windows)
    last = windows[-1]
    return replace(
        found, standing=standing, doubt=doubt, windows=windows,
        budget=_budget(watch, last),
        requirement=requirement_of(claim, confidence, Seen(last.n, last.misses, last.value, last.bounds)),
    )  # fmt: skip


def prove(
    claim: Claim, subject: str, groups: Sequence[SampleGroup], by: Clusters, unit: str, *,
    span_s: float | None = None, confidence: float = CONFIDENCE, simulated: bool = False,
) -> ClaimFinding:  # fmt: skip
    """What samples in groups prove of a claim in general; groups are independent of each other, samples need not be.

    `span_s` is the time that the samples cover, of which a claim's window may have more; without it no window counts.
    """
    groups = [one for one in groups if one.n]
    n, failed = sum(one.n for one in groups), sum(one.failed for one in groups)
    misses = None if claim.statistic is Statistic.MEAN else np.array([_missed(claim, one) for one in groups])
    value = bounds = alone = effective = None
    if misses is not None and n:
        total = int(misses.sum())
        value, effective = 1.0 - total / n, _effective(claim, groups, misses, confidence)
        bounds = _share_bounds(miss_bounds(total / n * effective, effective, confidence), confidence)
        alone = 1.0 - miss_bounds(total, n, confidence).high
    elif n > failed:
        value, bounds = _mean(groups, confidence)
    unseen = 0.0
    if claim.window is not None and span_s is not None:
        unseen = max(0.0, 1.0 - span_s / length_s(claim.window))
    low, high = _with_unseen(claim, bounds, unseen)
    standing, doubt = _standing(claim, bounds, low, high, unseen, misses is None or bool(misses.sum()))
    missed = None if misses is None else int(misses.sum())
    figure, figure_bounds = _figure(claim, groups, value, bounds, effective, confidence)
    return ClaimFinding(
        claim, subject, unit, standing, doubt, n, missed, failed, value, bounds,
        alone, len(groups), by, effective, figure, figure_bounds,
        requirement_of(claim, confidence, Seen(n, missed, value, bounds, effective)),
        simulated=simulated,
    )  # fmt: skip


def misses_of(claim: Claim, values: Floats) -> NDArray[np.bool_]:
    """Which values miss the limit of a claim; NaN, which is no answer, does."""
    if claim.quantity is Quantity.AVAILABILITY:
        return np.isnan(values)
    assert claim.limit is not None  # as `bound_claim` sees to
    if claim.at_most:
        return ~(values < claim.limit if claim.strict else values <= claim.limit)
    return ~(values > claim.limit if claim.strict else values >= claim.limit)


def _check_watched(line: Timeline, spans: Sequence[tuple[float, float]]) -> None:
    for start, end in spans:
        if not len(line.at[line.within(start, end)]):
            what = f"nobody looked from {moment(start)[:10]} to {moment(end)[:10]}: no sample in the whole window"
            raise UserMistake.at(line.target, what, "name the samples before and after it apart")


def _missed(claim: Claim, group: SampleGroup) -> int:
    return int(group.counts[misses_of(claim, group.values)].sum()) + group.failed


def _share_bounds(missing: Interval, confidence: float) -> Bounds:
    """The bounds of the share that does not miss."""
    return Bounds(1.0 - missing.high, 1.0 - missing.low, confidence)


def _mean(groups: Sequence[SampleGroup], confidence: float) -> tuple[float, Bounds | None]:
    """The mean of the answered samples, with bounds by groups."""
    answered = [one for one in groups if one.n > one.failed]
    sums = [float(one.values @ one.counts) for one in answered]
    sizes = [one.n - one.failed for one in answered]
    found = clustered_mean(sums, sizes, confidence)
    return sum(sums) / sum(sizes), None if found is None else Bounds(found.low, found.high, confidence)


def _with_unseen(claim: Claim, bounds: Bounds | None, unseen: float) -> tuple[float | None, float | None]:
    """The bounds of the whole if nobody saw the share `unseen` of it: once all bad, once all good.

    What nobody saw has a mean without an upper bound; it is at least 0.
    """
    if bounds is None:
        return (None, None) if claim.share is None else (0.0, 1.0)
    seen = 1.0 - unseen
    if claim.share is not None:
        return seen * bounds.low, seen * bounds.high + unseen
    if unseen <= _NOTHING:
        return bounds.low, bounds.high
    return seen * bounds.low, None


def _standing(
    claim: Claim, bounds: Bounds | None, low: float | None, high: float | None, unseen: float, missed: bool
) -> tuple[Standing, Doubt | None]:
    standing = _held(claim, low, high)
    if standing is not Standing.CANNOT_TELL:
        return standing, None
    if claim.share is not None and claim.share >= 1.0 and not missed:
        return standing, Doubt.ANY_REQUEST
    if unseen > _NOTHING and bounds is not None and _held(claim, bounds.low, bounds.high) is not standing:
        return standing, Doubt.UNSEEN
    return standing, Doubt.TOO_FEW


def _held(claim: Claim, low: float | None, high: float | None) -> Standing:
    """What bounds prove: of the share that meets the limit, or of the mean."""
    if claim.share is not None:
        least, at_most = claim.share, False
    else:
        assert claim.limit is not None  # as `bound_claim` sees to
        least, at_most = claim.limit, claim.at_most
    if at_most:
        low, high = (None if high is None else -high), (None if low is None else -low)
        least = -least
    if low is not None and low >= least:
        return Standing.MET
    return Standing.BROKEN if high is not None and high < least else Standing.CANNOT_TELL


@dataclass(frozen=True, slots=True, eq=False)
class _Watch:
    """A claim and what is held against it: the value of each sample, the outages at least, how sure bounds are.

    Upper bounds of all windows together are `surer`, so that the claim is wrongly broken as seldom as by one bound.
    """

    claim: Claim
    line: Timeline
    values: Floats
    outages: Spans
    confidence: float
    surer: float


def _window(watch: _Watch, start: float, end: float) -> WindowFinding:
    """What the samples of one of several windows prove."""
    claim, line = watch.claim, watch.line
    some = watch.values[line.within(start, end)]
    unseen = max(0.0, 1.0 - line.seen_s(start, end) / (end - start))
    if unseen * (end - start) <= line.every_s:  # a sample stands for the whole of its interval
        unseen = 0.0
    value, bounds, misses = None, None, None
    if claim.share is not None and len(some):
        misses = int(misses_of(claim, some).sum())
        value = 1.0 - misses / len(some)
        low = miss_bounds(misses, len(some), watch.surer).low
        high = miss_bounds(misses, len(some), watch.confidence).high
        bounds = Bounds(1.0 - high, 1.0 - low, watch.confidence)
    elif claim.share is None and np.isfinite(some).any():
        answered = some[np.isfinite(some)]
        value = float(answered.mean())
        found = clustered_mean(answered, np.ones(len(answered)), watch.surer)
        bounds = None if found is None else Bounds(found.low, found.high, watch.surer)
    low_end, high_end = _with_unseen(claim, bounds, unseen)
    if claim.quantity is Quantity.AVAILABILITY and high_end is not None:
        # Samples that fail one after the other are one outage, which tells more than as many apart.
        high_end = min(high_end, 1.0 - _down_s(watch.outages, start, end) / (end - start))
    standing, doubt = _standing(claim, bounds, low_end, high_end, unseen, bool(misses))
    return WindowFinding(start, end, len(some), misses, value, bounds, unseen, low_end, high_end, standing, doubt)


def _down_s(outages: Spans, start: float, end: float) -> float:
    """For how long a service was down within a time span."""
    return sum(min(b, end) - max(a, start) for a, b in outages if b > start and a < end)


def _overall(windows: Sequence[WindowFinding]) -> tuple[Standing, Doubt | None]:
    """A claim is broken if a window broke it, and met if all met it."""
    standings = {one.standing for one in windows}
    if Standing.BROKEN in standings:
        return Standing.BROKEN, None
    if standings == {Standing.MET}:
        return Standing.MET, None
    return Standing.CANNOT_TELL, next(one.doubt for one in windows if one.standing is Standing.CANNOT_TELL)


def _effective(claim: Claim, groups: Sequence[SampleGroup], misses: NDArray[np.int64], confidence: float) -> float:
    """The number of independent samples that tell as much: the fewer of those at the limit and at the figure.

    Samples of which none misses the limit show nothing of how misses cluster. Those beyond the claimed percentile do;
    and a limit beyond them is missed no more often than they are. Without either, each group may be all or nothing.
    """
    sizes = np.array([one.n for one in groups])
    found = [effective_size(misses, sizes, confidence)] if 0 < misses.sum() < sizes.sum() else []
    if claim.statistic is Statistic.PERCENTILE and any(one.n > one.failed for one in groups):
        assert claim.percent is not None  # a percentile has one
        figure = _at_share(*_reached(groups), claim.percent / 100)
        if figure is not None:
            beyond = np.array([int(one.counts[one.values > figure].sum()) + one.failed for one in groups])
            found += [effective_size(beyond, sizes, confidence)] if beyond.sum() else []
    return min(found) if found else float(len(groups))


def _reached(groups: Sequence[SampleGroup]) -> tuple[Floats, Floats]:
    """All values in order, and which share of all samples is at most as high; failed ones are above all."""
    values = np.concatenate([one.values for one in groups])
    order = np.argsort(values)
    reached = np.cumsum(np.concatenate([one.counts for one in groups])[order]) / sum(one.n for one in groups)
    return values[order], reached


def _figure(
    claim: Claim, groups: Sequence[SampleGroup], value: float | None, bounds: Bounds | None, effective: float | None,
    confidence: float,
) -> tuple[float | None, Bounds | None]:  # fmt: skip
    """The claimed figure in its own unit; a sample without an answer is slower than any.

    Bounds of a percentile are the values at the bounds of its share (Woodruff, JASA 47, 1952).
    """
    if claim.statistic is Statistic.MEAN:
        return value, bounds
    if claim.quantity is Quantity.AVAILABILITY or not any(one.n > one.failed for one in groups):
        return value, bounds
    values, reached = _reached(groups)
    if claim.statistic is not Statistic.PERCENTILE:
        return float(values[-1] if claim.statistic is Statistic.MAXIMUM else values[0]), None
    assert claim.percent is not None  # a percentile has one
    assert effective is not None  # there are samples
    share = claim.percent / 100
    figure = _at_share(values, reached, share)
    if figure is None or share**effective > 1 - confidence or (1 - share) ** effective > 1 - confidence:
        return figure, None
    ends = miss_bounds(share * effective, effective, confidence)
    low, high = (_at_share(values, reached, one) for one in (ends.low, ends.high))
    return figure, None if low is None or high is None else Bounds(low, high, confidence)


def _at_share(ordered: Floats, reached: Floats, share: float) -> float | None:
    """The least value that the share of all samples does not exceed; None if so many have no value."""
    at = int(np.searchsorted(reached, share - 1e-12))
    return float(ordered[at]) if at < len(ordered) else None


def _budget(watch: _Watch, last: WindowFinding) -> ErrorBudget | None:
    """What the last window may still miss, and how fast it is spent."""
    claim, line = watch.claim, watch.line
    if claim.share is None or not last.n:
        return None
    assert last.misses is not None  # a share counts misses
    length = last.end - last.start
    seen = line.seen_s(last.start, last.end)
    spent = last.misses / last.n * seen
    unseen = min(line.end, last.end) - last.start - seen
    allowed = (1.0 - claim.share) * length
    burns = []
    for span in _BURNS_S if allowed > 0 else ():
        some = watch.values[line.within(line.end - span, math.inf)]
        if len(some) and span <= line.end - line.start + line.every_s:
            missed = int(misses_of(claim, some).sum())
            ends = miss_bounds(missed, len(some), watch.confidence)
            scale = 1.0 - claim.share
            burns.append(Burn(span, len(some), missed / len(some) / scale,
                              Bounds(ends.low / scale, ends.high / scale, watch.confidence)))  # fmt: skip
    return ErrorBudget(allowed, spent, spent + max(0.0, unseen), tuple(burns))
