"""Disturbances of machines during the measurements: stolen time, disturbance, throttling."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from cloudcmp.analysis.facts import joined, note, reported, reported_facts, table_marks
from cloudcmp.model.plan import Plan
from cloudcmp.model.result import Estimate
from cloudcmp.model.trial import Attempt, Outcome
from cloudcmp.units import format_seconds

_STOLEN_SHARE = 0.01
_WAITED_SHARE = 0.02
# The share of a cell's trials from which on a verdict must name the disturbance.
_NEARLY_ALL = 0.8
# The agent's clock rate of one core repeats within 2 % on a steady machine.
_CLOCK_SHARE = 0.95

# A round is late if it begins after this share of its step.
_LATE_SHARE = 0.5

_Facts = Mapping[str, object]


def quality(plan: Plan, attempts: Sequence[Attempt]) -> tuple[str, ...]:
    """One line for each disturbance of a candidate's measurements, candidates in the plan's order.

    Checks all attempts that ended by themselves: stolen CPU time above 1 % of the measured time, trials begun on a
    machine that was never quiet, threads that waited for a processor for more than 2 % of their time, trials that a
    control group's quota throttled, a core clock that once fell below 95 % of its median over trials with the same
    parameters, facts of the machine that changed between launches, and the agents' own warnings. No line is no proof: a
    hypervisor may hide stolen time.
    """
    facts_by_candidate = reported_facts(plan, attempts)
    of_candidate: dict[int, list[tuple[Attempt, _Facts]]] = {candidate.index: [] for candidate in plan.candidates}
    for attempt in attempts:
        if not attempt.interrupted:
            owner = plan.launches[plan.trials[attempt.trial].launch].candidate
            of_candidate[owner].append((attempt, reported(attempt)))
    return tuple(
        f"{candidate.id}: {line}"
        for candidate in plan.candidates
        for line in (*_lines(plan, of_candidate[candidate.index]), *_changed(facts_by_candidate[candidate.index]))
    )


def marks(
    plan: Plan, estimates: Sequence[Estimate], attempts: Sequence[Attempt]
) -> dict[tuple[str, int], tuple[str, ...]]:
    """For each cell and candidate, what a reader must know beside a verdict: disturbances, and repeated rows."""
    found, of_table = disturbed(plan, attempts), table_marks(plan)
    for one in estimates if of_table else ():
        key = (one.cell, one.candidate)
        found[key] = (*found.get(key, ()), *of_table.get(one.candidate, ()))
    return found


def disturbed(plan: Plan, attempts: Sequence[Attempt]) -> dict[tuple[str, int], tuple[str, ...]]:
    """For each cell and candidate whose trials were mostly disturbed, how; other cells are left out.

    A disturbance is time stolen from its processors, a thread that waited for one, or a quota that held it back, each
    above the limit of `quality`, in at least 80 % of the trials with a value. An undisturbed cell is no proof: a
    hypervisor may hide stolen time.
    """
    counts: dict[tuple[str, int], Counter[str]] = {}
    for attempt in attempts:
        trial = plan.trials[attempt.trial]
        if attempt.outcome is Outcome.OK and not attempt.interrupted:
            kinds = tuple(_disturbances(attempt))
            for cell in trial.cells:
                counts.setdefault((cell, plan.launches[trial.launch].candidate), Counter()).update(("", *kinds))
    return {
        (cell, at): tuple(
            f"{plan.candidates[at].id}: {kind} in {times} of {counted['']} trials"
            for kind, times in counted.items()
            if kind and times >= _NEARLY_ALL * counted[""]
        )
        for (cell, at), counted in counts.items()
        if any(kind and times >= _NEARLY_ALL * counted[""] for kind, times in counted.items())
    }


def _disturbances(attempt: Attempt) -> Iterator[str]:
    """The disturbances of one trial."""
    facts = reported(attempt)
    measured, cpus = attempt.ended_at - attempt.started_at, max(1.0, _number(facts, "cpus_used") or 1.0)
    if (_number(facts, "steal_s") or 0.0) / cpus > _STOLEN_SHARE * measured > 0.0:
        yield "processor time was stolen"
    if _is_late(facts):
        yield "threads waited for a processor"
    if (_number(facts, "throttled_periods") or 0.0) > 0.0:
        yield "a quota of CPU time held it back"


def _lines(plan: Plan, some: Sequence[tuple[Attempt, _Facts]]) -> Iterator[str]:
    yield from _stolen(some)
    disturbed = sum(note(facts, "disturbed") is True for _, facts in some)
    if disturbed:
        yield f"the machine was never quiet before {disturbed} of {len(some)} trials"
    yield from _waited([facts for _, facts in some])
    held = sum((_number(facts, "throttled_periods") or 0.0) > 0.0 for _, facts in some)
    if held:
        yield f"a quota of CPU time held it back in {held} of {len(some)} trials"
    # A core alone may run faster than all of them at once: only trials with the same parameters are compared.
    like: dict[tuple[tuple[str, str], ...], list[_Facts]] = {}
    for attempt, facts in some:
        like.setdefault(plan.trials[attempt.trial].params, []).append(facts)
    yield from (line for alike in like.values() for line in _throttled(alike))
    warned = Counter(str(text) for _, facts in some if (text := note(facts, "warning")) is not None)
    for text, times in sorted(warned.items()):
        yield f"{text} ({times} trials)" if times > 1 else text


def _stolen(some: Sequence[tuple[Attempt, _Facts]]) -> Iterator[str]:
    known = [
        # Time is stolen from each processor by itself.
        (seconds / max(1.0, _number(facts, "cpus_used") or 1.0), attempt.ended_at - attempt.started_at)
        for attempt, facts in some
        if (seconds := _number(facts, "steal_s")) is not None
    ]
    stolen, measured = sum(seconds for seconds, _ in known), sum(length for _, length in known)
    if stolen > _STOLEN_SHARE * measured > 0.0:
        yield f"{format_seconds(stolen)} of a processor's time were stolen in {format_seconds(measured)} of trials"


def _waited(some: Sequence[_Facts]) -> Iterator[str]:
    late = sum(map(_is_late, some))
    if late:
        yield f"its threads waited for a processor in {late} of {len(some)} trials"


def _is_late(facts: _Facts) -> bool:
    """True if threads waited for a processor; more threads than processors always wait, which is no disturbance."""
    waited, ran = _number(facts, "run_delay_s"), _number(facts, "cpu_time_s")
    fits = (_number(facts, "threads") or 1.0) <= (_number(facts, "cpus_used") or 1.0)
    return fits and waited is not None and ran is not None and waited > _WAITED_SHARE * ran


def _throttled(some: Sequence[_Facts]) -> Iterator[str]:
    clocks = sorted(clock for facts in some if (clock := _number(facts, "clock_hz")) is not None and clock > 0.0)
    if clocks and clocks[0] < _CLOCK_SHARE * clocks[len(clocks) // 2]:
        low, usual = clocks[0] / 1e9, clocks[len(clocks) // 2] / 1e9
        yield f"throttling: a core ran at {low:.2f} GHz, usually at {usual:.2f} GHz"


def _changed(values_by_key: Mapping[str, Sequence[str]]) -> Iterator[str]:
    # How a probe ran (`disk.file_bytes`) may differ between trials of other parameters; the machine should not.
    for key, values in sorted(values_by_key.items()):
        if len(values) > 1 and "." not in key:
            yield f"{key.replace('_', ' ')} changed between launches: {joined(values)}"


def _number(facts: _Facts, key: str) -> float | None:
    """A note that is a number; a note sent twice is text, and is ignored here."""
    value = note(facts, key)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def late_rounds(plan: Plan, begun: Mapping[int, float]) -> tuple[str, ...]:
    """A line if rounds of a plan with `every` began later than planned, with the steps in which none began.

    `begun` has the first time (Unix, s) at which each launch began. None for a simulated study, whose times are the
    plan's.
    """
    if plan.every_s is None or all(one.simulated for one in plan.candidates):
        return ()
    first: dict[tuple[str | None, int], float] = {}
    for at, moment in begun.items():
        key = plan.launches[at].session, plan.launches[at].round
        first[key] = min(moment, first.get(key, moment))
    planned = {(one.session, one.round): plan.start_at + one.start_s for one in plan.launches}
    late = [at - planned[key] for key, at in first.items() if at - planned[key] > _LATE_SHARE * plan.every_s]
    if not late:
        return ()
    steps = {math.floor((at - plan.start_at) / plan.every_s) for at in first.values()}
    missed = 0 if plan.sessions else max(steps) + 1 - len(steps)
    what = f"{len(late)} of {len(planned)} rounds began late, by up to {format_seconds(max(late))}"
    none = f"; in {missed} steps of {format_seconds(plan.every_s)} none began" if missed else ""
    return (f"{what}{none}: this machine was not running then, or a round took too long",)
