"""Metrics, probes and suites, as data."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from cloudcmp.model.cast import HERE, PASSIVE, WRITER, Role


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

    `free` are parameters that no probe takes: one trial gives a cell for each of their values. A trial may succeed
    without some cells of a `sparse` metric: events that did not happen have no value.
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

    def why_without(self, missing: int, started: int) -> str:
        """Why some of the trials that were started have no value."""
        return f"{missing} of {started} trials {'gave no value' if self.sparse else 'failed'}"

    @property
    def is_task(self) -> bool:
        """True for the finishing time of a task: `..._time_s`, in seconds, lower is better, above zero."""
        finishing = self.unit == "s" and self.name.endswith("_time_s")
        return finishing and self.better is Better.LOWER and not self.signed

    @property
    def is_score(self) -> bool:
        """True for a score, which is no amount of work: its work for money is the score at a price of 1 an hour."""
        return self._is_done_by_machine and self.unit in {"index", "score"}

    @property
    def is_rate(self) -> bool:
        """True for work of the machine itself in a second, which an hour's price pays for.

        False for storage services and networks: their operations and traffic have prices of their own.
        """
        return self._is_done_by_machine and self.unit.endswith("/s")

    @property
    def is_work(self) -> bool:
        """True if there is work for money: a rate, a score or the finishing time of a task."""
        return self.is_task or self.is_score or self.is_rate

    @property
    def _is_done_by_machine(self) -> bool:
        return self.better is Better.HIGHER and not self.signed and self.group is Group.COMPUTE


OVERALL = Metric(
    "overall_index", "index", Better.HIGHER, Group.COMPUTE, Reduce.MEDIAN, (),
    "Geometric mean of a study's metrics with the weights that it declares; the first candidate has 100.",
    "Anything without a weight.",
    100.0,
)  # fmt: skip
"""The metric of a study's own overall index, which no probe measures."""


class ParamKind(StrEnum):
    """The kind of value of a probe's parameter."""

    CHOICE = "choice"
    COUNT = "count"
    BYTES = "bytes"
    SECONDS = "seconds"
    THREADS = "threads"
    RATE = "rate"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class Param:
    """A parameter of a probe. `words` are allowed besides a number of the kind (or are the only choices).

    `short` is the value in a short study: if it is less than the requested number, or always for a word. A cell does
    not name the default of an `implied` parameter.
    """

    name: str
    kind: ParamKind
    default: str
    doc: str
    words: tuple[str, ...] = ()
    short: str | None = None
    implied: bool = False


class When(StrEnum):
    """The phase of a probe within a launch: on the machine's arrival, among other trials, after them, or on release."""

    ARRIVAL = "arrival"
    DURING = "during"
    LAST = "last"
    RELEASE = "release"


@dataclass(frozen=True, slots=True)
class Probe:
    """One way to measure.

    `roles` are those of a trial's cast; a probe of the controller gives one value per launch. `typical_s` is the usual
    length of a run; `expected_s` computes it from filled parameters, if they matter. `refusal` returns the fault of
    filled parameters that do not fit together, and the advice; two empty texts if they fit. `by` is the agent's probe
    that runs it, if that has another name. `no_peer` says why no benchmark in benchmarks/ compares it with another
    tool; it is empty if one does.
    """

    name: str
    metrics: tuple[str, ...]
    params: tuple[Param, ...]
    doc: str
    excludes: str
    typical_s: float
    roles: tuple[Role, ...] = (Role.SOLO,)
    when: When = When.DURING
    expected_s: Callable[[Mapping[str, str]], float] | None = None
    refusal: Callable[[Mapping[str, str]], tuple[str, str]] | None = None
    by: str = ""
    no_peer: str = ""

    def roles_of(self, params: Mapping[str, str]) -> tuple[Role, ...]:
        """The roles of a trial with these parameters: a service has a server beside its client only to write."""
        alone = Role.SERVICE in self.roles and params.get(WRITER, HERE) == HERE
        return tuple(role for role in self.roles if not (alone and role is Role.SERVER))

    def agents_of(self, params: Mapping[str, str]) -> int:
        """The number of agents in a trial with these parameters."""
        return sum(role not in PASSIVE for role in self.roles_of(params))

    @property
    def by_controller(self) -> bool:
        """True if the controller measures it, without an agent."""
        return Role.CONTROLLER in self.roles


@dataclass(frozen=True, slots=True)
class Suite:
    """A named set of probes with parameters; each value of a parameter is run."""

    name: str
    probes: tuple[tuple[str, tuple[tuple[str, tuple[str, ...]], ...]], ...]
    doc: str
