"""Platforms that run a handler of ours: what one request told, the limits that were met, and the figures of both."""

from dataclasses import dataclass
from enum import StrEnum

from cloudcmp.units import Money


class Stage(StrEnum):
    """What a request was sent for."""

    FIRST = "first"
    ROUNDS = "rounds"
    IDLE = "idle"
    LOAD = "load"


class Page(StrEnum):
    """A page of the handler: the four tests of Bitcurrent and Webmetrics (2010), and the memory task of CloudCmp."""

    PIXEL = "pixel"
    TWO_MB = "2mb"
    CPU = "cpu"
    MEMORY = "memory"
    DISK = "disk"


class LimitKind(StrEnum):
    """What a platform limits; the word is that of its unit in the handler's paths."""

    TIME = "time"
    MEMORY = "memory"
    ANSWER = "answer"
    UPLOAD = "upload"


@dataclass(frozen=True, slots=True)
class Handler:
    """What the headers of an answer tell of the process that gave it; None where it does not say.

    `age_s` is the time from the process's start to the request's arrival, `took_s` from there until the answer was
    made, `task_s` the part of it in the task. `first` is true for the first request of the process. `parallel` counts
    the requests in the process at the arrival, with this one. `disk_in_memory` is true where the disk task wrote to
    memory.
    """

    instance: str
    age_s: float | None = None
    took_s: float | None = None
    task_s: float | None = None
    first: bool = False
    parallel: int | None = None
    memory_bytes: int | None = None
    disk_in_memory: bool = False


@dataclass(frozen=True, slots=True)
class Request:
    """One request to a platform, by its place in `PlatformRun.platforms`.

    `at_s` is its start, counted from the measurement's. `response_s` is the time from then until the last byte, over a
    connection that was open; None if no whole answer came, and then `reason` is a word for it, such as `timed out` or
    `status 503`.
    """

    platform: int
    stage: Stage
    page: Page
    at_s: float
    response_s: float | None
    handler: Handler | None
    reason: str = ""
    round: int | None = None


@dataclass(frozen=True, slots=True)
class Limit:
    """What a platform lets a handler do: the most that worked and the least that did not, in s or B.

    `failed` is None if all that was asked for worked, up to the bound of the search. `reason` says how the least one
    failed, twice.
    """

    platform: int
    kind: LimitKind
    worked: float | None
    failed: float | None
    reason: str
    requests: int


@dataclass(frozen=True, slots=True)
class Platform:
    """A platform under measurement: its name in all tables, and where its handler answers."""

    name: str
    url: str


@dataclass(frozen=True, slots=True)
class PlatformRun:
    """What a measurement of platforms gave.

    `started_at` is in seconds since 1970 (UTC). `load` is the number of requests in flight under load, 0 without one.
    """

    platforms: tuple[Platform, ...]
    requests: tuple[Request, ...]
    limits: tuple[Limit, ...]
    started_at: float
    seed: int
    load: int = 0


@dataclass(frozen=True, slots=True)
class Centre:
    """A median with its distribution-free 95 % interval, in the unit of its values.

    `n` counts requests and `instances` the processes that answered them. If there are enough of them, the values are
    the medians of the instances, and `of_instances` is true; else they are the requests, and the interval says nothing
    of other instances. `low` and `high` are None if there are too few values for an interval.
    """

    median: float
    low: float | None
    high: float | None
    n: int
    instances: int
    of_instances: bool


@dataclass(frozen=True, slots=True)
class PageFigure:
    """A page of a platform in the rounds: its response time, the finishing time of its task, and its requests.

    `response` is None if no request was answered; `task` is None besides for a page without a task.
    """

    platform: int
    page: Page
    response: Centre | None
    task: Centre | None
    ok: int
    started: int
    disk_in_memory: bool = False


@dataclass(frozen=True, slots=True)
class ColdStart:
    """The first requests of new instances: how much longer they took than warm ones of the same page, s.

    `warm_s` is what warm requests for the smallest page take outside the handler, in the median; None without any.
    `centre` is None if no first request was seen.
    """

    platform: int
    values: tuple[float, ...]
    centre: Centre | None
    warm_s: float | None


@dataclass(frozen=True, slots=True)
class ScaleOut:
    """What a platform did when requests in flight stepped from none to `asked`: one observation.

    `points` are the times (s, since the step) at which the first answer of each further instance was complete.
    `settled_s` is the time of the last one, `rate_before` and `rate_after` the answers per second in the first and the
    last fifth of the load.
    """

    platform: int
    asked: int
    lasted_s: float
    points: tuple[float, ...]
    ok: int
    started: int
    rate_before: float
    rate_after: float
    refusals: tuple[tuple[str, int], ...] = ()

    @property
    def settled_s(self) -> float | None:
        """When the last new instance answered; None if none did."""
        return self.points[-1] if self.points else None


@dataclass(frozen=True, slots=True)
class RequestCost:
    """What requests for a page cost on a platform by its rule, for one million of them.

    Those of the rounds are one at a time in an instance; those of the load as it was, which is one observation without
    an interval. `money` is None if a number that the rule needs is unknown, which `lack` names; the interval is that of
    the mean.
    """

    platform: int
    stage: Stage
    page: Page
    rule: str
    money: Money | None
    low: float | None
    high: float | None
    n: int
    lack: str = ""


@dataclass(frozen=True, slots=True)
class PlatformFigures:
    """All figures of a measurement of platforms, with notes on what they do not say."""

    run: PlatformRun
    pages: tuple[PageFigure, ...]
    cold_starts: tuple[ColdStart, ...]
    scale_outs: tuple[ScaleOut, ...]
    costs: tuple[RequestCost, ...]
    memory_bytes: tuple[int | None, ...]
    notes: tuple[str, ...] = ()
