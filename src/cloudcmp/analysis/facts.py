"""The facts that agents reported about machines, which must be alike for a fair comparison."""

import json
from collections.abc import Iterator, Mapping, Sequence

from cloudcmp.model.history import Facts
from cloudcmp.model.offering import COPIES, DOUBTFUL_PRICE, REPEATED
from cloudcmp.model.plan import Plan
from cloudcmp.model.trial import Attempt
from cloudcmp.model.values import TrialValues

# The key of a fact in comparisons, and its path in the agent's hello.
_OF_THE_MACHINE = (
    ("agent_version", ("version",)),
    ("image", ("host", "image")),
    ("image", ("host", "os")),
    ("kernel", ("host", "kernel")),
    ("compiler", ("host", "compiler")),
    ("transparent_huge_pages", ("host", "memory", "thp")),
    ("huge_pages", ("host", "memory", "huge_pages")),
    ("page_merging", ("host", "memory", "ksm")),
    ("balloon", ("host", "memory", "balloon")),
    ("clocksource", ("host", "clocksource")),
    ("file_system", ("host", "disk", "fs")),
)
# What else may differ between the launches of one candidate.
_OF_A_LAUNCH = (
    *_OF_THE_MACHINE, ("cpu", ("host", "cpu", "model")), ("cpu", ("host", "cpu_model")), ("zone", ("zones",)),
    ("machine", ("host", "boot_id")),
)  # fmt: skip
# Notes on how a probe really ran, if its parameters left that open.
_OF_A_PROBE = ("engine", "array_bytes", "file_bytes", "blas_kernel", "tool_version", "page_cache", "pass", "loadfile")
_SHOWN = 3
_UNKNOWN = "unknown"
# Clouds whose default disks differ by orders of magnitude, so that a ranking of them would be one of defaults; and
# clouds whose types come with a disk, which one chooses with the type.
_DEFAULT_DISKS = frozenset({"aws", "azure", "gcp", "ec2", "openstack", "rackspace"})
_OWN_DISKS = frozenset({"digitalocean", "linode", "vultr"})
# Columns of a table that describe how its values were measured, and are compared.
_OF_A_TABLE = ("version", "tool_version", "agent_version", "image", "kernel", "compiler", "clocksource", "file_system")


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

    Those of an imported table are its columns of these names.

    Those of the machine have plain names (`kernel`); how a probe really ran is `<probe>.<note>` (`disk.engine`). If a
    candidate's launches differ among themselves, the value lists each reported one. Processor, memory and instruction
    set are not included: they belong to the offering. `disk_class` is the offering's advertised one.
    """
    reported_values = reported_facts(plan, attempts)
    facts_by_candidate = {
        at: {key: joined(values) for key, values in mine.items()} for at, mine in reported_values.items()
    }
    for candidate in plan.candidates:
        mine, attributes = facts_by_candidate[candidate.index], dict(candidate.offering.attributes)
        disk_class = attributes.get("disk_class")
        if disk_class:
            mine.setdefault("disk_class", disk_class)
        if candidate.runner in _DEFAULT_DISKS and not candidate.volume:
            mine["default_disk"] = f"the default of {candidate.runner}"
        elif candidate.runner in _DEFAULT_DISKS | _OWN_DISKS:
            mine["default_disk"] = "chosen"
        if plan.imported:
            mine.update(
                (key, text)
                for key, text in attributes.items()
                if text and (key in _OF_A_TABLE or key.endswith(".tool_version"))
            )
    return facts_by_candidate


def table_marks(plan: Plan) -> dict[int, tuple[str, ...]]:
    """For each candidate of an imported table, why its rows may count a measurement several times."""
    found = {}
    for one in plan.candidates if plan.imported else ():
        attributes = dict(one.offering.attributes)
        lines = []
        if attributes.get(REPEATED):
            lines.append(f"{one.id}: {attributes[REPEATED]} rows repeat another one")
        if attributes.get(COPIES):
            lines.append(f"{one.id}: files with the bytes of another one: {attributes[COPIES]}")
        if lines:
            found[one.index] = tuple(lines)
    return found


def name_warnings(plan: Plan) -> tuple[str, ...]:
    """One line for each set of candidates whose names differ in upper and lower case only, and each doubtful price."""
    alike: dict[str, list[str]] = {}
    for one in plan.candidates:
        alike.setdefault(one.id.casefold(), []).append(one.id)
    lines = [
        f"{' and '.join(names)} differ in upper and lower case only, and count as {len(names)} candidates"
        for names in alike.values()
        if len(names) > 1
    ]
    for one in plan.candidates:
        doubtful = dict(one.offering.attributes).get(DOUBTFUL_PRICE)
        if doubtful:
            lines.append(f"{one.id}: no cloud has a price of {doubtful}, so its cost counts as unknown")
    return tuple(lines)


def spans(plan: Plan, values: TrialValues) -> dict[tuple[str, int], tuple[float, float]]:
    """For each cell and candidate the first and last start (Unix time, s) of its launches with a value."""
    import numpy as np

    owner = np.array([launch.candidate for launch in plan.launches], np.int64)
    start = np.array([plan.start_at + launch.start_s for launch in plan.launches], np.float64)
    launch, cell = values.launch[values.ok], values.cell[values.ok].astype(np.int64)
    place = cell * len(plan.candidates) + owner[launch]
    size = len(values.cells) * len(plan.candidates)
    first, last = np.full(size, np.inf), np.full(size, -np.inf)
    np.minimum.at(first, place, start[launch])
    np.maximum.at(last, place, start[launch])
    return {
        (values.cells[at // len(plan.candidates)], at % len(plan.candidates)): (float(first[at]), float(last[at]))
        for at in np.flatnonzero(np.isfinite(first)).tolist()
    }


def launch_facts(plan: Plan, attempts: Sequence[Attempt]) -> tuple[Facts, ...]:
    """The facts that agents reported about each launch of a plan, as sorted text pairs; the first of each counts."""
    found: list[dict[str, str]] = [{} for _ in plan.launches]
    for attempt in attempts:
        mine, facts = found[plan.trials[attempt.trial].launch], reported(attempt)
        for key, path in _OF_A_LAUNCH:
            value = _text(_at(facts, path))
            if value:
                mine.setdefault(key, value)
    return tuple(tuple(sorted(mine.items())) for mine in found)


def _text(fact: object) -> str:
    """A fact as text; empty if it, or one of several, is unknown."""
    if isinstance(fact, list):
        return "" if _UNKNOWN in fact else ", ".join(map(str, fact))
    return "" if fact is None else str(fact)


def facts_of_a_table(attributes: Mapping[str, str]) -> Facts:
    """The columns of a table that describe how an offering's values were measured, as sorted text pairs."""
    return tuple((name, attributes[name]) for name in sorted(_OF_A_TABLE) if attributes.get(name))


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
