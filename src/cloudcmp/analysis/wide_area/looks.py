"""Figures of looks at URLs from one place, and their times as those of an area."""

import json
from collections.abc import Mapping, Sequence

import numpy as np

from cloudcmp.catalog import METRICS
from cloudcmp.model.metric import Reduce
from cloudcmp.model.reach import Look, LookTime
from cloudcmp.model.result import Bounds
from cloudcmp.model.trial import Outcome, TrialResult
from cloudcmp.model.wide_area import PathTime, Phase, Site, VantagePoint, WideArea
from cloudcmp.stats import describe, histogram

_PREFIX, _SUFFIX = "wan_", "_s"
_ECHO = "icmp"


def look_of(url: str, site: Site, result: TrialResult, started: int) -> Look:
    """The figures of a trial of the probe `page` that asked a URL for so many pages."""
    notes: Mapping[str, object] = json.loads(result.facts or "{}").get("notes", {})
    if result.outcome is not Outcome.OK:
        return Look(url, site, 0, started, why=result.why)
    times = tuple(
        _time(_phase_of(one.metric), one.hist)
        for one in result.samples
        if one.hist is not None and METRICS[one.metric].reduce is Reduce.PERCENTILE
    )
    pages = next((one.n for one in times if one.phase is Phase.PAGE), 0)
    return Look(url, site, pages, started, times, str(notes.get("rtt_by", "")))


def _phase_of(metric: str) -> Phase:
    return Phase(metric.removeprefix(_PREFIX).removesuffix(_SUFFIX))


def _time(phase: Phase, text: str) -> LookTime:
    """The median of a histogram, with the interval of its order statistics."""
    found = histogram.from_base64(text)
    values = np.repeat(histogram.cdf(found)[0], found.counts)
    interval = describe.median_interval(values)
    bounds = None if interval is None else Bounds(interval.low, interval.high)
    return LookTime(phase, histogram.percentile_s(found, 50.0), float(values.min()), len(values), bounds)


def area_of(looks: Sequence[Look], vantage: str, source: str) -> WideArea:
    """The times of looks from one place; one that found nothing is a round trip that did not come back."""
    sites = tuple(dict.fromkeys(one.site for one in looks))
    paths = []
    for one in looks:
        at = sites.index(one.site)
        if one.time(Phase.RTT) is None:
            paths.append(PathTime(0, at, Phase.RTT, None, 0, one.started))
        paths += [
            PathTime(0, at, time.phase, time.median_s, time.n, max(time.n, one.started), None, time.least_s)
            for time in one.times
        ]
    return WideArea((VantagePoint(vantage),), sites, tuple(paths), source)
