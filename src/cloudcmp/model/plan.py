"""The trials that a study takes, their order and their worst-case money."""

from dataclasses import dataclass
from decimal import Decimal

from cloudcmp.model.bill import BillLine
from cloudcmp.model.cast import Cast, Service
from cloudcmp.model.command import Command
from cloudcmp.model.offering import Billing, Match, Offering, Price, Truth, Volume
from cloudcmp.model.price import Item, UnitPrice
from cloudcmp.model.selection import Dropped, Ended, Stop
from cloudcmp.model.study import Caps, Decide, Session
from cloudcmp.model.terms import NO_TERMS, Terms
from cloudcmp.model.wide_area import VantagePoint
from cloudcmp.units import Money

# The time of a machine beyond its trials' deadlines: boot, upload, teardown. It ends by itself after that.
LEASE_MARGIN_S = 1800.0

NATIVE, SDK_PYTHON, CLI = "native", "sdk-python", "cli"
"""Values of the parameter `client`: the agent, a provider's own Python library, and its own command."""

AGGREGATION = ("runs:median", "launch:median", "session:median")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A candidate of a study, resolved: `id` is unique and shown to people.

    `runner` is the provider that runs it (the offering's own, or the one that stands in for it).
    `differs` has a line for each difference between a matched offering and the request. `options` are sorted text
    pairs: account, credits, image, market, os, placement, tenancy, zone. `beside` is its provider's charge for each
    machine besides the type and the volumes, and `surplus` the most that an hour of full speed beyond the CPU credits
    adds. With a `service`, the service is the candidate, at its `unit_prices`; the
    offering is the machine that measures it, whose own cost is quoted separately; `store` is the provider that makes
    the service's data sets, empty for a service that the study itself serves, and for one without a driver. `far_zone`
    is the zone of a launch's machines beyond the first, in trials between zones. `far` is the candidate as those
    machines are, in another region, in trials between regions; `traffic_price` is that of what goes between both.
    """

    index: int
    id: str
    offering: Offering
    runner: str
    volume: Volume | None = None
    count: int = 1
    asked: Match | None = None
    differs: tuple[str, ...] = ()
    truth: Truth | None = None
    options: tuple[tuple[str, str], ...] = ()
    resize_price: Price | None = None
    beside: Price | None = None
    surplus: Price | None = None
    service: Service | None = None
    unit_prices: tuple[UnitPrice, ...] = ()
    store: str = ""
    far_zone: str = ""
    far: "Candidate | None" = None
    traffic_price: UnitPrice | None = None

    @property
    def ends(self) -> tuple["Candidate", ...]:
        """The candidate in each region where a launch of it has machines, the first machine's region first."""
        return (self,) if self.far is None else (self, self.far)

    @property
    def drivers(self) -> tuple[str, ...]:
        """The providers at which its launches lease something: that of its machines, and that of its data sets."""
        return tuple(dict.fromkeys(name for name in (self.runner, self.store) if name))

    @property
    def simulated(self) -> bool:
        """True if its values are planted rather than measured."""
        return self.runner == "simulated"


@dataclass(frozen=True, slots=True)
class PlannedVantage:
    """A vantage point of a plan, and the machine that it is, as a candidate that nothing compares.

    `machine` is None if every candidate is simulated. `address` is the public one from which it looks, empty where
    nobody stated it.
    """

    point: VantagePoint
    machine: Candidate | None = None
    address: str = ""


@dataclass(frozen=True, slots=True)
class Launch:
    """A candidate's machine of one round. `start_s` counts from the plan's start; `seed` is its own."""

    index: int
    candidate: int
    round: int
    session: str | None
    start_s: float
    seed: int


@dataclass(frozen=True, slots=True)
class PlannedTrial:
    """One run of one probe on one launch, with all parameters filled in and the cells that it gives.

    `cast` assigns targets to roles; empty for one agent on the first machine, and in plans of version 1.
    """

    index: int
    launch: int
    probe: str
    params: tuple[tuple[str, str], ...]
    cells: tuple[str, ...]
    run: int
    start_s: float
    expected_s: float
    deadline_s: float
    seed: int
    cast: Cast = ()


@dataclass(frozen=True, slots=True)
class Traffic:
    """The bytes that one launch sends between its machines over a path: expected, and at most within its caps."""

    path: str
    expected_bytes: int
    most_bytes: int


@dataclass(frozen=True, slots=True)
class ServiceUse:
    """One launch's use of a service, in requests or bytes: expected, and at most.

    `op` is the dearest operation among the requests, `size_bytes` its payload (0 for a row of a table) and `read` the
    consistency that it asks for; empty in plans of earlier versions.
    """

    item: Item
    expected: int
    most: int
    op: str = ""
    size_bytes: int = 0
    read: str = ""


@dataclass(frozen=True, slots=True)
class Extra:
    """The cost of a launch beyond the hourly price of its machines, in the currency of that price.

    `timed` are hourly amounts of each machine with their billing; `fixed` is the amount of a launch of any length.
    """

    timed: tuple[tuple[Decimal, Billing], ...] = ()
    fixed: Decimal = Decimal(0)


@dataclass(frozen=True, slots=True)
class LaunchUsage:
    """The usage of one candidate's launches, in quantities; seconds and traffic are of each launch.

    `worst_s` is the lease that a run requests, plus the minute in which a machine's own timer ends it. `starts` is the
    number of restarts of each machine, and `becomes` its type after each, each for its part of `after_s`, the last
    seconds of its expected life.
    """

    candidate: int
    launches: int
    machines: int
    expected_s: float
    worst_s: float
    starts: int = 0
    becomes: tuple[Offering, ...] = ()
    after_s: float = 0.0
    traffic: tuple[Traffic, ...] = ()
    extra: Extra = Extra()
    service: tuple[ServiceUse, ...] = ()


@dataclass(frozen=True, slots=True)
class ToDecide:
    """The launches that a rule takes if the best candidate is ahead of every other one by `ahead`, a share.

    `median` and `most` (in nine of ten cases) are over simulated studies, `decided` the share of them that end by the
    rule within the planned rounds, and `right` of those that name the best.
    """

    ahead: float
    median: int
    most: int
    decided: float
    right: float


@dataclass(frozen=True, slots=True)
class Quote:
    """The trials, time and money of a plan. Money is None if unknown; `detectable` is a ratio - 1 at 80 % power.

    `expected_cost` is at list price, with its items in `lines`; `own` are the lines of the account's terms, and
    `with_terms` the total with them. `to_decide` is, for a study with a rule, how many launches it would take.
    """

    trials: int
    expected_s: float
    expected_cost: Money | None
    worst_cost: Money | None
    detectable: tuple[tuple[str, float], ...]
    assumed_cov: float
    notes: tuple[str, ...] = ()
    lines: tuple[BillLine, ...] = ()
    own: tuple[BillLine, ...] = ()
    with_terms: Money | None = None
    to_decide: tuple[ToDecide, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of a study: all decisions before the first trial.

    `start_at` is the Unix time (s) at which virtual time begins, for simulated studies; the launches are in the order
    in which they are run. With `every_s` a round starts at each such step (s), else one round follows the other.
    `looks` are the numbers of launches after which the study had ended before rounds were added. `weights` are those of
    metrics, or of cells, in the overall index. With `until`, a share, the study stops after one of the numbers of
    rounds in `checks` if every interval is within that share of its value. With `stop`, the rule decides after each of
    them what the next round measures: `launches` and `trials` of later rounds are those of the candidates that are
    still measured, `dropped` says which are not, and `ended` how the rule ended the study.
    """

    name: str
    question: str
    candidates: tuple[Candidate, ...]
    launches: tuple[Launch, ...]
    trials: tuple[PlannedTrial, ...]
    decide: tuple[Decide, ...]
    sessions: tuple[Session, ...]
    rounds: int
    runs: int
    seed: int
    start_at: float
    quote: Quote
    budget: Money | None = None
    deadline_s: float | None = None
    every_s: float | None = None
    aggregation: tuple[str, ...] = AGGREGATION
    imported: bool = False
    caps: Caps = Caps()  # noqa: RUF009 - a frozen value
    short: bool = False
    usage: tuple[LaunchUsage, ...] = ()
    terms: Terms = NO_TERMS
    commands: tuple[Command, ...] = ()
    looks: tuple[int, ...] = ()
    weights: tuple[tuple[str, float], ...] = ()
    until: float | None = None
    checks: tuple[int, ...] = ()
    stop: Stop | None = None
    dropped: tuple[Dropped, ...] = ()
    ended: Ended | None = None
    vantages: tuple[PlannedVantage, ...] = ()

    @property
    def leased(self) -> tuple[Candidate, ...]:
        """The candidates, and the machines from which they are seen."""
        return (*self.candidates, *(one.machine for one in self.vantages if one.machine))

    @property
    def drivers(self) -> tuple[str, ...]:
        """The providers at which the study leases something, each once."""
        return tuple(dict.fromkeys(name for one in self.leased for name in one.drivers))

    def trials_of(self, launch: int) -> tuple[PlannedTrial, ...]:
        """The trials of one launch, in order."""
        return tuple(trial for trial in self.trials if trial.launch == launch)


def steps_of(plan: Plan) -> tuple[str, str, str]:
    """The reductions of runs, launches and sessions, each `median` or `mean`.

    `plan.aggregation` names one step a level, in order, as `runs:median`. Raises ValueError for anything else.
    """
    parts = [step.partition(":") for step in plan.aggregation]
    levels = tuple(level for level, _, _ in parts)
    if levels != ("runs", "launch", "session") or any(step not in {"median", "mean"} for _, _, step in parts):
        raise ValueError(f"aggregation: {plan.aggregation}; write e.g. {AGGREGATION}")
    runs, launch, session = (step for _, _, step in parts)
    return runs, launch, session


def hourly_cost(candidate: Candidate) -> Decimal | None:
    """Money per hour for all instances of a candidate, None if the price is unknown."""
    one = unit_cost(candidate)
    return None if one is None else one * candidate.count


def unit_cost(candidate: Candidate) -> Decimal | None:
    """Money per hour for one instance with its volumes and other charges.

    None if the instance's price is unknown, or if another charge is in another currency: exchange rates are unknown.
    """
    price, volume = candidate.offering.price, candidate.volume
    if price is None:
        return None
    others = [one for one in (volume.price if volume else None, candidate.beside, candidate.surplus) if one]
    if any(one.currency != price.currency for one in others):
        return None
    return price.amount_per_hour + sum((one.amount_per_hour for one in others), Decimal(0))
