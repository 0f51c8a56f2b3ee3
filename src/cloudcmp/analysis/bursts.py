"""Trials that begin fast and go on slower: burst credits, a token bucket, or a cache that fills."""

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np

from cloudcmp.model.cell import Cell
from cloudcmp.model.metric import Better, Metric
from cloudcmp.model.plan import Plan
from cloudcmp.model.values import Series
from cloudcmp.stats.change_points import change_points
from cloudcmp.units import format_quantity, format_seconds

# A fall of this share counts, in so many of the trials; a trial needs so many samples to show one.
_LEAST_FALL = 0.1
_MOST_TRIALS = 0.8
_FEWEST_TRIALS = 2
_FEWEST_SAMPLES = 20


def bursts(
    plan: Plan, series: Sequence[Series], metrics: Mapping[str, Metric], names: Mapping[str, str]
) -> tuple[str, ...]:
    """A line for each candidate and cell whose trials begin better than they go on, with both levels and the time.

    `series` are the samples of trials over time, with 20 or more of each. A trial does if its first level, as
    `change_points` finds it, is at least 10 % better than every later one; a cell does if 80 % of its trials do, and
    two at least: a neighbour disturbs one trial, a credit ends in each. It does not see what lasts longer than a trial,
    nor what ended before the first one. Only rates and times are looked at, not metrics that can be 0 or negative.
    `names` are those of cells for people.
    """
    found: dict[tuple[str, int], list[Series]] = {}
    for one in series:
        if len(one.values) >= _FEWEST_SAMPLES and min(one.values) > 0.0 and not _metric(one.cell, metrics).signed:
            found.setdefault((one.cell, plan.launches[one.launch].candidate), []).append(one)
    return tuple(
        line
        for (cell, candidate), some in found.items()
        if len(some) >= _FEWEST_TRIALS
        for line in _line(plan.candidates[candidate].id, names.get(cell, cell), _metric(cell, metrics), some)
    )


def _metric(cell: str, metrics: Mapping[str, Metric]) -> Metric:
    return metrics[Cell.parse(cell).metric]


def _line(candidate: str, name: str, metric: Metric, some: Sequence[Series]) -> Iterator[str]:
    falls = [fall for one in some if (fall := _fall(one, more_is_better=metric.better is Better.HIGHER)) is not None]
    if len(falls) < max(_FEWEST_TRIALS, _MOST_TRIALS * len(some)):
        return
    first, rest, after_s = (statistics.median(part) for part in zip(*falls, strict=True))
    yield (
        f"{candidate}: {name}: {format_quantity(first, metric.unit)} for the first {format_seconds(after_s)}, then "
        f"{format_quantity(rest, metric.unit)}, in {len(falls)} of {len(some)} trials: as with burst credits, a token "
        "bucket or a cache; its value mixes both"
    )


def _fall(one: Series, *, more_is_better: bool) -> tuple[float, float, float] | None:
    """The first level of a trial, the median after it, and the second at which it ends; None if it goes on as well."""
    values = np.array(one.values)
    logs = np.log(values) if more_is_better else -np.log(values)
    changes = change_points(logs, least=math.log1p(_LEAST_FALL))
    if not changes:
        return None
    edges = [0, *(change.at for change in changes), values.size]
    levels = [float(logs[start:end].mean()) for start, end in pairwise(edges)]
    if max(levels[1:]) > levels[0] - math.log1p(_LEAST_FALL):
        return None
    at = changes[0].at
    return float(np.median(values[:at])), float(np.median(values[at:])), float(one.t_s[at])
