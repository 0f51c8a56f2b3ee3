"""What the controller times of a launch's machines: their coming, their growing, their coming back and their going.

No agent runs these trials, and the controller's own clock is the only one in them: a value is as fine as the interval
at which it looks (`poll_s`, kept in each attempt's facts), and what it takes to look is in the value.
"""

import asyncio
import json
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from cloudcmp.errors import ACCOUNT_FAULTS, CONTROLLER_FAULTS, ConnectionLost, ProviderFault
from cloudcmp.execute.context import Bench, Visit
from cloudcmp.execute.trial import Gone
from cloudcmp.execute.trials import SLEPT_S, STOPPED_WHY, TAKEN_WHY, begin, finish, interrupt, record_all
from cloudcmp.model.cell import Cell
from cloudcmp.model.metric import Probe, When
from cloudcmp.model.plan import Candidate, PlannedTrial
from cloudcmp.model.safety import Timeline
from cloudcmp.model.trial import Outcome, Sample, TrialResult
from cloudcmp.model.untrusted_text import one_line

_STEPS = (("answered_s", "answered"), ("running_s", "running"), ("reachable_s", "reachable"), ("usable_s", "usable"))
BLIND_WHY = "there was no way to the provider for a while"
"""Why the time that something took is not known, although it came about."""

_GRACE_S = 5.0  # that whoever waits may overstay its limit before it is cut off


@dataclass(frozen=True, slots=True)
class Staged:
    """A launch's trials by their turn; `visit` are those of agents, and all of a simulated launch."""

    arrival: tuple[PlannedTrial, ...]
    visit: tuple[PlannedTrial, ...]
    last: tuple[PlannedTrial, ...]
    release: tuple[PlannedTrial, ...]


def staged(probes: Mapping[str, Probe], candidate: Candidate, trials: Sequence[PlannedTrial]) -> Staged:
    """The trials, each list in the plan's order. A simulated machine answers for what the controller would time."""

    def of(when: When) -> tuple[PlannedTrial, ...]:
        some = (trial for trial in trials if (When.VISIT if candidate.simulated else probes[trial.probe].when) is when)
        return tuple(some)

    return Staged(of(When.ARRIVAL), of(When.VISIT), of(When.LAST), of(When.RELEASE))


def give_up_s(trials: Sequence[PlannedTrial], otherwise: float) -> float:
    """How long to wait for what the trials time: the longest of their own deadlines, or `otherwise` without any."""
    return max((trial.deadline_s for trial in trials), default=otherwise)


def record_arrival(
    bench: Bench,
    candidate: Candidate,
    todo: Sequence[PlannedTrial],
    timelines: Sequence[Timeline],
    poll_s: float,
    why: str = "",
    *,
    late: bool = False,
) -> None:
    """Record the trials that time a launch's coming, from the timelines of its machines.

    `todo` are `Staged.arrival` without those that have ended; `timelines` are of all machines that were asked for, as
    far as they came, none where nothing was asked; `poll_s` is how often each step was looked for; `why` says what went
    wrong, and `late` that it was only waited for too long. Records `timeout` where a machine did not come within the
    trial's deadline and nothing else went wrong, `failed` for any other step that was not reached, `invalid` where the
    clocks contradict each other.
    """
    for trial in todo:
        result = arrival(trial, timelines, poll_s, why, late=late)
        seen = [when for line in timelines for when in _times(line).values() if when is not None]
        _record(bench, candidate, trial, result, lasted_s=max(seen, default=0.0))


def record_release(
    bench: Bench,
    candidate: Candidate,
    todo: Sequence[PlannedTrial],
    gone_s: float | None,
    poll_s: float,
    why: str = "",
    *,
    late: bool = False,
) -> None:
    """Record the trials that time a launch's going: seconds from asking until all machines were seen gone, or None.

    `todo` are `Staged.release` without those that have ended; a machine that was never there gives None and why, one
    that was not seen gone in time None, what was seen last, and `late`.
    """
    facts = _facts(poll_s)
    for trial in todo:
        if gone_s is None or gone_s > trial.deadline_s:
            outcome = Outcome.FAILED if why and gone_s is None and not late else Outcome.TIMEOUT
            result = TrialResult(outcome, (), one_line(why or f"not seen gone within {trial.deadline_s:g} s"), facts)
        else:
            result = _values(trial, {"scale_in_latency_s": gone_s}, facts)
        _record(bench, candidate, trial, result, lasted_s=gone_s or 0.0)


@dataclass(frozen=True, slots=True)
class Hands:
    """What the controller can do to a machine, and its clock (seconds that nobody sets).

    `resize` asks for another type and returns when the provider has it started; `die` has the guest kill itself;
    `back` returns the boot id of the guest once its agent answers, or raises TimeoutError after so many seconds. They
    raise ProviderFault for what the provider or the machine refuses. `blind` tells whether there was no way to the
    provider for a while since the last call of `resize` or `die`: then no time of it counts.
    """

    now: Callable[[], float]
    poll_s: float
    boot_id: str
    resize: Callable[[str], Awaitable[None]]
    die: Callable[[], Awaitable[None]]
    back: Callable[[float], Awaitable[str]]
    gone: Gone
    blind: Callable[[], bool] = lambda: False


async def run_last(bench: Bench, candidate: Candidate, todo: Sequence[PlannedTrial], hands: Hands) -> Visit:
    """Run and record the trials that disturb a machine, in the plan's order; `todo` are `Staged.last` that are left.

    What follows a machine that did not come back is recorded with it. A trial that says nothing of the candidate is
    kept as interrupted, and the rest is left. Raises nothing that is the candidate's doing.
    """
    for place, trial in enumerate(todo):
        if bench.stop.is_set():
            return Visit(Outcome.ABORTED, False, STOPPED_WHY)
        rest = todo[place + 1 :]
        result, boot_id, counts = await _disturbed(bench, candidate, trial, hands)
        if not counts:
            return Visit(Outcome.ABORTED, False, f"{trial.probe}: {result.why}")
        if result.outcome is Outcome.PREEMPTED:
            record_all(bench, candidate, rest, Outcome.PREEMPTED, TAKEN_WHY)
            return Visit(Outcome.PREEMPTED, True, result.why)
        if result.outcome in {Outcome.FAILED, Outcome.TIMEOUT}:
            return record_all(bench, candidate, rest, Outcome.FAILED, f"after {trial.probe}: {result.why}")
        hands = replace(hands, boot_id=boot_id)
    return Visit(Outcome.OK, True)


async def _disturbed(
    bench: Bench, candidate: Candidate, trial: PlannedTrial, hands: Hands
) -> tuple[TrialResult, str, bool]:
    """Resize a machine or have it kill itself, time it until it is usable again, and record it; its boot id then, and
    whether the trial counts.
    """
    number, started_at = begin(bench, trial)
    began, boot_id, slept_s = hands.now(), hands.boot_id, bench.slept_s()
    try:
        async with asyncio.timeout(trial.deadline_s + _GRACE_S):
            await (hands.resize(dict(trial.params)["to"]) if trial.probe == "resize" else hands.die())
            boot_id = await hands.back(max(0.0, trial.deadline_s - (hands.now() - began)))
    except TimeoutError:
        result = await _lost(hands, Outcome.TIMEOUT, f"not usable again within {trial.deadline_s:g} s")
    except ProviderFault as fault:
        ours = isinstance(fault, (*CONTROLLER_FAULTS, *ACCOUNT_FAULTS, ConnectionLost))
        result = await _lost(hands, Outcome.ABORTED if ours else Outcome.FAILED, str(fault))
    else:
        result = _back(trial, hands, hands.now() - began, boot_id)
    result = _seen_through(result, bench.slept_s() - slept_s, blind=hands.blind())
    if result.outcome is Outcome.ABORTED:
        interrupt(bench, candidate, trial, number, started_at, result.why, result.facts)
        return result, boot_id, False
    ended_at = bench.clock.at(trial.start_s + trial.expected_s)
    finish(bench, candidate, trial, number, started_at, ended_at, result, None, None)
    return result, boot_id, True


def _seen_through(result: TrialResult, slept_s: float, *, blind: bool) -> TrialResult:
    """The result, where we could see all the time what it timed."""
    if result.outcome is Outcome.PREEMPTED:
        return result
    if slept_s >= SLEPT_S:
        return TrialResult(Outcome.ABORTED, (), f"this machine slept for {slept_s:.0f} s during it", result.facts)
    return TrialResult(Outcome.ABORTED, (), BLIND_WHY, result.facts) if blind else result


def _back(trial: PlannedTrial, hands: Hands, took_s: float, boot_id: str) -> TrialResult:
    """What a machine that answers again shows: another boot, within the trial's deadline."""
    facts = _facts(hands.poll_s)
    if boot_id == hands.boot_id:
        return TrialResult(Outcome.INVALID, (), "it answered without another boot: nothing was disturbed", facts)
    if took_s > trial.deadline_s:
        return TrialResult(Outcome.TIMEOUT, (), f"usable again only after {took_s:g} s", facts)
    return _values(trial, {f"{trial.probe}_latency_s": took_s}, facts)


async def _lost(hands: Hands, outcome: Outcome, why: str) -> TrialResult:
    """Why a machine did not come back: taken away by its provider, or not."""
    try:
        taken = await hands.gone()
    except ProviderFault:
        taken = None
    if taken is not None:
        return TrialResult(
            Outcome.PREEMPTED, (), f"the machine was taken away: {one_line(taken)}", _facts(hands.poll_s)
        )
    return TrialResult(outcome, (), one_line(why), _facts(hands.poll_s))


def arrival(
    trial: PlannedTrial, timelines: Sequence[Timeline], poll_s: float, why: str = "", *, late: bool = False
) -> TrialResult:
    """What a trial of `scaling` comes to, from the timelines of the machines that were asked for.

    All counts until the last machine; the split is of the machine that was usable last. Nothing is clamped: an uptime
    that is longer than the whole wait means that a clock is wrong, and makes the trial `invalid`.
    """
    facts = _facts(poll_s, timelines)
    params = dict(trial.params)
    asked, last_step = int(params["count"]), "reachable_s" if params["os"] == "windows" else "usable_s"
    steps = _STEPS if last_step == "usable_s" else _STEPS[:-1]
    if why or len(timelines) < asked or not all(_complete(line, steps) for line in timelines):
        return _never(trial, timelines, steps, why, facts, late=late)
    slowest = max(timelines, key=lambda line: _times(line)[last_step] or 0.0)
    whole_s = _times(slowest)[last_step] or 0.0
    if whole_s > trial.deadline_s:
        return TrialResult(Outcome.TIMEOUT, (), f"usable only after {whole_s:g} s", facts)
    wrong = next(filter(None, (_contradiction(line, steps) for line in timelines)), "")
    if wrong:
        return TrialResult(Outcome.INVALID, (), wrong, facts)
    found = {f"{word.replace('answered', 'api')}_latency_s": max(_times(line)[key] or 0.0 for line in timelines)
             for key, word in steps}  # fmt: skip
    found["scaling_latency_s"] = whole_s
    if slowest.uptime_s is not None:
        found |= {"booting_latency_s": slowest.uptime_s, "provisioning_latency_s": whole_s - slowest.uptime_s}
    return _values(trial, found, facts)


def _times(line: Timeline) -> dict[str, float | None]:
    return {key: getattr(line, key) for key, _ in _STEPS}


def _complete(line: Timeline, steps: Sequence[tuple[str, str]]) -> bool:
    return all(getattr(line, key) is not None for key, _ in steps)


def _never(
    trial: PlannedTrial,
    timelines: Sequence[Timeline],
    steps: Sequence[tuple[str, str]],
    why: str,
    facts: str,
    *,
    late: bool,
) -> TrialResult:
    """Machines that did not come: how many of those asked for, the first step that one did not reach, and why."""
    missing = [next(word for key, word in steps if getattr(line, key) is None)
               for line in timelines if not _complete(line, steps)]  # fmt: skip
    asked = int(dict(trial.params)["count"])
    came = len(timelines) - len(missing)
    told = f"{came} of {asked} machines came" + (f", one was not {missing[0]}" if missing else "")
    outcome = Outcome.FAILED if why and not late else Outcome.TIMEOUT
    return TrialResult(outcome, (), one_line(f"{told}: {why or f'not within {trial.deadline_s:g} s'}"), facts)


def _contradiction(line: Timeline, steps: Sequence[tuple[str, str]]) -> str:
    """How a machine's times contradict each other, nothing where they do not."""
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


def _values(trial: PlannedTrial, found: Mapping[str, float], facts: str) -> TrialResult:
    """An ok result with one sample of each of the trial's cells; `invalid` where one is missing or not above 0."""
    samples = []
    for seq, cell in enumerate(map(Cell.parse, trial.cells)):
        value = found.get(cell.metric)
        if value is None or not math.isfinite(value) or value <= 0:
            what = "is not known" if value is None else f"cannot be {value:g} s"
            return TrialResult(Outcome.INVALID, (), f"{cell.metric} {what}: a wrong clock", facts)
        samples.append(Sample(seq, cell.metric, cell.params_text, 0.0, value, None))
    return TrialResult(Outcome.OK, tuple(samples), "", facts)


def _facts(poll_s: float, timelines: Sequence[Timeline] = ()) -> str:
    """Who timed it, how finely, and every machine's own steps."""
    told: dict[str, object] = {"by": "controller", "notes": {"poll_s": poll_s}}
    if timelines:
        told["timelines"] = [asdict(line) for line in timelines]
    return json.dumps(told, sort_keys=True, separators=(",", ":"))


def _record(bench: Bench, candidate: Candidate, trial: PlannedTrial, result: TrialResult, *, lasted_s: float) -> None:
    """Write an attempt that is over: what it timed began before anything of it could be written."""
    number = bench.records.next_attempt(trial.index)
    ended_at = bench.clock.at(trial.start_s)
    started_at = ended_at - lasted_s
    bench.records.begin_attempt(trial.index, number, started_at)
    finish(bench, candidate, trial, number, started_at, ended_at, result, None, None)
