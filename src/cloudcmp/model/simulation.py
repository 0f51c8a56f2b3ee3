"""What simulations of a world-wide service give: response times, costs, and what a search among data centres found."""

from dataclasses import dataclass
from enum import StrEnum

from cloudcmp.model.scenario import Scenario
from cloudcmp.units import Money


@dataclass(frozen=True, slots=True)
class RunMean:
    """The mean of independent runs with its 95 % interval, which one run does not have.

    The interval is that of the simulation alone: it says nothing of how far the model is from the world.
    """

    value: float
    low: float | None
    high: float | None
    n: int


@dataclass(frozen=True, slots=True)
class BaseTimes:
    """Response times of a base's requests in seconds; `lowest` and `highest` are of all runs.

    `hours` has the mean of each hour of the day (UTC), None without requests. `within` is the share of requests within
    the search's target, None without one. `requests` is the mean number of a run.
    """

    base: str
    mean: RunMean
    lowest: float
    highest: float
    requests: float
    hours: tuple[RunMean | None, ...]
    within: RunMean | None = None


@dataclass(frozen=True, slots=True)
class CentreUse:
    """The work of a data centre in a mean run; `processing` is the time from a request's arrival to its reply.

    `busy` is the processor time that its requests need over that of its machines. Costs are None if the price is
    unknown.
    """

    centre: str
    machines: int
    processing: RunMean | None
    requests: float
    bytes: float
    machine_hours: float
    busy: float
    machine_cost: Money | None
    transfer_cost: Money | None


@dataclass(frozen=True, slots=True)
class DeploymentTimes:
    """How data centres that serve together did; `overall` is weighted by requests. `cost` is None if any is unknown."""

    name: str
    overall: RunMean
    lowest: float
    highest: float
    bases: tuple[BaseTimes, ...]
    centres: tuple[CentreUse, ...]
    cost: Money | None
    within: RunMean | None = None

    @property
    def overloaded(self) -> tuple[str, ...]:
        """The centres of which more is asked than their machines can do: their queues grow, and no mean holds."""
        return tuple(one.centre for one in self.centres if one.busy >= 1)


@dataclass(frozen=True, slots=True)
class PrintedMean:
    """A published mean beside the simulated one, both in seconds; `row` is as printed."""

    deployment: str
    row: str
    printed: float
    simulated: RunMean

    @property
    def difference(self) -> float:
        """The simulated mean over the printed one, less 1."""
        return self.simulated.value / self.printed - 1


@dataclass(frozen=True, slots=True)
class Outcome:
    """All deployments of a scenario, or of a variant of it."""

    deployments: tuple[DeploymentTimes, ...]
    printed: tuple[PrintedMean, ...] = ()
    name: str = ""
    why: str = ""


class Reach(StrEnum):
    """Whether a set of data centres meets what is looked for."""

    MEETS = "meets"
    MISSES = "misses"
    CANNOT_TELL = "cannot tell"
    """The target is within the simulation's own interval."""


@dataclass(frozen=True, slots=True)
class SetOption:
    """A set of data centres in a search: the base that is furthest from the target, and whether it is met.

    `figure` is the mean response time in seconds, or the share of requests within the target. An `overloaded` set is
    asked for more than its machines can do: its figures are those of the simulated span alone, and it misses any need.
    """

    centres: tuple[str, ...]
    worst: str
    figure: RunMean
    overall: RunMean
    cost: Money | None
    reach: Reach
    overloaded: bool = False


class SearchLack(StrEnum):
    """Why a search names no set."""

    NONE_MEETS = "NONE_MEETS"
    UNDECIDED = "UNDECIDED"
    """A cheaper set, or a faster one, may meet the target: its interval holds it."""


@dataclass(frozen=True, slots=True)
class Found:
    """The sets of a search, the best first; `choice` is None with a `lack`."""

    options: tuple[SetOption, ...]
    choice: SetOption | None
    lack: SearchLack | None = None


@dataclass(frozen=True, slots=True)
class Simulation:
    """A simulated scenario: its outcome, that of its variants, and what its search found. All numbers are simulated."""

    scenario: Scenario
    outcome: Outcome
    variants: tuple[Outcome, ...] = ()
    found: Found | None = None
    cautions: tuple[str, ...] = ()
