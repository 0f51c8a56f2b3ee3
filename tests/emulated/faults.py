"""Faults at single calls of an emulated cloud, by count or by chance."""

import random
from collections.abc import Iterable
from dataclasses import dataclass

WHATS = ("drop", "lost", "reset", "late", "5xx", "truncated", "part", "cut", "empty")
"""drop: the connection closes, nothing was done · lost: done, then the connection closes · reset: done, then an RST ·
late: done, answered `seconds` later · 5xx: done, then InternalError · truncated: the XML ends in the middle, with a
matching length · part: fewer bytes than announced · cut: the pagination token comes cut short · empty: done, answered
by an empty list. Beside these, `error:CODE` answers that error without doing anything."""


@dataclass(frozen=True, slots=True)
class Fault:
    """What happens at calls of one action: `times` calls from the `first` on, counted from the start; `*` is any."""

    action: str
    what: str
    first: int = 1
    times: int = 1
    seconds: float = 0.0

    def __post_init__(self) -> None:
        if self.what not in WHATS and not self.what.startswith("error:"):
            raise ValueError(f"unknown fault {self.what!r}; known are {', '.join(WHATS)} and error:CODE")


@dataclass(frozen=True, slots=True)
class Behaviour:
    """How an emulated cloud behaves, as far as all of them do; the defaults are one in which nothing goes wrong.

    `read_lag_s` is how long what is new is not shown, `pending_s` how long a machine takes to run. `skew_s` is how far
    the cloud's clock is ahead. `shares` are (action, what, share of calls), by `seed`; `at` are faults at single calls.
    """

    seed: int = 0
    read_lag_s: float = 0.0
    pending_s: float = 0.0
    skew_s: float = 0.0
    shares: tuple[tuple[str, str, float], ...] = ()
    at: tuple[Fault, ...] = ()


class Chooser:
    """Which fault the next call of an action meets: the named ones by count, the shares by the seed."""

    def __init__(self, seed: int = 0, shares: Iterable[tuple[str, str, float]] = (), at: Iterable[Fault] = ()) -> None:
        self._random = random.Random(seed)
        self._counts: dict[str, int] = {}
        self._shares = tuple(shares)
        self._at = list(at)

    def inject(self, fault: Fault) -> None:
        """One more fault; its count starts now."""
        first = self._counts.get(fault.action, 0) + fault.first
        self._at.append(Fault(fault.action, fault.what, first, fault.times, fault.seconds))

    def next(self, action: str) -> Fault | None:
        """The fault of this call, None where it goes well."""
        for key in (action, "*"):
            self._counts[key] = self._counts.get(key, 0) + 1
        for fault in self._at:
            count = self._counts.get(fault.action, 0)
            if fault.action in {action, "*"} and fault.first <= count < fault.first + fault.times:
                return fault
        for named, what, share in self._shares:
            if named in {action, "*"} and self._random.random() < share:
                return Fault(action, what)
        return None
