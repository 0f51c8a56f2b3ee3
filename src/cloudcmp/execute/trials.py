"""The trials of agents on one launch, in order, each recorded before the next one starts."""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext

from cloudcmp.execute.attempts import Begun, begin, finish, interrupt, next_of, record_all
from cloudcmp.execute.cast import LaunchTargets, has_several_agents
from cloudcmp.execute.commands import command_job
from cloudcmp.execute.context import SLEPT_S, LaunchResult, TrialContext
from cloudcmp.execute.trial import TrialTask, Unreachable, lease_s, run_trial
from cloudcmp.model.plan import Candidate, Launch, PlannedTrial
from cloudcmp.model.reason import LaunchReason
from cloudcmp.model.trial import Outcome, TrialResult


async def run_trials(
    context: TrialContext,
    candidate: Candidate,
    launch: Launch,
    trials: Sequence[PlannedTrial],
    targets: LaunchTargets,
    before: Mapping[int, Outcome],
) -> LaunchResult:
    """Run the trials of a launch that have not ended yet, on its targets.

    `trials` are all of the launch's, in order; `before` holds the outcomes of those that ended in an earlier run. Once
    the machine is taken away, the rest is recorded as preempted. On a request to stop, the current trial is the last.
    No trial begins that the machine may not live to finish: that end would be ours, not its provider's. A trial whose
    machine is unreachable is kept as interrupted, and the rest is left.
    Raises what `targets.caps`, `run_trial` and the store raise; an attempt that has begun then stays open.
    """
    context.progress.launch(candidate.id, launch.round)
    todo = [trial for trial in trials if trial.index not in before]
    lost = LaunchReason.MACHINE_LOST
    if was_preempted(trials, before):
        return record_all(context, candidate, todo, Outcome.PREEMPTED, lost.text, lost)
    begun: Begun | None = None
    uploaded: set[str] = set()
    for place, trial in enumerate(todo):
        rest = todo[place + 1 :]
        async with targets.caps(trial) if has_several_agents(trial) else nullcontext() as caps:
            # An attempt that has begun by now is cut short, as by the end of the process.
            refusal = None if begun else _refusal(context, targets, trial)
            if refusal or context.stop.is_set():
                reason = refusal or LaunchReason.STOPPED
                return LaunchResult(Outcome.ABORTED, False, reason.text, reason)
            begun = begun or begin(context, trial)
            command = None if candidate.simulated else command_job(trial, context.commands)
            task = TrialTask(trial, context.records.earlier(trial.index), targets, caps, command, uploaded)
            result = await _run_awake(context, candidate, task, begun)
            if isinstance(result, LaunchResult):
                return result
            begun = _finish(context, candidate, targets, trial, begun, result, rest)
        if result.outcome is Outcome.PREEMPTED:
            record_all(context, candidate, rest, Outcome.PREEMPTED, lost.text, lost)
            return LaunchResult(Outcome.PREEMPTED, True, result.why, lost)
    return LaunchResult(Outcome.OK, True)


def was_preempted(trials: Sequence[PlannedTrial], before: Mapping[int, Outcome]) -> bool:
    """True if an earlier run lost the launch's machine: then no other machine may stand in for it."""
    return any(before.get(trial.index) is Outcome.PREEMPTED for trial in trials)


def _refusal(context: TrialContext, targets: LaunchTargets, trial: PlannedTrial) -> LaunchReason | None:
    """Why a trial may not begin; None if it may."""
    if context.stop.is_set():
        return LaunchReason.STOPPED
    return LaunchReason.TIME_TO_LIVE if targets.left_s() < lease_s(context, trial) else None


def _finish(
    context: TrialContext,
    candidate: Candidate,
    targets: LaunchTargets,
    trial: PlannedTrial,
    begun: Begun,
    result: TrialResult,
    rest: Sequence[PlannedTrial],
) -> Begun | None:
    """Write how a trial ended; returns the attempt that begins in the same step, if one follows that need not wait."""
    following = next(iter(rest), None)
    if following is not None and (
        result.outcome is Outcome.PREEMPTED or _refusal(context, targets, following) or has_several_agents(following)
    ):
        following = None
    lasted_s = trial.deadline_s if result.outcome is Outcome.TIMEOUT else trial.expected_s
    ended_at = context.clock.at(trial.start_s + lasted_s)
    begin_next = None if following is None else (following, next_of(context, following))
    finish(context, candidate, trial, begun, ended_at, result, begin_next)
    return begin_next[1] if begin_next else None


async def _run_awake(
    context: TrialContext, candidate: Candidate, task: TrialTask, begun: Begun
) -> TrialResult | LaunchResult:
    """The result of a trial; the end of the launch if the trial says nothing of the candidate.

    That is so if it failed and this machine slept during it, or if the machine is unreachable. Such an attempt is kept
    as interrupted, like one that was cut short by the controller's own end.
    """
    slept_before_s = context.slept_s()
    lost = False
    try:
        result = await run_trial(context, task)
    except Unreachable as fault:
        lost, result = True, TrialResult(Outcome.ABORTED, (), str(fault))
    slept_s = context.slept_s() - slept_before_s
    if result.outcome is not Outcome.OK and slept_s >= SLEPT_S:
        line = f"this machine slept for {slept_s:.0f} s during it ({result.why})"
        reason = LaunchReason.CONTROLLER_SLEPT
        interrupt(context, candidate, task.trial, begun, line, result.facts, reason)
        return LaunchResult(Outcome.ABORTED, False, reason.text, reason)
    if lost:
        reason = LaunchReason.MACHINE_UNREACHABLE
        interrupt(context, candidate, task.trial, begun, result.why, result.facts, reason)
        return LaunchResult(Outcome.ABORTED, False, reason.text, reason)
    return result
