"""Launches that two sources of a history both hold, such as a study and its own export."""

from collections import Counter, defaultdict
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from cloudcmp.model.history import Readings
from cloudcmp.stats.check import Floats
from cloudcmp.stats.describe import group_medians

Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

_NEAR_S = 86400.0
# A value of so many digits is hardly equal to another one by chance.
_FEW_DIGITS = 4


def launches_in_common(known: Readings, other: Readings) -> Flags:
    """Whether each launch of `other` is one of `known`, shape (launches of other,).

    It is if all its values in the cells that both sources hold are those of one launch of the same candidate that began
    within a day, and at least one of them has more than four digits: values of few digits are equal by chance. A
    launch's value is the median of its values, as in a study that aggregates by medians. What was rounded since, or
    reduced otherwise, is not recognised.
    """
    ours, theirs = _Launches.of(known), _Launches.of(other)
    place = {key: at for at, key in enumerate(known.keys)}
    to_known = np.array([place.get(key, -1) for key in other.keys], np.int64)
    found = np.zeros(theirs.count, np.bool_)
    if not (to_known >= 0).any():
        return found
    series = to_known[theirs.series]
    shared = np.isin(theirs.value, ours.value) & (series >= 0)
    if not shared.any():
        return found
    by_value: dict[tuple[int, float], list[tuple[int, float]]] = defaultdict(list)
    for at in np.flatnonzero(np.isin(ours.value, theirs.value[shared])).tolist():
        by_value[int(ours.series[at]), float(ours.value[at])].append((int(ours.launch[at]), float(ours.begun[at])))
    equal: dict[int, Counter[int]] = defaultdict(Counter)
    precise: set[int] = set()
    for at in np.flatnonzero(shared).tolist():
        own, value = int(theirs.launch[at]), float(theirs.value[at])
        near = [launch for launch, begun in by_value.get((int(series[at]), value), ())
                if abs(begun - float(theirs.begun[at])) <= _NEAR_S]  # fmt: skip
        equal[own].update(set(near))
        if near and _is_precise(value):
            precise.add(own)
    needed = np.bincount(theirs.launch[series >= 0], minlength=theirs.count)
    for own in precise:
        found[own] = max(equal[own].values()) == needed[own]
    return found


def without_launches(readings: Readings, left_out: Flags) -> Readings:
    """The readings without those of some launches."""
    kept = ~left_out[readings.launch]
    return replace(readings, series=readings.series[kept], launch=readings.launch[kept], time=readings.time[kept],
                   value=readings.value[kept])  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class _Launches:
    """The value of each launch in each series, and the time of its first one; `count` is the number of launches."""

    series: Integers
    launch: Integers
    value: Floats
    begun: Floats
    count: int

    @classmethod
    def of(cls, readings: Readings) -> "_Launches":
        count = int(readings.launch.max(initial=-1)) + 1
        code = readings.series.astype(np.int64) * count + readings.launch
        order = np.argsort(code, kind="stable")
        code = code[order]
        if not code.size:
            return cls(code, code, np.zeros(0), np.zeros(0), count)
        ids, medians = group_medians(readings.value[order], code)
        begun = np.minimum.reduceat(readings.time[order], np.searchsorted(code, ids))
        return cls(ids // count, ids % count, medians, begun, count)


def _is_precise(value: float) -> bool:
    return float(f"{value:.{_FEW_DIGITS}g}") != value
