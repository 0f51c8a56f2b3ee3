"""An application by its demands: what a page, a job or a program takes of processors, disks, networks and services."""

from dataclasses import dataclass
from enum import StrEnum

from cloudcmp.model.market import OfferKey


class ApplicationKind(StrEnum):
    """What is predicted: the response time of pages or static files, or the finishing time of jobs or a program."""

    PAGES = "pages"
    JOBS = "jobs"
    STATIC = "static"
    PROGRAM = "program"


class Way(StrEnum):
    """How an amount becomes a time on a candidate."""

    CPU = "cpu"
    """Seconds of one processor of the home machine, scaled by how much slower or faster a candidate is."""
    COUNT = "count"
    """A number of operations, each with the latency of a cell."""
    BYTES = "bytes"
    """Bytes at the rate of a cell."""
    FIXED = "fixed"
    """Seconds of waiting, the same everywhere."""


@dataclass(frozen=True, slots=True)
class CellWish:
    """A metric with the parameters that a cell must have, and those that it has if there is a choice."""

    metric: str
    must: tuple[tuple[str, str], ...] = ()
    rather: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        params = ";".join(f"{key}={value}" for key, value in self.must)
        return f"{self.metric} {params}".rstrip()


@dataclass(frozen=True, slots=True)
class Demand:
    """An amount of one resource; `cell` measures the resource, None for a processor and for waiting.

    The amount is in seconds, operations or bytes, as `way` says. `whole` is a cell that measures all of the amount at
    once: it counts wherever it was measured.
    """

    name: str
    way: Way
    amount: float
    cell: CellWish | None = None
    whole: CellWish | None = None


@dataclass(frozen=True, slots=True)
class Charged:
    """Operations of a service that are billed one by one; `size_bytes` is 0 for a row of a table."""

    op: str
    count: float
    size_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Part:
    """One page, job, file or program: what one of it takes, and its weight in the mean of all parts.

    A job has `tasks` that take the demands each, one after the other on each of its `workers`, which are machines.
    `moves_out` is true if bytes leave the cloud, whose price is not known here. What is fetched `from_everywhere` is
    fetched from each vantage point of the sources equally often.
    """

    name: str
    demands: tuple[Demand, ...]
    charged: tuple[Charged, ...] = ()
    weight: float = 1.0
    tasks: int = 1
    workers: int = 1
    moves_out: bool = False
    from_everywhere: bool = False


@dataclass(frozen=True, slots=True)
class Ran:
    """A time that the application really took on a machine."""

    key: OfferKey
    time_s: float


@dataclass(frozen=True, slots=True)
class Application:
    """The demands of an application, and where they were measured.

    `home` is the machine whose processor seconds are in the demands, None if there are none. `elapsed_s` is what the
    program took there. `parallel` are shares of the processor seconds by how many threads could run at once. `ran_cell`
    is the column of the sources that holds the application's own time. `benchmarks` are the columns that may explain
    its processor time; without any, those that are known to measure processors and memory. `blocked_s` is the part of
    `elapsed_s` in which no thread could run. `moved_bytes` is what the processor fetched from memory, None if unknown.
    """

    name: str
    kind: ApplicationKind
    parts: tuple[Part, ...]
    home: OfferKey | None = None
    elapsed_s: float | None = None
    blocked_s: float = 0.0
    parallel: tuple[tuple[int, float], ...] = ((1, 1.0),)
    memory_bytes: float | None = None
    moved_bytes: float | None = None
    benchmarks: tuple[str, ...] = ()
    ran: tuple[Ran, ...] = ()
    ran_cell: str = ""
