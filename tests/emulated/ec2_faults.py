"""What goes wrong in the emulated EC2: standing properties of the cloud, and faults at single calls."""

import random
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
class Faults:
    """The whole behaviour beyond the ordinary; the defaults are a cloud in which nothing goes wrong.

    `tokens` is honoured or ignored; `terminated_token` is what a token of a terminated instance gives: error or
    instance. `tags` is kept, ignored (nothing can be tagged) or stripped (only in the creating call; CreateTags works)
    or refused (UnknownParameter). `shutdown` is kept, ignored or refused. `terminate` is ends, nothing (answers 200 and
    does nothing) or stopped. `shares` are (action, what, share of calls). `unknown` are actions that this cloud has
    not, `denied` those that the user may not do. `page` is the most items of any list in one answer.
    """

    seed: int = 0
    tokens: str = "honoured"
    terminated_token: str = "error"
    token_filter: bool = True
    tags: str = "kept"
    shutdown: str = "kept"
    dry_run: bool = True
    read_lag_s: float = 0.0
    pending_s: float = 0.0
    terminate: str = "ends"
    terminate_s: float = 0.0
    forget_s: float = 3600.0
    console_s: float = 0.0
    page: int | None = None
    quota_vcpus: int = 1000
    skew_s: float = 0.0
    unknown: frozenset[str] = frozenset()
    denied: frozenset[str] = frozenset()
    shares: tuple[tuple[str, str, float], ...] = ()
    at: tuple[Fault, ...] = ()


EUCALYPTUS = Faults(
    tokens="ignored",
    token_filter=False,
    tags="refused",
    shutdown="ignored",
    dry_run=False,
    unknown=frozenset({"GetServiceQuota", "GetParameter", "DescribeInstanceTypes", "DescribeSpotInstanceRequests"}),
)
"""An older EC2-compatible cloud, features switched off: a personality for tests, not a statement about a product."""


class Chooser:
    """Which fault the next call of an action meets: the named ones by count, the shares by the seed."""

    def __init__(self, faults: Faults) -> None:
        self._random = random.Random(faults.seed)
        self._counts: dict[str, int] = {}
        self._shares = faults.shares
        self._at = list(faults.at)

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
