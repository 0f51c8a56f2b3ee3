"""The facts that agents reported about machines, which must be alike for a fair comparison."""

import json
from collections.abc import Iterator, Mapping, Sequence

from cloudcmp.model.plan import Plan
from cloudcmp.model.trial import Attempt

# The key of a fact in comparisons, and its path in the agent's hello.
_OF_THE_MACHINE = (
    ("agent_version", ("version",)),
    ("image", ("host", "image")),
    ("image", ("host", "os")),
    ("kernel", ("host", "kernel")),
    ("compiler", ("host", "compiler")),
    ("transparent_huge_pages", ("host", "memory", "thp")),
    ("clocksource", ("host", "clocksource")),
    ("file_system", ("host", "disk", "fs")),
)
# Notes on how a probe really ran, if its parameters left that open.
_OF_A_PROBE = ("engine", "array_bytes", "file_bytes", "blas_kernel", "tool_version", "page_cache", "pass", "loadfile")
_SHOWN = 3


def reported(attempt: Attempt) -> Mapping[str, object]:
    """An attempt's facts as an object; empty if they have another form."""
    try:
        facts = json.loads(attempt.facts)
    except ValueError:
        return {}
    return facts if isinstance(facts, dict) else {}


def note(facts: Mapping[str, object], key: str) -> object:
    """One note of an attempt, None if the agent did not send it."""
    return _at(facts, ("notes", key))


def facts_of(plan: Plan, attempts: Sequence[Attempt]) -> dict[int, dict[str, str]]:
    """For each candidate the facts that `compare` compares, as text; unreported ones are left out.

    Those of the machine have plain names (`kernel`); how a probe really ran is `<probe>.<note>` (`disk.engine`). If a
    candidate's launches differ among themselves, the value lists each reported one. Processor, memory and instruction
    set are not included: they belong to the offering. `disk_class` is the offering's advertised one.
    """
    reported_values = reported_facts(plan, attempts)
    facts_by_candidate = {
        at: {key: joined(values) for key, values in mine.items()} for at, mine in reported_values.items()
    }
    for candidate in plan.candidates:
        disk_class = dict(candidate.offering.attributes).get("disk_class")
        if disk_class:
            facts_by_candidate[candidate.index].setdefault("disk_class", disk_class)
    return facts_by_candidate


def reported_facts(plan: Plan, attempts: Sequence[Attempt]) -> dict[int, dict[str, tuple[str, ...]]]:
    """All values of each fact that each candidate's agents reported, sorted."""
    reported_values: dict[int, dict[str, dict[str, None]]] = {candidate.index: {} for candidate in plan.candidates}
    for attempt in attempts:
        trial = plan.trials[attempt.trial]
        mine = reported_values[plan.launches[trial.launch].candidate]
        for key, value in _of_one(reported(attempt), trial.probe):
            mine.setdefault(key, {})[value] = None
    return {at: {key: tuple(sorted(values)) for key, values in mine.items()} for at, mine in reported_values.items()}


def _of_one(facts: Mapping[str, object], probe: str) -> Iterator[tuple[str, str]]:
    named = set()
    for key, path in _OF_THE_MACHINE:
        value = _at(facts, path)
        if value is not None and key not in named:
            named.add(key)
            yield key, str(value)
    for key in _OF_A_PROBE:
        value = note(facts, key)
        if value is not None:
            yield f"{probe}.{key}", str(value)


def joined(values: Sequence[str]) -> str:
    """Several values as one text; beyond three only the number of further ones."""
    more = f" and {len(values) - _SHOWN} more" if len(values) > _SHOWN else ""
    return " and ".join(values[:_SHOWN]) + more


def _at(facts: Mapping[str, object], path: Sequence[str]) -> object:
    value: object = facts
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value
