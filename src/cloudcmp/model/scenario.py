"""A world-wide service to simulate: its users, data centres, network, and how requests are sent and served."""

from dataclasses import dataclass, replace
from enum import StrEnum

from cloudcmp.model.wide_area import Position
from cloudcmp.units import Money

DAY_S = 86400.0


class Mode(StrEnum):
    """What is simulated one by one: messages of many requests, as CloudAnalyst does, or each request."""

    MESSAGES = "messages"
    REQUESTS = "requests"


class Arrivals(StrEnum):
    """When the users of a base send: all at once as often as each of them sends, or at random times."""

    TOGETHER = "together"
    SPREAD = "spread"


class Broker(StrEnum):
    """Which data centre a request is sent to."""

    CLOSEST = "closest"
    """The one with the least latency; a random one of several."""
    BEST = "best response time"
    """The one with the least sum of latency and its last processing time."""
    RECONFIGURE = "reconfigure dynamically"
    """The closest; a data centre whose processing times grow gets one machine more each minute."""


class Balancing(StrEnum):
    """Which machine of a data centre a task is given to."""

    ROUND_ROBIN = "round robin"
    EQUALLY_SPREAD = "equally spread"
    """The one with the fewest tasks."""
    THROTTLED = "throttled"
    """An idle one; without one, the task waits in one queue for all."""


class Discipline(StrEnum):
    """How a machine serves the tasks that it was given."""

    SHARING = "sharing"
    """All at once, each at an equal share of its speed."""
    IN_ORDER = "in order"
    """One after the other."""


class ServiceTimes(StrEnum):
    """How the service times of single requests vary around their mean."""

    FIXED = "fixed"
    EXPONENTIAL = "exponential"


@dataclass(frozen=True, slots=True)
class UserBase:
    """Users of one place who behave alike.

    `peak_users` are online from `peak[0]` to `peak[1]` (seconds of the day, UTC; the end may be before the start, which
    is a peak over midnight), `off_peak_users` at other times. Each of them sends `requests_per_hour` requests.
    """

    name: str
    region: str
    peak_users: int
    off_peak_users: int
    peak: tuple[float, float]
    requests_per_hour: float
    request_bytes: int
    response_bytes: int


@dataclass(frozen=True, slots=True)
class DataCentre:
    """A place with machines; `hosts` of `processors` each bound their speed, if given.

    `price` is that of a machine an hour, `transfer` that of a GB (10^9 bytes) sent or received; None is unknown.
    """

    name: str
    region: str
    machines: int
    hosts: int | None = None
    processors: int | None = None
    price: Money | None = None
    transfer: Money | None = None

    def speed(self, machines: int) -> float:
        """The share of a processor that each of some machines of one virtual processor has, 0 to 1."""
        if self.hosts is None or self.processors is None:
            return 1.0
        return min(1.0, self.hosts * self.processors / machines)


@dataclass(frozen=True, slots=True)
class Service:
    """The mean processor time of one request; `n` is that of its measurement, None if it is given."""

    seconds: float
    source: str
    n: int | None = None
    times: ServiceTimes = ServiceTimes.FIXED


@dataclass(frozen=True, slots=True)
class Matrix:
    """Values between places: `values[row][column]` from the place of a base to that of a data centre.

    `positions` are the known ones of places by name, for a map alone. `notes` say what of the source is not here.
    """

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: tuple[tuple[float, ...], ...]
    source: str
    positions: tuple[tuple[str, Position], ...] = ()
    notes: tuple[str, ...] = ()

    def at(self, row: str, column: str) -> float:
        """The value between two places; raises ValueError if it has no such place."""
        return self.values[self.rows.index(row)][self.columns.index(column)]

    def changed(self, changes: "tuple[LatencyChange, ...]") -> "Matrix":
        """The same matrix with other latencies between some places, in both directions; its source and notes say so."""
        if not changes:
            return self
        by_pair = {pair: one.one_way_s for one in changes for pair in (one.places, one.places[::-1])}
        values = tuple(
            tuple(by_pair.get((row, column), value) for column, value in zip(self.columns, of_row, strict=True))
            for row, of_row in zip(self.rows, self.values, strict=True)
        )
        words = ", ".join(f"{' to '.join(one.places)} {one.one_way_s * 1e3:g} ms" for one in changes)
        source = f"{self.source}, changed: {words}"
        return replace(self, values=values, source=source, notes=(*self.notes, f"latencies are {source}"))


@dataclass(frozen=True, slots=True)
class LatencyChange:
    """A latency that replaces that of the matrix between two places, in both directions."""

    places: tuple[str, str]
    one_way_s: float


@dataclass(frozen=True, slots=True)
class Variant:
    """What is different in a second simulation of the same scenario, and `why`."""

    name: str
    why: str
    latencies: tuple[LatencyChange, ...] = ()
    peaks: tuple[tuple[str, tuple[float, float]], ...] = ()
    corrected: bool = False
    """True without the slips of CloudAnalyst."""
    deployments: tuple[str, ...] = ()
    """The names of the deployments that it is of; empty for all."""


@dataclass(frozen=True, slots=True)
class Deployment:
    """Data centres that serve together, each with its number of machines."""

    name: str
    machines: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Search:
    """What is looked for among the sets of at most `choose` data centres.

    With `target_s` the cheapest whose mean response time is at most that, or in which at least the `share` of requests
    is: at each base if `each`, else over all. With `budget` (money of the whole simulated time) the fastest within it.
    """

    choose: int
    target_s: float | None = None
    share: float | None = None
    each: bool = True
    budget: Money | None = None


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """A table of a published document that the means are set beside; its columns are the deployments.

    `rows` maps a row of the table to a base, or to `overall`.
    """

    document: str
    table: str
    rows: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Scenario:
    """A world-wide service: everything that a simulation needs.

    `grouping` is how many requests make a message, and a task of a machine. `cloudanalyst` is true if the slips of that
    simulator are wanted. `latency` is one way in seconds, `bandwidth` in bytes per second; of the latter CloudAnalyst
    makes MiB of the digits of Mbit.
    """

    name: str
    question: str
    bases: tuple[UserBase, ...]
    centres: tuple[DataCentre, ...]
    latency: Matrix
    bandwidth: Matrix
    service: Service
    deployments: tuple[Deployment, ...]
    duration_s: float = DAY_S
    runs: int = 5
    seed: int = 1
    mode: Mode = Mode.MESSAGES
    arrivals: Arrivals = Arrivals.SPREAD
    grouping: tuple[int, int] = (1, 1)
    broker: Broker = Broker.CLOSEST
    balancing: Balancing = Balancing.ROUND_ROBIN
    discipline: Discipline = Discipline.SHARING
    cloudanalyst: bool = False
    work: tuple[float, float] | None = None
    """Instructions of a request and millions of them that a machine does in a second, if `service` came of them."""
    search: Search | None = None
    variants: tuple[Variant, ...] = ()
    published: PublishedTable | None = None
