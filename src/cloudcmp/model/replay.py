"""A load over time, and what it takes to serve it: machines by policy, requests over target, and money."""

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from cloudcmp.model.market import OfferKey
from cloudcmp.model.result import Bounds

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Load:
    """Requests per second over time: each rate holds from its time until the next one, the last one until `end`.

    `times` are seconds that increase, since 1970 (UTC) if the trace names days; shapes (rows,). `uneven` counts the
    steps that are longer than the usual one, over which the rate before is taken to hold.
    """

    times: "NDArray[np.float64]"
    rates: "NDArray[np.float64]"
    end: float
    uneven: int = 0

    @property
    def seconds(self) -> float:
        """The length of the trace."""
        return float(self.end - self.times[0])

    @property
    def requests(self) -> float:
        """All requests of the trace."""
        return float((self.rates * self.steps).sum())

    @property
    def steps(self) -> "NDArray[np.float64]":
        """How long each rate holds, in seconds."""
        import numpy as np

        return np.diff(np.append(self.times, self.end))

    def scaled(self, factor: float) -> "Load":
        """The load with every rate multiplied."""
        return Load(self.times, self.rates * factor, self.end, self.uneven)


@dataclass(frozen=True, slots=True, eq=False)
class LaunchTimes:
    """Measured times of launches, in seconds: until a machine could be used, and until its provider called it running.

    `running` is None if it was not measured; then a machine is paid from its request. `failed` are the seconds that
    each failed launch took until it was given up: it is asked for again then. `fixed` is true for one time that all
    launches take. Shapes: (launches,), (launches,), (failed launches,).
    """

    usable: "NDArray[np.float64]"
    running: "NDArray[np.float64] | None" = None
    failed: "NDArray[np.float64] | None" = None
    fixed: bool = False

    @property
    def failures(self) -> int:
        """The number of launches that failed."""
        return 0 if self.failed is None else len(self.failed)


class Lack(StrEnum):
    """Why a machine with measured launches cannot be replayed."""

    CAPACITY = "CAPACITY"
    """How many requests it serves is unknown."""
    SINGLE = "SINGLE"
    """Only several machines at once were measured."""


class Policy(StrEnum):
    """How the number of machines follows the load."""

    PEAK = "fixed at the peak"
    MEAN = "fixed at the mean"
    REACTIVE = "reactive"
    SCHEDULED = "scheduled"


@dataclass(frozen=True, slots=True)
class Rules:
    """How machines are asked for and given back.

    `utilisation` is the share of a machine's capacity that reactive and scheduled policies plan with. `watch_s` is how
    long a change of load is not seen; machines are given back if `cool_down_s` long fewer were enough. `over` is the
    share of requests that may exceed what the machines carry.
    """

    utilisation: float = 0.7
    watch_s: float = 60.0
    cool_down_s: float = 300.0
    over: float = 0.001


@dataclass(frozen=True, slots=True)
class Range:
    """A value with its 95 % interval; without one, nothing that was drawn scatters it."""

    value: float
    bounds: Bounds | None = None


@dataclass(frozen=True, slots=True)
class PolicyOutcome:
    """What one policy takes to serve a load.

    `alone` is the share of requests over target without idle machines; `idle` is the fewest that bring it below the
    limit, in at least 95 % of the draws, and `over` what is then left, in `requests_over` requests of the trace. Hours,
    launches and money are those of a month of 730 hours like the trace. `machines` is the mean number, `most` the
    greatest. `money` is in the currency of the answer, None if no price is known.
    """

    policy: Policy
    alone: Range
    idle: int
    over: Range
    requests_over: float
    machines: float
    most: int
    machine_hours: float
    launches: float
    money: Range | None


@dataclass(frozen=True, slots=True)
class MachineType:
    """What is known of one machine that could serve the load.

    `capacity` is in requests per second, with its interval if several launches measured it; `price` an hour, None if
    unknown. `launches` counts measured launch times, of which `failed` failed; `usable` are the 5th, 50th and 95th
    percentile of the time until a machine can be used, in seconds. `paid_from_request` is true if the moment from which
    it is paid was not measured. A life is billed for `minimum_s` at least, then for every `step_s` begun.
    """

    key: OfferKey
    capacity: Range
    price: float | None
    launches: int
    failed: int
    usable: tuple[float, float, float]
    paid_from_request: bool
    minimum_s: float
    step_s: float
    simulated: bool = False


@dataclass(frozen=True, slots=True)
class Choice:
    """One machine type with the outcome of each policy; the first one is the cheapest that keeps the limit."""

    machine: MachineType
    outcomes: tuple[PolicyOutcome, ...]

    @property
    def best(self) -> PolicyOutcome:
        """The cheapest policy that keeps the limit."""
        return self.outcomes[0]


@dataclass(frozen=True, slots=True)
class Variant:
    """What the answer becomes under another assumption: the policy, its idle and most machines, and its money.

    `utilisation` is what reactive and scheduled policies then plan with.
    """

    what: str
    policy: Policy
    idle: int
    most: int
    utilisation: float
    money: float | None


@dataclass(frozen=True, slots=True)
class OwnedBase:
    """Owned machines below, cloud machines above: the number of owned ones with the least money.

    All money is that of a month. `total` is with `owned` machines and the cloud's by `policy`; `cloud_only` without any
    owned one, `owned_only` with as many as the load ever takes, whatever the policy. `most` machines are wanted at
    once. `own_below` and `own_above` are the costs of an owned machine below which more, and above which fewer, would
    be owned with the same policy; None if there is none. `at_loads` has the number and the total for other loads, as
    factors.
    """

    cost: float
    owned: int
    most: int
    policy: Policy
    total: float
    cloud_only: float
    owned_only: float
    own_below: float | None
    own_above: float | None
    at_loads: tuple[tuple[float, int, float], ...]


@dataclass(frozen=True, slots=True)
class ScaleAnswer:
    """The answer of a replay: choices, cheapest first, what would change the first, and owned machines if asked.

    `seconds`, `rows`, `requests`, `mean` and `peak` describe the load, rates in requests per second. `left_out` names
    machine types that cannot be replayed, and why. `currency` is empty if no price is known. `notes`, `reason` and
    `cautions` are in words.
    """

    seconds: float
    rows: int
    requests: float
    mean: float
    peak: float
    rules: Rules
    launch_time: str
    seed: int
    draws: int
    currency: str
    choices: tuple[Choice, ...]
    variants: tuple[Variant, ...]
    left_out: tuple[tuple[OfferKey, Lack], ...]
    owned: OwnedBase | None = None
    simulated: bool = False
    notes: tuple[str, ...] = ()
    reason: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()

    @property
    def best(self) -> Choice:
        """The cheapest machine type; its first policy is the answer."""
        return self.choices[0]
