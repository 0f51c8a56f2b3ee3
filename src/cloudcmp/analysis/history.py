"""Series of candidates over time, with their changes of level."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cloudcmp.analysis.sessions import session_effects
from cloudcmp.model.cell import Cell
from cloudcmp.model.history import By, FactChange, Facts, Level, LevelChange, Readings, SessionEffect, Track
from cloudcmp.model.metric import Better, Metric
from cloudcmp.model.result import Bounds
from cloudcmp.stats import describe
from cloudcmp.stats.change_points import Change, change_points, correlation
from cloudcmp.stats.describe import group_medians

SMALLEST_CHANGE = 0.01
"""The smallest change of a level that is reported, as a share of it."""
_DAY_S = 86400.0
# A fact goes with a change if this share of the launches of each level has the same value of it.
_NEARLY_ALL = 0.8

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


def tracks_of(
    sources: Sequence[Readings], providers: Mapping[str, str], metrics: Mapping[str, Metric], by: By, as_of: float
) -> tuple[Track, ...]:
    """The series of each candidate and cell, in the order of their first source.

    `providers` has that of each candidate. A launch's value is the median of its values (on one day), a day's the
    median of its launches: one launch with many values weighs no more than another one. Days are those of UTC. Changes
    of level are those of `change_points`, on logarithms unless the metric can be 0 or negative, and at least 1 %.
    Values later than `as_of` (Unix time) are left out. It does not tell why a level changed: it names the facts of
    launches that changed with it.
    """
    joined = _Joined.of(sources, as_of)
    points = _Points.of(joined, by)
    tracks = []
    for number, (candidate, cell) in enumerate(joined.keys):
        first, end = points.range_of(number)
        if first == end:
            continue
        metric = metrics[Cell.parse(cell).metric]
        times, values = points.time[first:end], points.value[first:end]
        scaled, is_log = _scaled(values, metric)
        least = math.log1p(SMALLEST_CHANGE) if is_log else SMALLEST_CHANGE * abs(float(np.median(values)))
        changes = tuple(
            _level_change(one, times, is_log, metric, points.facts_of(joined, first, one))
            for one in change_points(scaled, least=least)
        )
        start = first + (change_at(changes, times) if changes else 0)
        tracks.append(
            Track(
                candidate, providers[candidate], cell, tuple(times.tolist()), tuple(values.tolist()),
                tuple(points.count[first:end].tolist()), tuple(joined.source[points.launch[first:end]].tolist()),
                changes, _level(points, start, end, as_of), correlation(scaled),
                _sessions(points, joined, (first, end), [one.at for one in changes], is_log=is_log),
            )
        )  # fmt: skip
    return tuple(tracks)


def _sessions(
    points: "_Points", joined: "_Joined", span: tuple[int, int], changes: Sequence[float], *, is_log: bool
) -> tuple[SessionEffect, ...]:
    parts = slice(int(points.starts[span[0]]), int(points.starts[span[1]]))
    values, members = points.part_value[parts], points.members[parts]
    named = [joined.sessions[at] for at in members.tolist()] if joined.sessions else ()
    return session_effects(np.log(values) if is_log else values, points.part_time[parts], named, changes, is_log=is_log)


def change_at(changes: Sequence[LevelChange], times: Floats) -> int:
    """The place of the first point of the newest level."""
    return int(np.searchsorted(times, changes[-1].at))


def _scaled(values: Floats, metric: Metric) -> tuple[Floats, bool]:
    """Logarithms of values, or the values themselves if the metric or one of them can be 0 or negative."""
    if metric.signed or values.min() <= 0.0:
        return values, False
    return np.log(values), True


def _level_change(
    one: Change, times: Floats, is_log: bool, metric: Metric, facts: tuple[FactChange, ...]
) -> LevelChange:
    before, after, change, low, high = one.before, one.after, one.difference, one.bounds.low, one.bounds.high
    if is_log:
        before, after = math.exp(before), math.exp(after)
        change, low, high = math.expm1(change), math.expm1(low), math.expm1(high)
    better = (one.difference > 0.0) is (metric.better is Better.HIGHER)
    return LevelChange(
        float(times[one.at]), float(times[one.at - 1]), before, after, change, Bounds(low, high), not is_log, better,
        one.n_before, one.n_after, one.p, facts,
    )  # fmt: skip


def _level(points: "_Points", start: int, end: int, as_of: float) -> Level:
    values, times = points.value[start:end], points.time[start:end]
    interval = describe.median_interval(values)
    first, last = float(times[0]), float(points.last[start:end].max())
    bounds = None if interval is None else Bounds(interval.low, interval.high)
    launches = len(np.unique(points.launches_between(start, end)))
    return Level(describe.median(values), bounds, end - start, launches, first, last, as_of - last)


@dataclass(frozen=True, slots=True, eq=False)
class _Joined:
    """The readings of all sources in columns; `source`, `facts` and `sessions` are those of each launch; without
    any session, `sessions` is empty."""

    keys: tuple[tuple[str, str], ...]
    series: Integers
    launch: Integers
    time: Floats
    value: Floats
    source: Integers
    facts: tuple[Facts, ...]
    sessions: tuple[str | None, ...]

    @classmethod
    def of(cls, sources: Sequence[Readings], as_of: float) -> "_Joined":
        places: dict[tuple[str, str], int] = {}
        series, launch, time, value, source = [], [], [], [], []
        facts: list[Facts] = []
        sessions: list[str | None] = []
        for number, one in enumerate(sources):
            own = np.array([places.setdefault(key, len(places)) for key in one.keys], np.int64)
            kept = one.time <= as_of
            launches = int(one.launch.max(initial=-1)) + 1
            series.append(own[one.series[kept]] if len(own) else np.zeros(0, np.int64))
            launch.append(one.launch[kept].astype(np.int64) + len(facts))
            time.append(one.time[kept])
            value.append(one.value[kept])
            source.append(np.full(launches, number, np.int64))
            facts += [*one.facts, *[()] * (launches - len(one.facts))][:launches]
            sessions += [*one.sessions, *[None] * (launches - len(one.sessions))][:launches]
        return cls(
            tuple(places), np.concatenate(series), np.concatenate(launch), np.concatenate(time), np.concatenate(value),
            np.concatenate(source), tuple(facts), tuple(sessions) if any(sessions) else (),
        )  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class _Points:
    """The points of all series, in their order and that of time, and the launches of each.

    `launch` is the launch of a point's first value, `count` the number of its launches, `time` and `last` the times of
    its first and last value. The launches of the points i up to j are `members[starts[i]:starts[j]]`, and their values
    and first times (on one day) those parts of `part_value` and `part_time`.
    """

    series: Integers
    time: Floats
    last: Floats
    value: Floats
    count: Integers
    launch: Integers
    starts: Integers
    members: Integers
    part_value: Floats
    part_time: Floats

    @classmethod
    def of(cls, joined: _Joined, by: By) -> "_Points":
        if not joined.value.size:
            none, whole = np.zeros(0), np.zeros(0, np.int64)
            return cls(whole, none, none, none, whole, whole, np.zeros(1, np.int64), whole, none, none)
        slot = np.zeros(joined.time.size, np.int64)
        if by is By.DAY:
            days = np.floor(joined.time / _DAY_S).astype(np.int64)
            slot = days - days.min()
        launches, slots = int(joined.launch.max()) + 1, int(slot.max()) + 1
        ids = (joined.series * slots + slot) * launches + joined.launch
        order = np.lexsort((joined.time, ids))
        ids, time, value = ids[order], joined.time[order], joined.value[order]
        # Values of one launch on one day, then, by day, the launches of one day.
        parts, medians = group_medians(value, ids)
        begin = np.searchsorted(ids, parts)
        first, last = time[begin], time[np.append(begin[1:], ids.size) - 1]
        series, members = parts // (slots * launches), parts % launches
        if by is By.LAUNCH:
            order = np.lexsort((first, series))
            ones, starts, own = np.ones(order.size, np.int64), np.arange(order.size + 1), members[order]
            return cls(series[order], first[order], last[order], medians[order], ones, own, starts, own,
                       medians[order], first[order])  # fmt: skip
        days_of, values = group_medians(medians, parts // launches)
        starts = np.append(np.searchsorted(parts // launches, days_of), parts.size)
        earliest = np.lexsort((first, parts // launches))[starts[:-1]]
        latest = np.maximum.reduceat(last, starts[:-1])
        return cls(
            days_of // slots,
            first[earliest],
            latest,
            values,
            np.diff(starts),
            members[earliest],
            starts,
            members,
            medians,
            first,
        )

    def range_of(self, series: int) -> tuple[int, int]:
        """The first point of a series, and the one after its last."""
        first, end = np.searchsorted(self.series, (series, series + 1))
        return int(first), int(end)

    def launches_between(self, first: int, end: int) -> Integers:
        """The launches of some points; one that lasts several days is there several times."""
        return self.members[self.starts[first] : self.starts[end]]

    def facts_of(self, joined: _Joined, first: int, one: Change) -> tuple[FactChange, ...]:
        """The facts of launches that differ between the two levels of a change in the series that begins at `first`."""
        at = first + one.at
        sides = [self.launches_between(at - one.n_before, at), self.launches_between(at, at + one.n_after)]
        return tuple(facts_apart(*([joined.facts[launch] for launch in np.unique(some)] for some in sides)))


def facts_apart(before: Sequence[Facts], after: Sequence[Facts]) -> Iterator[FactChange]:
    """The facts for which nearly all launches of two groups have one value in each group, and two different ones."""
    counts = [Counter(pair for facts in some for pair in facts) for some in (before, after)]
    usual = [
        {fact: text for (fact, text), times in counted.items() if times >= _NEARLY_ALL * len(some)}
        for counted, some in zip(counts, (before, after), strict=True)
    ]
    for fact, text in sorted(usual[0].items()):
        other = usual[1].get(fact)
        if other is not None and other != text:
            yield FactChange(fact, text, other)
