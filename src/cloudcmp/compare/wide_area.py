"""Providers compared in pairs by their lowest times, paired by vantage point."""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from cloudcmp.analysis.wide_area.best import asked, weights_of
from cloudcmp.analysis.wide_area.vantage_clusters import cluster_codes
from cloudcmp.compare.verdict import ALPHA, LARGEST_FAILED_PERCENT, SAME_RATIO
from cloudcmp.model.reach import BestTimes, ReachPair
from cloudcmp.model.result import Bounds, Verdict
from cloudcmp.model.wide_area import WideArea
from cloudcmp.stats.adjust import holm
from cloudcmp.stats.clusters import FEWEST, ClusterMean, cluster_mean, effective_clusters
from cloudcmp.stats.power import detectable_log_difference, needed_n

if TYPE_CHECKING:
    from numpy.typing import NDArray

_NO_SPREAD = 1e-9
"""A standard error of log ratios below this is rounding."""
_TINY = 1000
"""A difference of less than this part of its spread takes more than a million clusters to see."""


def reach_pairs(area: WideArea, times: BestTimes) -> tuple[ReachPair, ...]:
    """Compare every two providers over the vantage points from which both were measured and in which neither stands.

    The paired t test on logarithms decides, with weights, and with errors of whole clusters (vantage points of one
    network in one country, or of one place); Holm's correction is over all pairs. As in a study, the first that holds
    is the verdict: cannot tell, for fewer than six effective clusters or more than a tenth of the vantage points that
    one of the two did not answer; practically the same, within 3 %; better or worse; else cannot tell. The clusters are
    the replication: it says how sure it is for other vantage points like these, not for other days.
    """
    tried, weight, code = asked(area, times), weights_of(area), cluster_codes(area)
    names = [one.name for one in area.vantages]
    pairs = [_pair(times, a, b, tried, weight, code, names) for a, b in combinations(range(len(times.providers)), 2)]
    return _with_verdicts(pairs)


def _pair(
    times: BestTimes, a: int, b: int, tried: "NDArray[np.bool_]", weight: "NDArray[np.float64]",
    code: "NDArray[np.int64]", names: Sequence[str],
) -> ReachPair:  # fmt: skip
    common = tried[a] & tried[b]
    first, second = times.time_s[a], times.time_s[b]
    known = common & ~np.isnan(first) & ~np.isnan(second)
    either = common & ~(np.isnan(first) & np.isnan(second))
    first, second = first[known], second[known]
    ratio: ClusterMean | None = None
    difference: ClusterMean | None = None
    if known.any():
        ratio = cluster_mean(np.log(first) - np.log(second), weight[known], code[known])
        difference = cluster_mean(first - second, weight[known], code[known])
    effective = effective_clusters(weight[known], code[known]) if known.any() else 0.0
    why = _unsure(ratio, weight[known], code[known], [name for name, has in zip(names, known, strict=True) if has])
    sure = None if why else ratio
    detectable, needed = _power(sure, len(times.providers))
    return ReachPair(
        a=times.providers[a],
        b=times.providers[b],
        n=int(known.sum()),
        clusters=len(set(code[known].tolist())),
        effective=effective,
        unreached=int((either & ~known).sum()),
        a_lower=int((first < second).sum()),
        ratio=None if ratio is None else math.exp(ratio.mean),
        ratio_bounds=None if sure is None else _exp(sure),
        difference_s=None if difference is None else difference.mean,
        difference_bounds=None if sure is None or difference is None else _bounds(difference),
        p_value=None if sure is None else sure.p_value(),
        p_adjusted=None,
        p_same=None if sure is None else sure.p_within(math.log(SAME_RATIO)),
        detectable=detectable,
        needed=needed,
        verdict=Verdict.CANNOT_TELL,
        reason=why,
    )


def _unsure(
    ratio: ClusterMean | None, weight: "NDArray[np.float64]", code: "NDArray[np.int64]", names: Sequence[str]
) -> str:
    """Why a ratio has no interval, in words; empty if it has one.

    There are fewer than six clusters, or fewer effective ones because one has most of the weight, or all ratios are the
    same: measurements differ, so these are copies or made of each other.
    """
    if not names:
        return "no vantage point sees both from outside"
    count, effective = len(set(code.tolist())), effective_clusters(weight, code)
    if count < FEWEST:
        return f"{count} of at least {FEWEST} networks or places"
    if effective >= FEWEST:
        has_spread = ratio is not None and ratio.error > _NO_SPREAD
        return "" if has_spread else "the ratio is the same everywhere, which tells nothing of its spread"
    at = int(np.argmax(np.bincount(code, weights=weight)[code]))
    inside = code == code[at]
    heaviest = names[int(np.argmax(np.where(inside, weight, 0.0)))]
    who = heaviest if inside.sum() == 1 else f"the network or place of {heaviest}"
    part = float(weight[inside].sum() / weight.sum()) * 100
    counted = f"{count} networks or places count as {effective:.1f} of at least {FEWEST}"
    return f"{who} has {part:.3g} % of the weight, so that {counted}"


def _power(one: ClusterMean | None, providers: int) -> tuple[float | None, int | None]:
    """The smallest ratio that as many effective clusters find, and how many find the measured one, among all pairs."""
    if one is None or one.error == 0.0:
        return None, None
    spread, alpha = one.error * math.sqrt(one.effective), ALPHA / (providers * (providers - 1) // 2)
    least = detectable_log_difference(spread, one.effective, alpha)
    tiny = abs(one.mean) < spread / _TINY
    return None if least is None else math.exp(least), None if tiny else needed_n(spread, one.mean, alpha)


def _exp(one: ClusterMean) -> Bounds:
    found = one.interval()
    return Bounds(math.exp(min(found.low, 700.0)), math.exp(min(found.high, 700.0)))


def _bounds(one: ClusterMean) -> Bounds:
    found = one.interval()
    return Bounds(found.low, found.high)


def _with_verdicts(pairs: Sequence[ReachPair]) -> tuple[ReachPair, ...]:
    if not pairs:
        return ()
    adjusted = holm([1.0 if one.p_value is None else one.p_value for one in pairs])
    same = holm([1.0 if one.p_same is None else one.p_same for one in pairs])
    return tuple(
        _judged(
            replace(
                one,
                p_adjusted=None if one.p_value is None else float(p),
                p_same=None if one.p_same is None else float(q),
            )
        )
        for one, p, q in zip(pairs, adjusted, same, strict=True)
    )


def _judged(one: ReachPair) -> ReachPair:
    if one.reason:
        return one
    if one.unreached * 100 > LARGEST_FAILED_PERCENT * (one.n + one.unreached):
        return replace(one, reason=f"{one.unreached} of {one.n + one.unreached} vantage points reached one only")
    if one.p_same is not None and one.p_same < ALPHA:
        return replace(one, verdict=Verdict.SAME)
    if one.p_adjusted is not None and one.p_adjusted < ALPHA and one.ratio is not None:
        return replace(one, verdict=Verdict.BETTER if one.ratio < 1 else Verdict.WORSE)
    return replace(one, reason="interval too wide")


def best_providers(providers: Sequence[str], pairs: Sequence[ReachPair]) -> tuple[tuple[str, ...], bool]:
    """Return the providers that no other one beats, and whether one of them beats every other one."""
    beaten = {one.b if one.verdict is Verdict.BETTER else one.a for one in pairs
              if one.verdict in {Verdict.BETTER, Verdict.WORSE}}  # fmt: skip
    wins = {
        name: sum(
            (one.a == name and one.verdict is Verdict.BETTER) or (one.b == name and one.verdict is Verdict.WORSE)
            for one in pairs
        )
        for name in providers
    }
    unbeaten = tuple(name for name in providers if name not in beaten)
    winners = tuple(name for name in unbeaten if wins[name] == len(providers) - 1)
    return (winners, True) if winners and len(providers) > 1 else (unbeaten or tuple(providers), False)
