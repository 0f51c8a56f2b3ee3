"""What the operations of a measured phase came to: latencies of those that succeeded, counts of the others."""

from array import array
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from cloudcmp.client.failures import Failure, Kind

_LEAST_SHARE = 0.05  # an interval of which lanes had less for operations has no rate
_NS_PER_S = 1e9


def _numbers() -> "array[int]":
    return array("q")


@dataclass(slots=True)
class Record:
    """The operations of one lane: when each succeeded one was due, had its first byte and ended (ns), and its payload.

    `aside` are the pairs of times between which the lane did what operations left to do. An `empty` operation found
    nothing: it is neither done nor failed. `late` are the delays (ns) of starts for which the lane was free.
    """

    due: "array[int]" = field(default_factory=_numbers)
    first: "array[int]" = field(default_factory=_numbers)
    last: "array[int]" = field(default_factory=_numbers)
    payload: "array[int]" = field(default_factory=_numbers)
    aside: list[tuple[int, int]] = field(default_factory=list)
    late: "array[int]" = field(default_factory=_numbers)
    failed: "Counter[Kind]" = field(default_factory=Counter)
    reasons: dict[Kind, Failure] = field(default_factory=dict)
    begun: int = 0
    empty: int = 0
    unwritten: int = 0
    follow_ups: int = 0
    follow_ups_failed: int = 0

    def fail(self, failure: Failure) -> None:
        """Counts a failed operation."""
        self.failed[failure.kind] += 1
        self.reasons.setdefault(failure.kind, failure)

    def done(self, due: int, first: int, last: int, payload: int) -> None:
        """Records a successful operation."""
        self.due.append(due)
        self.first.append(first)
        self.last.append(last)
        self.payload.append(payload)

    def add(self, other: "Record") -> None:
        """Adds another lane's operations."""
        for name in ("due", "first", "last", "payload", "late", "aside"):
            getattr(self, name).extend(getattr(other, name))
        self.failed.update(other.failed)
        self.reasons = {**other.reasons, **self.reasons}
        for name in ("begun", "empty", "unwritten", "follow_ups", "follow_ups_failed"):
            setattr(self, name, getattr(self, name) + getattr(other, name))


@dataclass(slots=True)
class Tally:
    """All operations of a measured phase that began at `start_ns` and has `intervals` of `interval_s`.

    `cpu_s` is the processor time of the whole process, `wall_s` the time of the phase. In an open loop `planned`
    starts were due, of which `dropped` were never made; a start had waited for `waited_s` when the phase ended.
    """

    all: Record
    start_ns: int
    interval_s: float
    intervals: int
    lanes: int
    cpu_s: float
    wall_s: float
    planned: int = 0
    dropped: int = 0
    waited_s: float = 0.0

    @property
    def throttled(self) -> int:
        """Operations that the service refused because there were too many."""
        return self.all.failed[Kind.THROTTLED]

    @property
    def failures(self) -> int:
        """Operations that failed, throttled ones too."""
        return self.all.failed.total()

    def main_failure(self) -> Failure | None:
        """The first failure of the most frequent kind."""
        most = self.all.failed.most_common(1)
        return self.all.reasons[most[0][0]] if most else None

    def cpu_ratio(self, processors: int) -> float:
        """CPU seconds per wall second of each of so many processors."""
        return self.cpu_s / max(self.wall_s, 1e-9) / processors

    def latencies_ns(self) -> list[int]:
        """The response times of successful operations, from when they were due."""
        return [max(1, last - due) for due, last in zip(self.all.due, self.all.last, strict=True)]

    def first_bytes_ns(self) -> list[int]:
        """The times until the first byte of the answer."""
        return [max(1, first - due) for due, first in zip(self.all.due, self.all.first, strict=True)]

    def bytes_per_s(self) -> list[float]:
        """The payload a second of each interval."""
        payload = self._spread(zip(self.all.due, self.all.last, self.all.payload, strict=True))
        return [value / self.interval_s for value in payload]

    def rates(self) -> list[float | None]:
        """The operations a second of each interval; None if lanes had no time for any."""
        done, left_s = self._done(), self._left_s()
        enough_s = _LEAST_SHARE * self.interval_s
        return [some / time_s if time_s >= enough_s else None for some, time_s in zip(done, left_s, strict=True)]

    def rate(self) -> float:
        """The operations a second of the whole phase."""
        return sum(self._done()) / max(sum(self._left_s()), 1e-9)

    def _done(self) -> list[float]:
        return self._spread((due, last, 1) for due, last in zip(self.all.due, self.all.last, strict=True))

    def _left_s(self) -> list[float]:
        """The time of each interval that lanes had for operations."""
        aside = self._spread((began, ended, ended - began) for began, ended in self.all.aside)
        return [max(0.0, self.interval_s - one / _NS_PER_S / self.lanes) for one in aside]

    def _spread(self, amounts: Iterable[tuple[int, int, int]]) -> list[float]:
        """Amounts by interval; one that spans several intervals is split by time."""
        sums, width = [0.0] * self.intervals, self.interval_s * _NS_PER_S
        for began, ended, amount in amounts:
            low, high = max(0, began - self.start_ns), max(0, ended - self.start_ns)
            for at in range(int(low / width), min(int(high / width), self.intervals - 1) + 1):
                part = min(high, (at + 1) * width) - max(low, at * width)
                sums[at] += amount * (part / (high - low) if high > low else 1.0)
        return sums
