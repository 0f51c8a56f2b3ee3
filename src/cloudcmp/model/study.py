"""A study file, read and checked."""

from dataclasses import dataclass

from cloudcmp.model.cast import ServiceKind
from cloudcmp.model.command import Command
from cloudcmp.model.offering import Match, Price, Truth, Volume
from cloudcmp.model.price import UnitPrice
from cloudcmp.model.promise import Promise
from cloudcmp.model.selection import Stop
from cloudcmp.model.terms import NO_TERMS, Terms
from cloudcmp.model.wide_area import VantagePoint
from cloudcmp.units import Money

SCHEMA = 1
FEWEST_LAUNCHES = 6
"""The smallest number of launches for a 95 % interval of a median, and for a verdict."""


@dataclass(frozen=True, slots=True)
class FarSpec:
    """The place of a launch's machines beyond the first: another zone of the region, or another region.

    `price` is that of a machine in that region, `traffic` that of a byte between both regions.
    """

    zone: str = ""
    region: str = ""
    price: Price | None = None
    traffic: UnitPrice | None = None


@dataclass(frozen=True, slots=True)
class CandidateSpec:
    """One candidate as the user wrote it; exactly one of `offering` and `match` is set. `where` is file:line:col.

    With a `service`, `offering` is the machine that measures it, None for all processors of this machine; `from_place`
    is that machine's provider and region if they are not the service's. `endpoint`, `serve`, `name` and `api` are a
    service's. `promises` are those that the user wrote down. `far` is the place of the machines beyond the first.
    """

    where: str
    provider: str
    region: str | None
    offering: str | None
    match: Match | None
    volume: Volume | None = None
    count: int = 1
    price: Price | None = None
    resize_price: Price | None = None
    truth: Truth | None = None
    options: tuple[tuple[str, str], ...] = ()
    service: ServiceKind | None = None
    unit_prices: tuple[UnitPrice, ...] = ()
    from_place: tuple[str, str | None] | None = None
    endpoint: str = ""
    serve: str = ""
    name: str = ""
    api: str = ""
    promises: tuple[Promise, ...] = ()
    far: FarSpec | None = None


@dataclass(frozen=True, slots=True)
class ProbeSpec:
    """One probe with one set of parameter values as the user wrote them, with suites and lists expanded.

    `params` holds only the written parameters, as text in base units; defaults are the catalogue's. `runs` is None for
    the study's own number. `own` is the user's own command that it runs, if any.
    """

    where: str
    probe: str
    params: tuple[tuple[str, str], ...] = ()
    runs: int | None = None
    own: Command | None = None


@dataclass(frozen=True, slots=True)
class VantageSpec:
    """A vantage point as the user wrote it: what is known of it, and the machine that it is. `where` is file:line:col.

    `offering` is the machine by its provider's name, None for all processors of this machine; `address` the stated
    public one, empty without.
    """

    where: str
    point: VantagePoint
    provider: str
    offering: str | None = None
    address: str = ""


@dataclass(frozen=True, slots=True)
class Decide:
    """A cell, or a metric that stands for all its cells, that decides. `margin` is absolute, in the metric's unit."""

    where: str
    cell: str
    margin: float | None = None


@dataclass(frozen=True, slots=True)
class Session:
    """A time window: days 0 (Monday) to 6, from and until as seconds after local midnight (until may pass 24 h)."""

    name: str
    days: tuple[int, ...]
    from_s: int
    until_s: int
    timezone: str


@dataclass(frozen=True, slots=True)
class Caps:
    """The caps of a study on traffic between two machines, and on the number of machines at once.

    `burst_s` is the longest bulk transfer, `bytes_per_s` and `packets_per_s` the fastest one; `duty` the share of a
    launch's time in which bulk may flow; `bytes` is of the whole study. None is the default: the agent's own for the
    first three, 5 % duty, no further cap on bytes, and 100 machines.
    """

    burst_s: float | None = None
    bytes_per_s: float | None = None
    packets_per_s: float | None = None
    duty: float | None = None
    bytes: int | None = None
    machines: int | None = None


@dataclass(frozen=True, slots=True)
class Study:
    """A study file, read and checked. Durations in seconds.

    `weights` are those of metrics, or of cells, in the overall index; without them there is none. With `until`, a
    share, or `stop`, `launches` is the most: the study stops once every interval is that tight, or its rule is done.
    """

    name: str
    question: str
    candidates: tuple[CandidateSpec, ...]
    probes: tuple[ProbeSpec, ...]
    decide: tuple[Decide, ...] = ()
    weights: tuple[tuple[str, float], ...] = ()
    launches: int = 6
    runs: int = 2
    sessions: tuple[Session, ...] = ()
    every_s: float | None = None
    for_s: float | None = None
    until: float | None = None
    stop: Stop | None = None
    budget: Money | None = None
    caps: Caps = Caps()
    deadline_s: float | None = None
    seed: int = 1
    terms: Terms = NO_TERMS
    vantages: tuple[VantageSpec, ...] = ()
    schema: int = SCHEMA
