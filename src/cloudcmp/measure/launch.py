"""The trials of one launch, in order, each recorded before the next one starts."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from cloudcmp.agent import clean
from cloudcmp.measure.bench import Bench, Visit
from cloudcmp.measure.trial import Again, Gone, Turn, lease_s, run_trial
from cloudcmp.model.plan import Candidate, Launch, PlannedTrial
from cloudcmp.model.protocol import Instance
from cloudcmp.model.trial import Attempt, Outcome, TrialResult

TAKEN_WHY = "the machine was taken away during an earlier trial of the launch"
"""Why the rest of a launch is preempted: the same words whether or not a controller died in between."""

ASLEEP_WHY = "this machine slept during a trial"
OVER_WHY = "its machine's time to live is over, or too short for the next trial"

SLEPT_S = 5.0
"""How far the wall may run ahead of the monotonic clock during a trial before we say that we slept."""

_Begin = tuple[int, float]
"""The number of an attempt and its start in Unix seconds."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where the trials of a launch run: its machine, and its second one, if any.

    `gone` asks for evidence that the first is gone, `again` sees to connections that may have broken, `caps` tells what
    the next trial between the two may put on the network, `left_s` how long the machine lives at least.
    """

    instance: Instance
    gone: Gone
    other: Instance | None = None
    again: Again | None = None
    caps: Callable[[], Mapping[str, float] | None] = lambda: None
    left_s: Callable[[], float] = lambda: math.inf


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
    provider's.
    Raises what `run_trial` and the store raise; an attempt that was begun then stays open.
    """
    bench.progress.launch(candidate.id, launch.round)
    todo = [trial for trial in trials if trial.index not in before]
    if was_taken(trials, before):
        return record_all(bench, candidate, todo, Outcome.PREEMPTED, TAKEN_WHY)
    begun: _Begin | None = None
    for number_of, trial in enumerate(todo):
        if bench.stop.is_set():
            return Visit(Outcome.ABORTED, False, "stopped on request")
        if begun is None and place.left_s() < lease_s(bench, trial):
            return Visit(Outcome.ABORTED, False, OVER_WHY)
        number, started_at = begin(bench, trial) if begun is None else begun
        earlier = bench.records.earlier(trial.index)
        turn = Turn(trial, earlier, place.instance, place.gone, place.other, place.again, place.caps())
        result = await _awake(bench, candidate, turn, number, started_at)
        if result is None:
            return Visit(Outcome.ABORTED, False, ASLEEP_WHY)
        taken = result.outcome is Outcome.PREEMPTED
        following = None if taken or bench.stop.is_set() else next(iter(todo[number_of + 1 :]), None)
        if following is not None and place.left_s() < lease_s(bench, following):
            following = None
        ended_at = bench.clock.at(trial.start_s + _lasted_s(trial, result.outcome))
        begun = None if following is None else _next(bench, following)
        finish(bench, candidate, trial, number, started_at, ended_at, result, following, begun)
        if taken:
            record_all(bench, candidate, todo[number_of + 1 :], Outcome.PREEMPTED, TAKEN_WHY)
            return Visit(Outcome.PREEMPTED, True, result.why)
    return Visit(Outcome.OK, True)


async def _awake(bench: Bench, candidate: Candidate, turn: Turn, number: int, started_at: float) -> TrialResult | None:
    """What came of a trial; None where this machine slept during it and it failed: that says nothing of the candidate.

    Such an attempt is kept as interrupted, like one that was cut short by the controller's own end.
    """
    slept_before_s = bench.slept_s()
    result = await run_trial(bench, turn)
    slept_s = bench.slept_s() - slept_before_s
    if result.outcome is Outcome.OK or slept_s < SLEPT_S:
        return result
    why = f"this machine slept for {slept_s:.0f} s during it ({result.why})"
    bench.records.finish_attempt(
        Attempt(
            trial=turn.trial.index,
            attempt=number,
            outcome=Outcome.ABORTED,
            started_at=started_at,
            ended_at=bench.clock.at(turn.trial.start_s),
            why=clean(why),
            interrupted=True,
            facts=result.facts,
        ),
        (),
    )
    bench.progress.note(f"{candidate.id}: {turn.trial.probe}: {why}")
    return None


def record_all(bench: Bench, candidate: Candidate, trials: Sequence[PlannedTrial], outcome: Outcome, why: str) -> Visit:
    """Give each trial an attempt with an outcome that is not ok: for a machine that never came, or went."""
    line = clean(why)
    for trial in trials:
        number, started_at = begin(bench, trial)
        finish(bench, candidate, trial, number, started_at, started_at, TrialResult(outcome, (), line), None, None)
    return Visit(outcome, True, line)


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
    attempt = Attempt(
        trial=trial.index,
        attempt=number,
        outcome=result.outcome,
        started_at=started_at,
        ended_at=ended_at,
        why=result.why,
        facts=result.facts,
    )
    begin_next = (following.index, *begun) if following is not None and begun is not None else None
    bench.records.finish_attempt(attempt, result.samples, begin_next=begin_next)
    bench.progress.trial(candidate.id, trial.probe, result.outcome.value, trial.expected_s)


def _lasted_s(trial: PlannedTrial, outcome: Outcome) -> float:
    """How long the trial took, where time is planned."""
    return trial.deadline_s if outcome is Outcome.TIMEOUT else trial.expected_s
