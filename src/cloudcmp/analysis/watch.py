"""What a watch has seen so far: availability, outages with bounds, response times, and what an hour would need."""

import math
from collections.abc import Sequence
from itertools import groupby

from cloudcmp.model.result import Bounds
from cloudcmp.model.watch import Gap, Watched, WatchSample
from cloudcmp.model.watch_summary import HourNeed, Outage, Percentile, WatchSummary
from cloudcmp.stats.describe import quantile_interval, quantiles
from cloudcmp.stats.service_level import miss_bounds, samples_needed

PERCENTILES = (0.5, 0.9, 0.95, 0.99)
TARGETS = (0.99, 0.999, 0.9999)
_HOUR_S = 3600.0
_CONFIDENCE = 0.95
"""Each bound is wrong with probability at most 1 - this, as those of claims about a service level are."""


def summarise(watched: Watched, gaps: Sequence[Gap] = ()) -> WatchSummary:
    """The summary of the samples of a service.

    Availability is the share of good samples, with the bounds of Clopper and Pearson: they take samples as independent
    of one another, and outages that last for several make them too narrow. Gaps are neither up nor down.
    """
    samples = watched.samples
    good = sum(one.ok for one in samples)
    times = [one.response_s for one in samples if one.ok and one.response_s is not None]
    return WatchSummary(
        target=watched.target,
        every_s=watched.every_s,
        n=len(samples),
        n_ok=good,
        availability=good / len(samples) if samples else None,
        availability_bounds=_share(good, len(samples)),
        outages=tuple(outages(samples)),
        gaps=len(gaps),
        gap_s=sum(max(0.0, one.end - one.start if one.elapsed_s is None else one.elapsed_s) for one in gaps),
        percentiles=_percentiles(times),
        hour=hour_needs(watched.every_s),
    )


def outages(samples: Sequence[WatchSample]) -> list[Outage]:
    """The runs of failed samples, each with the good samples around it, between which it began and ended."""
    runs = [(ok, list(run)) for ok, run in groupby(samples, key=lambda one: one.ok)]
    found = []
    for at, (ok, run) in enumerate(runs):
        if not ok:
            before = runs[at - 1][1][-1].at if at else None
            after = runs[at + 1][1][0].at if at + 1 < len(runs) else None
            reasons = tuple(sorted({one.reason for one in run}))
            found.append(Outage(before, run[0].at, run[-1].at, after, len(run), reasons))
    return found


def hour_needs(every_s: float) -> tuple[HourNeed, ...]:
    """What an hour without a failure proves at this interval, and how often one must ask to prove more.

    n good samples of n prove an availability of at least 0.05^(1/n), the lower bound of Clopper and Pearson.
    """
    n = max(1, math.floor(_HOUR_S / every_s))
    here = HourNeed(1.0 - miss_bounds(0, n, _CONFIDENCE).high, n, every_s)
    needs = [(target, samples_needed(target, 0, _CONFIDENCE)) for target in TARGETS]
    return (here, *(HourNeed(target, count, _HOUR_S / count) for target, count in needs if count is not None))


def _share(good: int, n: int) -> Bounds | None:
    if not n:
        return None
    missing = miss_bounds(n - good, n, _CONFIDENCE)
    return Bounds(1.0 - missing.high, 1.0 - missing.low, _CONFIDENCE)


def _percentiles(times: Sequence[float]) -> tuple[Percentile, ...]:
    if not times:
        return ()
    found = []
    for p, value in zip(PERCENTILES, quantiles(times, PERCENTILES), strict=True):
        ends = quantile_interval(times, p, 1.0 - 2.0 * (1.0 - _CONFIDENCE))
        bounds = None if ends is None else Bounds(ends.low, ends.high, _CONFIDENCE)
        found.append(Percentile(p, value, bounds, len(times)))
    return tuple(found)
