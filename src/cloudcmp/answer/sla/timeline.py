"""A watched service over time: what each sample stands for, what nobody saw, and the windows of the calendar."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from cloudcmp.errors import UserMistake
from cloudcmp.model.credits import Spans
from cloudcmp.model.service_level import Calendar, Clusters, Quantity, SampleGroup, Window
from cloudcmp.model.watch import Watched

Floats = NDArray[np.float64]

_TOLERANCE = 1.5
"""Samples this many intervals apart leave no gap: each stands for the time until the next."""
_LEAST_BLOCKS = 6
_DAY_S, _HOUR_S = 86400.0, 3600.0
_MONDAY = 4 * 86400.0
"""The first Monday after the beginning of Unix time."""


@dataclass(frozen=True, slots=True, eq=False)
class Timeline:
    """Samples in columns of shape (n,): when, until when each stands for the service, whether it answered, how fast.

    Times are Unix seconds; `seconds` is NaN without an answer, `size` (that of its body in bytes) if it is
    unknown. The spans `left_out` are those of the watch: nobody proves what was seen in them.
    """

    target: str
    every_s: float
    at: Floats
    until: Floats
    ok: NDArray[np.bool_]
    seconds: Floats
    size: Floats
    left_out: Spans = ()

    @property
    def start(self) -> float:
        """When the watch began."""
        return float(self.at[0])

    @property
    def end(self) -> float:
        """When the time that the last sample stands for is over."""
        return float(self.until[-1])

    def seen_s(self, start: float, end: float) -> float:
        """For how long of a time span samples stand, in seconds."""
        return float(np.clip(np.minimum(self.until, end) - np.maximum(self.at, start), 0.0, None).sum())

    def within(self, start: float, end: float) -> slice:
        """The samples of a time span, which begins with `start` and ends before `end`."""
        first, last = np.searchsorted(self.at, (start, end))
        return slice(int(first), int(last))

    def blocks(self) -> tuple[Clusters, NDArray[np.int64]]:
        """Days if the samples span 6 of them, else hours, and the block of each sample.

        No shorter block is taken: outages last for minutes, so minutes are not independent of each other.
        """
        days = np.floor_divide(self.at, _DAY_S).astype(np.int64)
        if len(np.unique(days)) >= _LEAST_BLOCKS:
            return Clusters.DAY, days
        return Clusters.HOUR, np.floor_divide(self.at, _HOUR_S).astype(np.int64)


def timeline(watched: Watched) -> Timeline:
    """Return the samples of a watch in columns.

    Raises UserMistake without a sample, for a negative time or response, and where the clock jumped back: a sample that
    does not begin after the one before it began, or that begins before that one was answered.
    """
    where = watched.target
    if not watched.samples:
        raise UserMistake.at(where, "holds no sample", "watch it first: cloudcmp watch")
    if not watched.every_s > 0:
        raise UserMistake.at(where, f"an interval of {watched.every_s:g} s", "write e.g. --every '60 s'")
    at = np.array([one.at for one in watched.samples])
    ok = np.array([one.ok for one in watched.samples])
    seconds = np.array([np.nan if one.response_s is None else one.response_s for one in watched.samples])
    size = np.array([np.nan if one.size_bytes is None else one.size_bytes for one in watched.samples])
    if (at < 0).any() or (seconds < 0).any():
        bad = int(np.argmax((at < 0) | (seconds < 0)))
        what = f"sample {bad + 1} has a negative time" if at[bad] < 0 else f"sample {bad + 1} took {seconds[bad]:g} s"
        raise UserMistake.at(where, what, "times are seconds since 1970, and answers take at least 0 s")
    steps = np.diff(at)
    if (steps <= 0).any():
        bad = int(np.argmax(steps <= 0)) + 2
        what = f"sample {bad} at {moment(at[bad - 1])} is not after the one before it: the clock jumped"
        raise UserMistake.at(where, what, "cut the samples there, or sort them if they are merely out of order")
    answered = np.nan_to_num(seconds[:-1]) > steps
    if answered.any():
        bad = int(np.argmax(answered)) + 2
        what = f"sample {bad} at {moment(at[bad - 1])} begins before the one before it was answered: the clock jumped"
        raise UserMistake.at(where, what, "cut the samples there")
    until = at + watched.every_s
    near = steps <= _TOLERANCE * watched.every_s
    until[:-1] = np.where(near, at[1:], np.minimum(until[:-1], at[1:]))
    for start, _ in watched.left_out:
        if before := int(np.searchsorted(at, start)):
            until[before - 1] = min(until[before - 1], start)
    return Timeline(where, watched.every_s, at, until, ok, np.where(ok, seconds, np.nan), size, watched.left_out)


def values_of(line: Timeline, quantity: Quantity) -> Floats:
    """The value of each sample, NaN for a failed one: seconds for a response time, 0 for an availability.

    A throughput is the size of an answer's body over the whole time of its request; a failed sample carried nothing, 0.
    Raises UserMistake for a response time or a throughput if an answer has none, and if no answer has a body.
    """
    if quantity is Quantity.AVAILABILITY:
        return np.where(line.ok, 0.0, np.nan)
    if quantity is Quantity.THROUGHPUT:
        return _throughputs(line)
    unknown = line.ok & np.isnan(line.seconds)
    if unknown.any():
        what = f"the answer at {moment(float(line.at[np.argmax(unknown)]))} has no response time"
        raise UserMistake.at(line.target, what, "claim its availability, or leave the sample out")
    return line.seconds


def _throughputs(line: Timeline) -> Floats:
    """Bytes a second of each sample's answer, in its whole time."""
    unknown = line.ok & (np.isnan(line.size) | ~(line.seconds > 0))
    if unknown.any():
        what = f"the answer at {moment(float(line.at[np.argmax(unknown)]))} has no size, or took no time"
        raise UserMistake.at(line.target, what, "give a table the column 'bytes', with the size of each answer's body")
    if line.ok.any() and not line.size[line.ok].any():
        raise UserMistake.at(line.target, "no answer has a body, so none has a throughput", "watch a URL with content")
    return np.divide(line.size, line.seconds, out=np.zeros(len(line.at)), where=line.ok)


def groups_of(line: Timeline, values: Floats) -> tuple[Clusters, tuple[SampleGroup, ...]]:
    """The samples by blocks of time, with the `values` of each."""
    kind, block = line.blocks()
    starts = np.flatnonzero(np.diff(block, prepend=block[0] - 1))
    groups = []
    for some in np.split(values, starts[1:]):
        known = some[np.isfinite(some)]
        groups.append(SampleGroup(known, np.ones(len(known), np.int64), len(some) - len(known)))
    return kind, tuple(groups)


def windows_of(window: Window, start: float, end: float) -> Iterator[tuple[float, float]]:
    """The windows of the calendar, in UTC, that a time span touches."""
    at = _beginning(window, start)
    while at < end:
        after = _following(window, at)
        yield at, after
        at = after


def _beginning(window: Window, at: float) -> float:
    """The beginning of the window of a time."""
    day = datetime.fromtimestamp(at, UTC)
    if window.unit is Calendar.YEAR:
        return datetime(day.year, 1, 1, tzinfo=UTC).timestamp()
    if window.unit is Calendar.MONTH:
        return datetime(day.year, 1 + (day.month - 1) // window.count * window.count, 1, tzinfo=UTC).timestamp()
    length = window.count * _LENGTHS[window.unit]
    origin = _MONDAY if window.unit is Calendar.WEEK else 0.0
    return (at - origin) // length * length + origin


def _following(window: Window, at: float) -> float:
    """The beginning of the next window."""
    if window.unit not in {Calendar.MONTH, Calendar.YEAR}:
        return at + window.count * _LENGTHS[window.unit]
    day = datetime.fromtimestamp(at, UTC)
    if window.unit is Calendar.YEAR:
        return datetime(day.year + 1, 1, 1, tzinfo=UTC).timestamp()
    month = day.month + window.count
    year, month = day.year + (month - 1) // 12, (month - 1) % 12 + 1
    # Groups of months begin anew each January.
    return datetime(year, month if year == day.year else 1, 1, tzinfo=UTC).timestamp()


_LENGTHS = {Calendar.HOUR: 3600.0, Calendar.DAY: 86400.0, Calendar.WEEK: 604800.0}


def length_s(window: Window) -> float:
    """The usual length of a window in seconds: a month has 30 days, a year 365."""
    usual = {**_LENGTHS, Calendar.MONTH: 30 * 86400.0, Calendar.YEAR: 365 * 86400.0}
    return window.count * usual[window.unit]


def moment(at: float) -> str:
    """A time as people read it: `2026-05-01 12:00:00 UTC`."""
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=at)).strftime("%Y-%m-%d %H:%M:%S UTC")
