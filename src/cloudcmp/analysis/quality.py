"""Disturbances of machines during the measurements: stolen time, disturbance, throttling."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from cloudcmp.analysis.facts import joined, note, reported, reported_facts
from cloudcmp.model.plan import Plan
from cloudcmp.model.trial import Attempt
from cloudcmp.units import format_seconds

_STOLEN_SHARE = 0.01
_WAITED_SHARE = 0.02
# The agent's clock rate of one core repeats within 2 % on a steady machine.
_CLOCK_SHARE = 0.95

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
    # More threads than processors always wait, which is no disturbance.
    fitting = (facts for facts in some if (_number(facts, "threads") or 1.0) <= (_number(facts, "cpus_used") or 1.0))
    times = [(_number(facts, "run_delay_s"), _number(facts, "cpu_time_s")) for facts in fitting]
    late = [1 for waited, ran in times if waited is not None and ran is not None and waited > _WAITED_SHARE * ran]
    if late:
        yield f"its threads waited for a processor in {len(late)} of {len(some)} trials"


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
