"""Writes attempts at trials: their start, their end, and those that never ran."""

from collections.abc import Sequence

from cloudcmp.execute.context import LaunchResult, TrialContext
from cloudcmp.model.plan import Candidate, PlannedTrial
from cloudcmp.model.trial import Attempt, LaunchReason, Outcome, TrialResult
from cloudcmp.model.untrusted_text import one_line
from cloudcmp.provider.common.blocking_calls import run_to_completion

Begun = tuple[int, float]
"""The number of an attempt, and its start (Unix s)."""


def next_of(context: TrialContext, trial: PlannedTrial) -> Begun:
    """The number and the start of the next attempt at a trial; writes nothing."""
    return context.records.next_attempt(trial.index), context.clock.at(trial.start_s)


def begin(context: TrialContext, trial: PlannedTrial) -> Begun:
    """Writes that the next attempt at a trial starts."""
    number, started_at = next_of(context, trial)
    context.records.begin_attempt(trial.index, number, started_at)
    return number, started_at


def finish(
    context: TrialContext,
    candidate: Candidate,
    trial: PlannedTrial,
    begun: Begun,
    ended_at: float,
    result: TrialResult,
    following: tuple[PlannedTrial, Begun] | None = None,
    reason: LaunchReason | None = None,
) -> None:
    """Writes the end of an attempt, and in the same step the start of the `following` one.

    `reason` is that of its launch, for a trial that never ran.
    """
    _write(context, trial, begun, ended_at, result, following, reason)
    context.progress.trial(candidate.id, trial, result.outcome, result.why)


async def finish_in_thread(
    context: TrialContext,
    candidate: Candidate,
    trial: PlannedTrial,
    begun: Begun,
    ended_at: float,
    result: TrialResult,
    following: tuple[PlannedTrial, Begun] | None,
) -> None:
    """`finish`, with other launches going on while the disk syncs; if cancelled, the attempt is written all the same.

    A simulated launch writes at once: its trials take no time, and launches on one virtual clock keep their order.
    """
    if candidate.simulated:
        _write(context, trial, begun, ended_at, result, following)
    else:
        await run_to_completion(lambda: _write(context, trial, begun, ended_at, result, following))
    context.progress.trial(candidate.id, trial, result.outcome, result.why)


def _write(
    context: TrialContext,
    trial: PlannedTrial,
    begun: Begun,
    ended_at: float,
    result: TrialResult,
    following: tuple[PlannedTrial, Begun] | None,
    reason: LaunchReason | None = None,
) -> None:
    number, started_at = begun
    facts = result.facts
    if result.texts:
        facts = context.records.keep_output(trial.index, number, dict(result.texts), facts)
    attempt = Attempt(
        trial=trial.index,
        attempt=number,
        outcome=result.outcome,
        started_at=started_at,
        ended_at=ended_at,
        why=result.why,
        reason=_name(reason),
        facts=facts,
    )
    begin_next = None if following is None else (following[0].index, *following[1])
    context.records.finish_attempt(attempt, result.samples, begin_next=begin_next)


def interrupt(
    context: TrialContext, candidate: Candidate, trial: PlannedTrial, begun: Begun, why: str, facts: str,
    reason: LaunchReason,
) -> None:  # fmt: skip
    """Writes that an attempt was interrupted for reasons unrelated to the candidate; the trial will be run again."""
    attempt = Attempt(
        trial=trial.index,
        attempt=begun[0],
        outcome=Outcome.ABORTED,
        started_at=begun[1],
        ended_at=context.clock.at(trial.start_s),
        why=one_line(why),
        interrupted=True,
        reason=_name(reason),
        facts=facts,
    )
    context.records.finish_attempt(attempt, ())
    context.progress.note(f"{candidate.id}: {trial.probe}: {why}")


def interrupt_all(
    context: TrialContext, candidate: Candidate, trials: Sequence[PlannedTrial], why: str, reason: LaunchReason
) -> None:
    """Writes an interrupted attempt of each trial that could not be timed for reasons unrelated to the candidate."""
    for trial in trials:
        interrupt(context, candidate, trial, begin(context, trial), why, "", reason)


def _name(reason: LaunchReason | None) -> str | None:
    return None if reason is None else reason.value


def record_all(
    context: TrialContext,
    candidate: Candidate,
    trials: Sequence[PlannedTrial],
    outcome: Outcome,
    why: str,
    reason: LaunchReason,
) -> LaunchResult:
    """Writes an attempt of each trial with an outcome that is not ok: its machine never arrived, or was lost."""
    line = one_line(why)
    if trials:
        context.progress.note(f"{candidate.id}: {line}")
    for trial in trials:
        begun = begin(context, trial)
        finish(context, candidate, trial, begun, begun[1], TrialResult(outcome, (), line), reason=reason)
    return LaunchResult(outcome, True, line, reason)
