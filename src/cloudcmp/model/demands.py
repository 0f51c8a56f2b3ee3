"""The demands of a program that was run here, as they were counted."""

from dataclasses import dataclass
from enum import StrEnum

from cloudcmp.model.market import OfferKey
from cloudcmp.model.result import Bounds


class Counter(StrEnum):
    """What is counted of a run; the unit of each is in `UNITS`.

    `waited` is how long threads were ready and had no processor, `blocked` the time in which no thread could run.
    """

    ELAPSED = "elapsed"
    USER = "user"
    SYSTEM = "system"
    WAITED = "waited"
    BLOCKED = "blocked"
    MEMORY = "memory"
    READ = "read"
    WRITTEN = "written"
    READS = "reads"
    WRITES = "writes"
    RECEIVED = "received"
    SENT = "sent"
    VOLUNTARY = "voluntary"
    INVOLUNTARY = "involuntary"
    INSTRUCTIONS = "instructions"
    CYCLES = "cycles"
    CACHE_MISSES = "cache_misses"


UNITS = {
    Counter.ELAPSED: "s",
    Counter.USER: "s",
    Counter.SYSTEM: "s",
    Counter.WAITED: "s",
    Counter.BLOCKED: "s",
    Counter.MEMORY: "B",
    Counter.READ: "B",
    Counter.WRITTEN: "B",
    Counter.RECEIVED: "B",
    Counter.SENT: "B",
}
"""The unit of each counter; what is not here is a number of events."""


@dataclass(frozen=True, slots=True)
class Missing:
    """Counters that a run could not read, and why."""

    counters: tuple[Counter, ...]
    why: str


@dataclass(frozen=True, slots=True)
class ThreadTime:
    """The processor seconds of one thread, with the name of its program."""

    name: str
    cpu_s: float


@dataclass(frozen=True, slots=True)
class ProgramRun:
    """One run of a program: its counters, its exit code, and its threads, the busiest first.

    `parallel` are shares of the processor seconds by how many threads could run at once. `unseen_s` are processor
    seconds of processes that began and ended between two looks: they have no thread.
    """

    counters: tuple[tuple[Counter, float], ...]
    code: int
    threads: tuple[ThreadTime, ...]
    parallel: tuple[tuple[int, float], ...]
    unseen_s: float
    missing: tuple[Missing, ...]


@dataclass(frozen=True, slots=True)
class Figure:
    """The mean of a counter over runs, with its 95 % interval; None from a single run."""

    counter: Counter
    mean: float
    bounds: Bounds | None
    n: int

    @property
    def unit(self) -> str:
        """The unit, empty for events."""
        return UNITS.get(self.counter, "")


@dataclass(frozen=True, slots=True)
class ProgramDemands:
    """The demands of a program over its runs, on this machine.

    `threads` and `parallel` are of the last run and of all runs. `missing` says what could not be read.
    """

    name: str
    command: tuple[str, ...]
    home: OfferKey
    cpus: int
    cpu_model: str
    runs: int
    figures: tuple[Figure, ...]
    threads: tuple[ThreadTime, ...]
    parallel: tuple[tuple[int, float], ...]
    unseen_s: float
    missing: tuple[Missing, ...]
    cautions: tuple[str, ...] = ()

    def mean(self, counter: Counter) -> float | None:
        """The mean of a counter; None if it is missing."""
        return next((one.mean for one in self.figures if one.counter is counter), None)
