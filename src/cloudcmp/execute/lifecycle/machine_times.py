"""Trials that time the arrival and release of a launch's machines, from the controller's own clock.

No agent runs these trials: a value is as fine as the poll interval (`poll_s`, kept in each attempt's facts), and
includes the time that a poll takes.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from cloudcmp.execute.attempts import finish
from cloudcmp.execute.context import TrialContext
from cloudcmp.model.cell import Cell
from cloudcmp.model.plan import Candidate, PlannedTrial
from cloudcmp.model.safety import Timeline
from cloudcmp.model.trial import Outcome, Sample, TrialResult
from cloudcmp.model.untrusted_text import one_line

_STEPS = (("answered_s", "answered"), ("running_s", "running"), ("reachable_s", "reachable"), ("usable_s", "usable"))


def give_up_s(trials: Sequence[PlannedTrial], otherwise: float) -> float:
    """The longest wait for timed machines: the longest deadline of the trials, or `otherwise` without any."""
    return max((trial.deadline_s for trial in trials), default=otherwise)


def record_arrival(
    context: TrialContext,
    candidate: Candidate,
    todo: Sequence[PlannedTrial],
    timelines: Sequence[Timeline],
    poll_s: float,
    why: str = "",
    *,
    late: bool = False,
) -> None:
    """Records the trials that time the arrival of a launch's machines, from their timelines.

    `todo` are `TrialsByTurn.arrival` without those that have ended; `timelines` are of all requested machines, as far
    as they arrived; `poll_s` is the poll interval; `why` is the fault, and `late` is true if the only fault is a wait
    that was too long. Records `timeout` if a machine did not arrive within the trial's deadline and nothing else went
    wrong, `failed` for any other step that was not reached, `invalid` if the clocks contradict each other.
    """
    for trial in todo:
        result = arrival(trial, timelines, poll_s, why, late=late)
        observed = [when for line in timelines for when in _times(line).values() if when is not None]
        _record(context, candidate, trial, result, lasted_s=max(observed, default=0.0))


def record_release(
    context: TrialContext,
    candidate: Candidate,
    todo: Sequence[PlannedTrial],
    gone_s: float | None,
    poll_s: float,
    why: str = "",
    *,
    late: bool = False,
) -> None:
    """Records the trials that time the release of a launch's machines.

    `todo` are `TrialsByTurn.release` without those that have ended. `gone_s` is the time from the request until all
    machines were gone. It is None for a machine that never existed, with `why`; and for one that was not gone in time,
    with its last state as `why`, and `late`.
    """
    facts = facts_of(poll_s)
    for trial in todo:
        if gone_s is None or gone_s > trial.deadline_s:
            outcome = Outcome.FAILED if why and gone_s is None and not late else Outcome.TIMEOUT
            result = TrialResult(outcome, (), one_line(why or f"not seen gone within {trial.deadline_s:g} s"), facts)
        else:
            result = result_of(trial, {"scale_in_latency_s": gone_s}, facts)
        _record(context, candidate, trial, result, lasted_s=gone_s or 0.0)


def arrival(
    trial: PlannedTrial, timelines: Sequence[Timeline], poll_s: float, why: str = "", *, late: bool = False
) -> TrialResult:
    """The result of a trial of `scaling`, from the timelines of the requested machines.

    All values count until the last machine; the split is of the machine that was usable last. Nothing is clamped: an
    uptime longer than the whole wait means that a clock is wrong, and makes the trial `invalid`.
    """
    facts = facts_of(poll_s, timelines)
    params = dict(trial.params)
    count, last_step = int(params["count"]), "reachable_s" if params["os"] == "windows" else "usable_s"
    steps = _STEPS if last_step == "usable_s" else _STEPS[:-1]
    if why or len(timelines) < count or not all(_complete(line, steps) for line in timelines):
        return _not_arrived(trial, timelines, steps, why, facts, late=late)
    slowest = max(timelines, key=lambda line: _times(line)[last_step] or 0.0)
    whole_s = _times(slowest)[last_step] or 0.0
    if whole_s > trial.deadline_s:
        return TrialResult(Outcome.TIMEOUT, (), f"usable only after {whole_s:g} s", facts)
    wrong = next(filter(None, (_contradiction(line, steps) for line in timelines)), "")
    if wrong:
        return TrialResult(Outcome.INVALID, (), wrong, facts)
    values = {f"{word.replace('answered', 'api')}_latency_s": max(_times(line)[key] or 0.0 for line in timelines)
             for key, word in steps}  # fmt: skip
    values["scaling_latency_s"] = whole_s
    if slowest.uptime_s is not None:
        values |= {"booting_latency_s": slowest.uptime_s, "provisioning_latency_s": whole_s - slowest.uptime_s}
    return result_of(trial, values, facts)


def _times(line: Timeline) -> dict[str, float | None]:
    return {key: getattr(line, key) for key, _ in _STEPS}


def _complete(line: Timeline, steps: Sequence[tuple[str, str]]) -> bool:
    return all(getattr(line, key) is not None for key, _ in steps)


def _not_arrived(
    trial: PlannedTrial,
    timelines: Sequence[Timeline],
    steps: Sequence[tuple[str, str]],
    why: str,
    facts: str,
    *,
    late: bool,
) -> TrialResult:
    """The result for machines that did not arrive: how many did, the first step that one did not reach, and why."""
    missing = [next(word for key, word in steps if getattr(line, key) is None)
               for line in timelines if not _complete(line, steps)]  # fmt: skip
    count = int(dict(trial.params)["count"])
    arrived = len(timelines) - len(missing)
    line = f"{arrived} of {count} machines came" + (f", one was not {missing[0]}" if missing else "")
    outcome = Outcome.FAILED if why and not late else Outcome.TIMEOUT
    return TrialResult(outcome, (), one_line(f"{line}: {why or f'not within {trial.deadline_s:g} s'}"), facts)


def _contradiction(line: Timeline, steps: Sequence[tuple[str, str]]) -> str:
    """How a machine's times contradict each other; empty if they do not."""
    times = [getattr(line, key) for key, _ in steps]
    if not all(math.isfinite(when) and when > 0 for when in times) or times != sorted(times):
        return "its steps are out of order: " + ", ".join(
            f"{word} {when:g} s" for (_, word), when in zip(steps, times, strict=True)
        )
    if len(steps) < len(_STEPS):
        return ""
    if line.uptime_s is None or not line.uptime_s > 0:
        return "its agent answers and its uptime is not known"
    if line.uptime_s >= times[-1]:
        return (
            f"its uptime of {line.uptime_s:g} s is not below the {times[-1]:g} s since it was asked for: a wrong clock"
        )
    return ""


def result_of(trial: PlannedTrial, values: Mapping[str, float], facts: str) -> TrialResult:
    """An ok result with one sample of each of the trial's cells; `invalid` if one is missing or not above 0."""
    samples = []
    for seq, cell in enumerate(map(Cell.parse, trial.cells)):
        value = values.get(cell.metric)
        if value is None or not math.isfinite(value) or value <= 0:
            what = "is not known" if value is None else f"cannot be {value:g} s"
            return TrialResult(Outcome.INVALID, (), f"{cell.metric} {what}: a wrong clock", facts)
        samples.append(Sample(seq, cell.metric, cell.params_text, 0.0, value, None))
    return TrialResult(Outcome.OK, tuple(samples), "", facts)


def facts_of(poll_s: float, timelines: Sequence[Timeline] = ()) -> str:
    """The facts of an attempt: who timed it, the poll interval, and every machine's own steps."""
    facts: dict[str, object] = {"by": "controller", "notes": {"poll_s": poll_s}}
    if timelines:
        facts["timelines"] = [asdict(line) for line in timelines]
    return json.dumps(facts, sort_keys=True, separators=(",", ":"))


def _record(
    context: TrialContext, candidate: Candidate, trial: PlannedTrial, result: TrialResult, *, lasted_s: float
) -> None:
    """Writes an attempt that has ended; its start precedes the first write."""
    number = context.records.next_attempt(trial.index)
    ended_at = context.clock.at(trial.start_s)
    started_at = ended_at - lasted_s
    context.records.begin_attempt(trial.index, number, started_at)
    finish(context, candidate, trial, (number, started_at), ended_at, result)
