"""The trials of one launch, in order, each recorded before the next one starts."""

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass

from cloudcmp.execute.commands import work_of
from cloudcmp.execute.context import Bench, Visit
from cloudcmp.execute.trial import Again, Gone, OutOfReach, Turn, lease_s, run_trial
from cloudcmp.model.plan import Candidate, Launch, PlannedTrial
from cloudcmp.model.protocol import Instance
from cloudcmp.model.trial import Attempt, Outcome, TrialResult
from cloudcmp.model.untrusted_text import one_line

TAKEN_WHY = "the machine was taken away during an earlier trial of the launch"
"""Why the rest of a launch is preempted: the same words whether or not a controller died in between."""

ASLEEP_WHY = "this machine slept during a trial"
LOST_WHY = "its machine is out of reach, and its provider does not say that it is gone"
STOPPED_WHY = "stopped on request"
OVER_WHY = "its machine's time to live is over, or too short for the next trial"

SLEPT_S = 5.0
"""How far the wall may run ahead of the monotonic clock during a trial before we say that we slept."""

_Begin = tuple[int, float]
"""The number of an attempt and its start in Unix seconds."""

Allowance = AbstractAsyncContextManager[Mapping[str, float] | None]
"""What a trial may put on the network, which is its own until it is left."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where the trials of a launch run: its machine, and its second one, if any.

    `gone` asks for evidence that one of them is gone, `again` sees to connections that may have broken, `caps` gives a
    trial between two agents what it may put on the network, perhaps only after others have ended; `left_s` tells how
    long the machine lives at least; `zones` are those of the launch's machines, where there are any.
    """

    instance: Instance
    gone: Gone
    other: Instance | None = None
    again: Again | None = None
    caps: Callable[[PlannedTrial], Allowance] = lambda _: nullcontext()
    left_s: Callable[[], float] = lambda: math.inf
    zones: Sequence[str] = ()


async def run_launch(
    bench: Bench,
    candidate: Candidate,
    launch: Launch,
    trials: Sequence[PlannedTrial],
    place: Place,
    before: Mapping[int, Outcome],
) -> Visit:
    """Run the trials of a launch that have not ended yet, on its machines.

    `trials` are all of the launch's, in order; `before` gives the outcome of those that ended by themselves in an
    earlier run. Once the machine is taken away, the rest is recorded as preempted. When told to stop, the current trial
    is the last. No trial is begun that the machine may not live to see the end of, for that end is ours and not its
    provider's. A trial whose machine is out of reach is kept as interrupted, and the rest is left.
    Raises what `place.caps`, `run_trial` and the store raise; an attempt that was begun then stays open.
    """
    bench.progress.launch(candidate.id, launch.round)
    todo = [trial for trial in trials if trial.index not in before]
    if was_taken(trials, before):
        return record_all(bench, candidate, todo, Outcome.PREEMPTED, TAKEN_WHY)
    begun: _Begin | None = None
    there: set[str] = set()
    for number_of, trial in enumerate(todo):
        rest = todo[number_of + 1 :]
        async with place.caps(trial) if _paired(bench, trial) else nullcontext() as caps:
            why = "" if begun else _not_now(bench, place, trial)
            if why or bench.stop.is_set():  # one that is begun by now is cut short, as by the end of the process
                return Visit(Outcome.ABORTED, False, why or STOPPED_WHY)
            begun = begun or begin(bench, trial)
            earlier = bench.records.earlier(trial.index)
            work = None if candidate.simulated else work_of(trial, bench.commands)
            turn = Turn(
                trial, earlier, place.instance, place.gone, place.other, place.again, caps, place.zones, work, there
            )
            result = await _awake(bench, candidate, turn, *begun)
            if isinstance(result, Visit):
                return result
            begun = _finished(bench, candidate, place, trial, begun, result, rest)
        if result.outcome is Outcome.PREEMPTED:
            record_all(bench, candidate, rest, Outcome.PREEMPTED, TAKEN_WHY)
            return Visit(Outcome.PREEMPTED, True, result.why)
    return Visit(Outcome.OK, True)


def _paired(bench: Bench, trial: PlannedTrial) -> bool:
    """Whether a trial runs between two agents."""
    return "server" in bench.probes[trial.probe].roles


def _not_now(bench: Bench, place: Place, trial: PlannedTrial) -> str:
    """Why a trial may not be begun, nothing where it may."""
    if bench.stop.is_set():
        return STOPPED_WHY
    return OVER_WHY if place.left_s() < lease_s(bench, trial) else ""


def _finished(
    bench: Bench,
    candidate: Candidate,
    place: Place,
    trial: PlannedTrial,
    begun: _Begin,
    result: TrialResult,
    rest: Sequence[PlannedTrial],
) -> _Begin | None:
    """Write how a trial ended; the attempt that is begun in the same step, where one follows that waits for nobody."""
    following = next(iter(rest), None)
    if following is not None and (
        result.outcome is Outcome.PREEMPTED or _not_now(bench, place, following) or _paired(bench, following)
    ):
        following = None
    ended_at = bench.clock.at(trial.start_s + _lasted_s(trial, result.outcome))
    begin_next = None if following is None else _next(bench, following)
    finish(bench, candidate, trial, *begun, ended_at, result, following, begin_next)
    return begin_next


async def _awake(bench: Bench, candidate: Candidate, turn: Turn, number: int, started_at: float) -> TrialResult | Visit:
    """What came of a trial; the visit's own end where it says nothing of the candidate.

    That is so where it failed and this machine slept during it, or the machine is out of reach. Such an attempt is kept
    as interrupted, like one that was cut short by the controller's own end.
    """
    slept_before_s = bench.slept_s()
    lost = False
    try:
        result = await run_trial(bench, turn)
    except OutOfReach as fault:
        lost, result = True, TrialResult(Outcome.ABORTED, (), str(fault))
    slept_s = bench.slept_s() - slept_before_s
    if result.outcome is not Outcome.OK and slept_s >= SLEPT_S:
        told = f"this machine slept for {slept_s:.0f} s during it ({result.why})"
        interrupt(bench, candidate, turn.trial, number, started_at, told, result.facts)
        return Visit(Outcome.ABORTED, False, ASLEEP_WHY)
    if lost:
        interrupt(bench, candidate, turn.trial, number, started_at, result.why, result.facts)
        return Visit(Outcome.ABORTED, False, LOST_WHY)
    return result


def interrupt(
    bench: Bench, candidate: Candidate, trial: PlannedTrial, number: int, started_at: float, why: str, facts: str
) -> None:
    """Write that an attempt was cut short by what is not the candidate's: the trial is left to be run again."""
    attempt = Attempt(
        trial=trial.index,
        attempt=number,
        outcome=Outcome.ABORTED,
        started_at=started_at,
        ended_at=bench.clock.at(trial.start_s),
        why=one_line(why),
        interrupted=True,
        facts=facts,
    )
    bench.records.finish_attempt(attempt, ())
    bench.progress.note(f"{candidate.id}: {trial.probe}: {why}")


def record_all(bench: Bench, candidate: Candidate, trials: Sequence[PlannedTrial], outcome: Outcome, why: str) -> Visit:
    """Give each trial an attempt with an outcome that is not ok: for a machine that never came, or went; say why."""
    line = one_line(why)
    if trials:
        bench.progress.note(f"{candidate.id}: {line}")
    for trial in trials:
        number, started_at = begin(bench, trial)
        finish(bench, candidate, trial, number, started_at, started_at, TrialResult(outcome, (), line), None, None)
    return Visit(outcome, True, line)


def set_aside(bench: Bench, candidate: Candidate, trials: Sequence[PlannedTrial], why: str) -> None:
    """Keep an interrupted attempt of each trial that could not be timed for what is not the candidate's doing."""
    for trial in trials:
        interrupt(bench, candidate, trial, *begin(bench, trial), why, "")


def was_taken(trials: Sequence[PlannedTrial], before: Mapping[int, Outcome]) -> bool:
    """Whether an earlier run lost the launch's machine: then no other one may stand in for it."""
    return any(before.get(trial.index) is Outcome.PREEMPTED for trial in trials)


def _next(bench: Bench, trial: PlannedTrial) -> _Begin:
    return bench.records.next_attempt(trial.index), bench.clock.at(trial.start_s)


def begin(bench: Bench, trial: PlannedTrial) -> tuple[int, float]:
    """Write that the next attempt at a trial starts; its number and its start in Unix seconds."""
    number, started_at = _next(bench, trial)
    bench.records.begin_attempt(trial.index, number, started_at)
    return number, started_at


def finish(
    bench: Bench,
    candidate: Candidate,
    trial: PlannedTrial,
    number: int,
    started_at: float,
    ended_at: float,
    result: TrialResult,
    following: PlannedTrial | None,
    begun: _Begin | None,
) -> None:
    """Write how an attempt ended, and in the same step that the following one starts, where there is one."""
    facts = result.facts
    if result.texts:
        facts = bench.records.keep_output(trial.index, number, dict(result.texts), facts)
    attempt = Attempt(
        trial=trial.index,
        attempt=number,
        outcome=result.outcome,
        started_at=started_at,
        ended_at=ended_at,
        why=result.why,
        facts=facts,
    )
    begin_next = (following.index, *begun) if following is not None and begun is not None else None
    bench.records.finish_attempt(attempt, result.samples, begin_next=begin_next)
    bench.progress.trial(candidate.id, trial, result.outcome, result.why)


def _lasted_s(trial: PlannedTrial, outcome: Outcome) -> float:
    """How long the trial took, where time is planned."""
    return trial.deadline_s if outcome is Outcome.TIMEOUT else trial.expected_s
