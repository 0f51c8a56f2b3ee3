"""Who works on a study together, and one launch while it is carried out."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from cloudcmp.execute.context import Bench, Visit
from cloudcmp.execute.lifecycle.timing import Staged
from cloudcmp.execute.trials import SLEPT_S
from cloudcmp.model.lease import ZONE
from cloudcmp.model.plan import Candidate, Launch, Plan, PlannedTrial
from cloudcmp.model.protocol import Provider
from cloudcmp.model.trial import Outcome
from cloudcmp.provision import Guard, Machine, ProvisionContext, Stopwatch
from cloudcmp.store import StudyStore


@dataclass(slots=True)
class Halt:
    """Why a study ends before its time, where it is not a signal that says so.

    `why` holds for every launch that is not yet begun; `later` has a line for each launch that was put off. `fault`:
    something outside is wrong that must be mended, and not only money or time that is over.
    """

    why: str = ""
    fault: bool = False
    later: list[str] = field(default_factory=list)

    def told(self) -> str:
        """All of it in a line, empty where the study came to its end."""
        told = [self.why] if self.why else []
        if self.later:
            told.append(f"{len(self.later)} launch{'es' if len(self.later) > 1 else ''} put off: {self.later[0]}")
        return "; ".join(told)


@dataclass(frozen=True, slots=True)
class RunContext:
    """All that works on a study together; `wait` sleeps until the next session opens."""

    plan: Plan
    store: StudyStore
    providers: Mapping[str, Provider]
    office: ProvisionContext
    bench: Bench
    guard: Guard
    halt: Halt
    wait: bool = False

    def stopped(self, why: str) -> Visit:
        """A launch that ends for a reason that all others share: no new one is begun, those that run come to their end.

        What was told first stays: what follows is most often of the same cause.
        """
        self.halt.fault |= not self.halt.why
        self.spent(why)
        return Visit(Outcome.ABORTED, False, why)

    def spent(self, why: str) -> None:
        """No launch is begun any more, for want of money."""
        self.halt.why = self.halt.why or why

    def over(self) -> str:
        """Why no further round is waited for; empty as long as one is."""
        return self.halt.why or ("stopped on request, while waiting" if self.bench.stop.is_set() else "")

    def put_off(self, why: str) -> Visit:
        """A launch that is left to be asked for again with --resume; the others go on."""
        self.halt.fault = True
        self.halt.later.append(why)
        self.bench.progress.note(f"put off: {why}")
        return Visit(Outcome.ABORTED, False, why)


@dataclass(slots=True)
class Stay:
    """A launch while it is carried out: its machines, as they are now, and how far those came that did not.

    `began_s` and `slept_s` are what the clock and the count of sleep said when its time to live was allowed; sleep is
    counted anew while it is torn down.
    """

    crew: RunContext
    provider: Provider
    candidate: Candidate
    launch: Launch
    turns: Staged
    before: Mapping[int, Outcome]
    ttl_s: float
    count: int
    watches: list[Stopwatch]
    began_s: float
    slept_s: float
    machines: tuple[Machine, ...] = ()

    def asleep_s(self) -> float:
        """How long this machine has slept since the launch, or its end, began."""
        return self.crew.bench.slept_s() - self.slept_s

    def left_s(self) -> float:
        """How long the machines live at least; without end where nobody sees to it that they die."""
        if self.candidate.simulated:
            return math.inf
        return self.ttl_s - (self.crew.office.ways.time.monotonic() - self.began_s) - self.asleep_s()

    def left(self, trials: Sequence[PlannedTrial]) -> list[PlannedTrial]:
        """The trials that have not ended by themselves in an earlier run."""
        return [trial for trial in trials if trial.index not in self.before]

    def one_zone(self) -> bool:
        """Whether trials rest on it that all machines stand in one zone."""
        return any(dict(trial.params).get("path") == ZONE for trial in self.turns.visit)

    def slept(self) -> str:
        """That this machine slept since the launch, or its end, began; nothing where it did not."""
        asleep_s = self.asleep_s()
        if asleep_s < SLEPT_S or self.candidate.simulated:
            return ""
        return f"this machine slept for {asleep_s:.0f} s during it"
