"""The contexts of a running study, one per level: the run, one launch, its trials."""

import asyncio
import math
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from cloudcmp.execute.vantages import Vantages
from cloudcmp.model.cast import REGIONS, SAME_ZONE, ZONES, traffic_path
from cloudcmp.model.command import Command
from cloudcmp.model.metric import Metric, Probe, When
from cloudcmp.model.plan import Candidate, Launch, Plan, PlannedTrial
from cloudcmp.model.protocol import Clock, Progress, Provider
from cloudcmp.model.trial import Attempt, LaunchReason, Outcome, Sample
from cloudcmp.provision import Guard, Machine, Placement, ProvisionContext, Stopwatch
from cloudcmp.store import StudyStore

SLEPT_S = 5.0
"""If this machine sleeps longer during a trial or a wait, the result does not count against the candidate."""


class Records(Protocol):
    """The part of the store that trials need. Written data survives a crash once the method returns."""

    def next_attempt(self, trial: int) -> int:
        """The number of the next attempt at a trial."""

    def earlier(self, trial: int) -> int:
        """The number of attempts at a trial that ended by themselves."""

    def begin_attempt(self, trial: int, attempt: int, started_at: float) -> None:
        """Writes that an attempt starts."""

    def keep_output(self, trial: int, attempt: int, texts: Mapping[str, str], facts: str) -> str:
        """Writes the output of a command in an attempt; returns the facts with the name of the file."""

    def finish_attempt(
        self, attempt: Attempt, samples_of: Sequence[Sample], *, begin_next: tuple[int, int, float] | None = None
    ) -> Attempt:
        """Writes the end of an attempt, with its samples, and the start of the next one."""


def _secret() -> str:
    return secrets.token_hex(32)


def _slept_s() -> float:
    """The time that this machine has slept since it booted: one clock counts sleep, the other does not."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) - time.monotonic()


@dataclass(frozen=True, slots=True)
class TrialContext:
    """The context of trials: records, tables, clock, progress, and the signal to stop.

    `read_histogram` raises ValueError for an unreadable histogram. `stop` ends the launch after the current trial.
    `grace_s` is the controller's wait beyond a trial's own deadline. `secret` returns 64 hex digits for one trial;
    `slept_s` returns the total time that this machine has been asleep. `commands` are those of the plan.
    """

    records: Records
    metrics: Mapping[str, Metric]
    probes: Mapping[str, Probe]
    clock: Clock
    progress: Progress
    read_histogram: Callable[[str], object]
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    grace_s: float = 2.0
    secret: Callable[[], str] = _secret
    slept_s: Callable[[], float] = _slept_s
    commands: Sequence[Command] = ()


@dataclass(frozen=True, slots=True)
class LaunchResult:
    """The end of a launch: `finished` is false if trials are left to be run again; `why` is one line, or empty."""

    outcome: Outcome
    finished: bool
    why: str = ""
    reason: LaunchReason | None = None


@dataclass(slots=True)
class Halt:
    """Why a study ends early, other than by a signal.

    `why` holds for every launch that has not begun; `later` has a line for each launch that was postponed. `fault` is
    true if something outside must be repaired first, and not only money or time has run out.
    """

    why: str = ""
    fault: bool = False
    later: list[str] = field(default_factory=list)

    def summary(self) -> str:
        """All reasons in one line; empty if the study ran to its end."""
        lines = [self.why] if self.why else []
        if self.later:
            lines.append(f"{len(self.later)} launch{'es' if len(self.later) > 1 else ''} put off: {self.later[0]}")
        return "; ".join(lines)


Replan = Callable[[StudyStore, int], None]
"""Changes the rounds of a study's plan after a number of them: ends it there, or measures fewer candidates."""


def never(_store: StudyStore, _rounds: int) -> None:
    """The plan stays as it is."""


@dataclass(frozen=True, slots=True)
class RunContext:
    """A study while it runs; `wait` sleeps until the next round may start, and `until` is the Unix time from which none
    starts.

    `plan` is the one at its start: `replan` changes the rounds that have not begun, in the store's plan.
    """

    plan: Plan
    store: StudyStore
    providers: Mapping[str, Provider]
    provisioning: ProvisionContext
    trials: TrialContext
    guard: Guard
    halt: Halt
    replan: Replan = never
    wait: bool = False
    until: float = math.inf

    def stop_all(self, why: str, reason: LaunchReason) -> LaunchResult:
        """Ends a launch for a reason that holds for all others: no new launch begins, running ones finish.

        The first reason is kept: later ones usually have the same cause.
        """
        self.halt.fault |= not self.halt.why
        self.launch_no_more(why)
        return LaunchResult(Outcome.ABORTED, False, why, reason)

    def launch_no_more(self, why: str) -> None:
        """Prevents any further launch: the money is spent, or soon will be."""
        self.halt.why = self.halt.why or why

    def over(self) -> str:
        """Why the run does not wait for a further round; empty as long as it does."""
        return self.halt.why or ("stopped on request, while waiting" if self.trials.stop.is_set() else "")

    def postpone(self, why: str, reason: LaunchReason) -> LaunchResult:
        """Leaves a launch for --resume; the others continue."""
        self.halt.fault = True
        self.halt.later.append(why)
        self.trials.progress.note(f"put off: {why}")
        return LaunchResult(Outcome.ABORTED, False, why, reason)


@dataclass(frozen=True, slots=True)
class TrialsByTurn:
    """A launch's trials by their phase; `during` are those of agents, and all trials of a simulated launch."""

    arrival: tuple[PlannedTrial, ...]
    during: tuple[PlannedTrial, ...]
    last: tuple[PlannedTrial, ...]
    release: tuple[PlannedTrial, ...]

    @classmethod
    def of(cls, probes: Mapping[str, Probe], candidate: Candidate, trials: Sequence[PlannedTrial]) -> "TrialsByTurn":
        """The trials by phase, each list in plan order; a simulated machine itself answers the controller's trials."""

        def at(turn: When) -> tuple[PlannedTrial, ...]:
            some = (one for one in trials if (When.DURING if candidate.simulated else probes[one.probe].when) is turn)
            return tuple(some)

        return cls(at(When.ARRIVAL), at(When.DURING), at(When.LAST), at(When.RELEASE))


@dataclass(slots=True)
class LaunchContext:
    """A running launch: its machines as they are now, its vantage points, and the stopwatches of requested machines.

    `before` holds the outcomes of trials that ended in an earlier run. `began_s` and `slept_s` are the monotonic clock
    and the count of sleep at the moment when its time to live was granted; sleep is counted anew during teardown.
    """

    run: RunContext
    provider: Provider
    candidate: Candidate
    launch: Launch
    turns: TrialsByTurn
    before: Mapping[int, Outcome]
    ttl_s: float
    count: int
    watches: list[Stopwatch]
    began_s: float
    slept_s: float
    machines: tuple[Machine, ...] = ()
    vantages: Vantages = field(default_factory=Vantages)

    def asleep_s(self) -> float:
        """The time that this machine has slept since the launch, or its teardown, began."""
        return self.run.trials.slept_s() - self.slept_s

    def left_s(self) -> float:
        """The least remaining life of the machines; infinite if nothing ends them by themselves."""
        if self.candidate.simulated:
            return math.inf
        return self.ttl_s - (self.run.provisioning.connector.time.monotonic() - self.began_s) - self.asleep_s()

    def left(self, trials: Sequence[PlannedTrial]) -> list[PlannedTrial]:
        """The trials that have not ended by themselves in an earlier run."""
        return [trial for trial in trials if trial.index not in self.before]

    def placement(self) -> Placement:
        """Where the trials need the machines: in one zone, all but the first in another zone or region, or anywhere."""
        paths = {traffic_path(dict(trial.params), single=self.count < 2) for trial in self.turns.during}
        far_zone = self.candidate.far_zone if ZONES in paths else ""
        return Placement(SAME_ZONE in paths, far_zone, self.candidate.far is not None and REGIONS in paths)

    def sleep_note(self) -> str:
        """A line if this machine slept since the launch, or its teardown, began; else empty."""
        asleep_s = self.asleep_s()
        if asleep_s < SLEPT_S or self.candidate.simulated:
            return ""
        return f"this machine slept for {asleep_s:.0f} s during it"

    def blind(self) -> bool:
        """True if the provider was unreachable for a while during the arrival of the machines."""
        return any(watch.blind for watch in self.watches)
