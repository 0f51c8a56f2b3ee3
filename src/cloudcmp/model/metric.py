"""What is measured, and what measures it, as data."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from cloudcmp.model.cast import PASSIVE, Role


class Better(StrEnum):
    """The direction in which a metric improves."""

    HIGHER = "higher"
    LOWER = "lower"


class Group(StrEnum):
    """The four services that every cloud sells."""

    COMPUTE = "compute"
    STORAGE = "storage"
    NETWORK = "network"
    WAN = "wan"


class Reduce(StrEnum):
    """How the samples of one trial become its value of a cell.

    median: the median of the samples. total: samples are rates over consecutive intervals that end at `t_s`;
    the value is the whole run's total over its time. percentile: read from the histograms.
    """

    MEDIAN = "median"
    TOTAL = "total"
    PERCENTILE = "percentile"


@dataclass(frozen=True, slots=True)
class Metric:
    """A measured quantity: name with its unit in it, unit, direction, and the parameters that make it a cell.

    `free` are parameters that no probe takes: one trial gives a cell for each of their values. Where the metric is
    `sparse`, a trial may end well without some of them: what did not happen in it has no value.
    """

    name: str
    unit: str
    better: Better
    group: Group
    reduce: Reduce
    params: tuple[str, ...]
    doc: str
    excludes: str
    typical: float
    signed: bool = False
    free: tuple[tuple[str, tuple[str, ...]], ...] = ()
    sparse: bool = False


class ParamKind(StrEnum):
    """What a probe's parameter holds."""

    CHOICE = "choice"
    COUNT = "count"
    BYTES = "bytes"
    SECONDS = "seconds"
    THREADS = "threads"
    RATE = "rate"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class Param:
    """A parameter of a probe. `words` are allowed beside a number of the kind (or are the only choices).

    `short` is what a short study takes instead: where it is less than the number that is asked, or always for a word.
    """

    name: str
    kind: ParamKind
    default: str
    doc: str
    words: tuple[str, ...] = ()
    short: str | None = None


class When(StrEnum):
    """When in a launch a probe has its turn: as the machine comes, among the others, after them, or as it goes."""

    ARRIVAL = "arrival"
    DURING = "during"
    LAST = "last"
    RELEASE = "release"


@dataclass(frozen=True, slots=True)
class Probe:
    """One way to measure. `built` is false while only the simulated provider can answer it.

    `roles` are those of a trial's cast; a probe of the controller gives one value a launch. `typical_s` is
    what a run takes where nothing else is known; `expected_s` tells it of filled parameters, where they decide.
    `refusal` tells what is wrong with filled parameters that do not go together, and what next; empty texts where
    nothing is. `by` is the agent's probe that runs it, where that has another name. `no_peer` says why no figure of
    benchmarks/ sets it beside another tool; it is empty where one does.
    """

    name: str
    metrics: tuple[str, ...]
    params: tuple[Param, ...]
    doc: str
    excludes: str
    typical_s: float
    roles: tuple[Role, ...] = (Role.SOLO,)
    built: bool = True
    when: When = When.DURING
    expected_s: Callable[[Mapping[str, str]], float] | None = None
    refusal: Callable[[Mapping[str, str]], tuple[str, str]] | None = None
    by: str = ""
    no_peer: str = ""

    @property
    def agents(self) -> int:
        """How many of its roles agents play."""
        return sum(role not in PASSIVE for role in self.roles)

    @property
    def by_controller(self) -> bool:
        """Whether no agent runs it."""
        return Role.CONTROLLER in self.roles


@dataclass(frozen=True, slots=True)
class Suite:
    """A named set of probes with parameters; a parameter may hold several values, which are all run."""

    name: str
    probes: tuple[tuple[str, tuple[tuple[str, tuple[str, ...]], ...]], ...]
    doc: str
