"""The facts that agents reported of machines, which must be alike for numbers to be compared."""

import json
from collections.abc import Iterator, Mapping, Sequence

from cloudcmp.model.plan import Plan
from cloudcmp.model.trial import Attempt

# Key of the comparison's facts, and where the agent's hello holds it.
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
# Notes that say how a probe really ran, where its parameters left that open.
_OF_A_PROBE = ("engine", "array_bytes", "file_bytes", "blas_kernel", "tool_version", "page_cache", "pass", "loadfile")
_SHOWN = 3


def reported(attempt: Attempt) -> Mapping[str, object]:
    """An attempt's facts as an object; an empty one where they are not of that form."""
    try:
        found = json.loads(attempt.facts)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def note(facts: Mapping[str, object], key: str) -> object:
    """One note of an attempt, None where the agent did not send it."""
    return _at(facts, ("notes", key))


def facts_of(plan: Plan, attempts: Sequence[Attempt]) -> dict[int, dict[str, str]]:
    """For each candidate the facts that `compare` sets beside each other, as text; unreported ones are left out.

    Those of the machine have plain names (`kernel`); how a probe really ran is `<probe>.<note>` (`disk.engine`). Where
    a candidate's launches differ among themselves, the value names each that was seen. Processor, memory, instruction
    set are no such facts: they belong to the offering. `disk_class` is what the offering advertises.
    """
    seen = seen_facts(plan, attempts)
    found = {at: {key: joined(values) for key, values in mine.items()} for at, mine in seen.items()}
    for candidate in plan.candidates:
        disk_class = dict(candidate.offering.attributes).get("disk_class")
        if disk_class:
            found[candidate.index].setdefault("disk_class", disk_class)
    return found


def seen_facts(plan: Plan, attempts: Sequence[Attempt]) -> dict[int, dict[str, tuple[str, ...]]]:
    """For each candidate and fact all values that its agents reported, sorted."""
    seen: dict[int, dict[str, dict[str, None]]] = {candidate.index: {} for candidate in plan.candidates}
    for attempt in attempts:
        trial = plan.trials[attempt.trial]
        mine = seen[plan.launches[trial.launch].candidate]
        for key, value in _of_one(reported(attempt), trial.probe):
            mine.setdefault(key, {})[value] = None
    return {at: {key: tuple(sorted(values)) for key, values in mine.items()} for at, mine in seen.items()}


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
    """Several values as one text; past three only how many more there are."""
    more = f" and {len(values) - _SHOWN} more" if len(values) > _SHOWN else ""
    return " and ".join(values[:_SHOWN]) + more


def _at(facts: Mapping[str, object], path: Sequence[str]) -> object:
    found: object = facts
    for key in path:
        found = found.get(key) if isinstance(found, dict) else None
    return found
