"""The number of machines that a policy wants at each moment, as a step function of time."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cloudcmp.model.replay import Load, Rules

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

HOUR_S = 3600.0
DAY_H = 24
_ROUNDING = 1e-9
"""A load that is a whole number of machines up to this share needs no further one."""


@dataclass(frozen=True, slots=True, eq=False)
class Steps:
    """A number of machines over time: each count holds from its time until the next one, the last one until `end`.

    Neighbouring counts differ; shapes (changes,).
    """

    times: Floats
    counts: Counts
    end: float

    @classmethod
    def of(cls, times: Floats, counts: Counts, end: float) -> "Steps":
        """The steps of sorted times with counts that may repeat; of equal times the last count holds."""
        last = np.append(np.diff(times) > 0, True) & (times < end)
        times, counts = times[last], counts[last]
        changes = np.append(True, np.diff(counts) != 0)
        return cls(times[changes], counts[changes], end)

    @property
    def mean(self) -> float:
        """The mean number of machines over time."""
        lengths = np.diff(np.append(self.times, self.end))
        return float((self.counts * lengths).sum() / lengths.sum())

    @property
    def most(self) -> int:
        """The greatest number of machines."""
        return int(self.counts.max())


def machines_for(rates: Floats, capacity: float) -> Counts:
    """The fewest machines that carry each rate, at least one."""
    counts: Counts = np.ceil(rates / capacity - _ROUNDING).astype(np.int64)
    return np.maximum(counts, 1)


def fixed(load: Load, count: int) -> Steps:
    """The same number of machines all the time."""
    return Steps(load.times[:1], np.array([count], np.int64), load.end)


def reactive(load: Load, capacity: float, rules: Rules) -> Steps:
    """The machines of a policy that follows the load, as it becomes known `watch_s` after each change.

    It wants the most machines that any load within the last `cool_down_s` needed at the target utilisation: it grows at
    once and shrinks late, as the stabilisation window of Kubernetes' autoscaler does.
    """
    wanted = machines_for(load.rates, capacity * rules.utilisation)
    changes = np.append(True, np.diff(wanted) != 0)
    starts, wanted = load.times[changes], wanted[changes]
    seen = starts + rules.watch_s
    expired = np.append(seen[1:] + rules.cool_down_s, np.inf)
    moments = np.sort(np.concatenate([load.times[:1], seen, expired[:-1]]), kind="stable")
    first = np.searchsorted(seen, moments - rules.cool_down_s, side="right") - 1
    last = np.searchsorted(seen, moments, side="right") - 1
    counts = _range_max(wanted, np.maximum(first, 0), np.maximum(last, 0))
    return Steps.of(moments, counts, load.end)


def _range_max(values: Counts, first: Counts, last: Counts) -> Counts:
    """The greatest of `values[first : last + 1]` for each pair of indices, from maxima over powers of two."""
    width = last - first + 1
    level = np.frexp(width.astype(np.float64))[1] - 1
    result = np.empty(len(first), np.int64)
    table = values
    for at in range(int(level.max()) + 1):
        rows = np.flatnonzero(level == at)
        result[rows] = np.maximum(table[first[rows]], table[last[rows] + 1 - 2**at])
        table = np.maximum(table[: len(table) - 2**at], table[2**at :]) if len(table) > 2**at else table
    return result


def scheduled(load: Load, capacity: float, rules: Rules, lead_s: float, follow: Steps) -> Steps | None:
    """The machines of a policy that has in each hour what the same hour of the day before needed at its peak.

    They are asked for `lead_s` before the hour begins. The first day has no day before it and has the machines of
    `follow`, the reactive policy; None for a trace that is no longer than a day.
    """
    begin = float(load.times[0])
    hours = np.arange(math.floor(begin / HOUR_S), math.ceil(load.end / HOUR_S))
    own = hours[hours * HOUR_S >= begin + DAY_H * HOUR_S]
    if not len(own):
        return None
    needed = machines_for(_peaks(load, hours), capacity * rules.utilisation)[own - DAY_H - hours[0]]
    starts = own * HOUR_S
    asked = np.maximum(starts - lead_s, begin)
    first_day = follow.times < starts[0]
    moments = np.sort(np.concatenate([follow.times[first_day], starts, asked]), kind="stable")
    now = np.searchsorted(starts, moments, side="right") - 1
    ahead = np.searchsorted(asked, moments, side="right") - 1
    counts = np.where(ahead >= 0, _range_max(needed, np.maximum(now, 0), np.maximum(ahead, 0)), 0)
    at = np.searchsorted(follow.times, moments, side="right") - 1
    counts = np.maximum(counts, np.where(moments < starts[0], follow.counts[at], 0))
    return Steps.of(moments, counts, load.end)


def _peaks(load: Load, hours: NDArray[np.int64]) -> Floats:
    """The greatest rate within each clock hour."""
    at_start = np.searchsorted(load.times, hours * HOUR_S, side="right") - 1
    peaks = np.where(at_start >= 0, load.rates[np.maximum(at_start, 0)], 0.0)
    hour_of_row = np.floor(load.times / HOUR_S).astype(np.int64) - hours[0]
    np.maximum.at(peaks, hour_of_row, load.rates)
    return peaks
