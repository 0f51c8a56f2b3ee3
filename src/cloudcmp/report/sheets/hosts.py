"""The sheets of delivered facts next to advertised facts of the machines."""

import re

from cloudcmp.model.untrusted_text import one_line
from cloudcmp.report.numbers import UNKNOWN
from cloudcmp.report.report_model import StudyView
from cloudcmp.report.sheets.candidates import advertised
from cloudcmp.report.sheets.sheet import Field, Row, Sheet, captioned, columns, heading, row
from cloudcmp.units import format_quantity

_MOST_COLUMNS = 6
_MOST_FACTS = 120
_LONGEST_FACT = 90
# The names under which machines report an advertised fact.
_REPORTED_AS = {
    "vcpus": ("cpus", "cpu.online", "cpu.cores"),
    "memory": ("memory.total_bytes", "memory_bytes", "memory_gib"),
    "cpu": ("cpu.model", "cpu_model"),
}
_CACHE = re.compile(r"cpu\.caches\.(\d+)\.(bytes|level|line_bytes|shared_cpus|type)")
_SIZES = ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))


def sheets(study: StudyView) -> tuple[Sheet, ...]:
    """Return one table for every few candidates: advertised facts first, then what the machines reported."""
    # Facts that contain further facts stay in the store; readers do not need them.
    seen = {
        index: _with_caches({key: text for key, text in pairs if not text.startswith("{'")})
        for index, pairs in study.view.hosts
    }
    known = [one.index for one in study.candidates if seen.get(one.index) or advertised(one)]
    parts = [known[at : at + _MOST_COLUMNS] for at in range(0, len(known), _MOST_COLUMNS)]
    return tuple(_sheet(study, part, seen) for part in parts) if seen else ()


def _with_caches(facts: dict[str, str]) -> dict[str, str]:
    """The facts of a machine with one fact for each cache, named by its level and type, in place of up to five."""
    caches: dict[str, dict[str, str]] = {}
    others = {}
    for key, text in facts.items():
        if found := _CACHE.fullmatch(key):
            caches.setdefault(found[1], {})[found[2]] = text
        else:
            others[key] = text
    for number, one in sorted(caches.items()):
        kind = one.get("type", "").lower()
        name = f"cpu.cache L{one.get('level', '?')}{'' if kind in {'', 'unified'} else f' {kind}'}"
        parts = (
            readable("_bytes", one.get("bytes", UNKNOWN)),
            f"lines of {readable('_bytes', one['line_bytes'])}" if "line_bytes" in one else "",
            f"shared by CPUs {one['shared_cpus']}" if "shared_cpus" in one else "",
        )
        others[name if name not in others else f"{name} ({number})"] = ", ".join(filter(None, parts))
    return others


def _sheet(study: StudyView, part: list[int], seen: dict[int, dict[str, str]]) -> Sheet:
    promised = {at: advertised(study.candidates[at]) for at in part}
    owned = {one.index for one in study.candidates if one.runner in {"local", "netns"}}
    rows = [heading("advertised", "and what the machines themselves report, which is not verified")]
    rows += [
        _advertised(key, promised, seen, part, owned) for key in sorted({key for at in part for key in promised[at]})
    ]
    facts = [_fact(key, seen, part) for key in sorted({key for at in part for key in seen.get(at, {})})[:_MOST_FACTS]]
    for words, differs in (("delivered, and different", True), ("delivered, and the same on all", False)):
        some = [row(name, *values) for name, values in facts if (len(set(values)) > 1) is differs]
        rows += [heading(words), *some] if some else []
    names = tuple(study.candidates[at].id for at in part)
    return Sheet(captioned(study.origin, "Delivered and advertised facts"), columns("fact", *names),
                 tuple(rows))  # fmt: skip


def _advertised(
    key: str, promised: dict[int, dict[str, str]], seen: dict[int, dict[str, str]], part: list[int], owned: set[int]
) -> Row:
    """Return an advertised fact of each candidate, with the delivered one below if the machine reported it."""
    fields = []
    for at in part:
        # An offering of this machine is a set of its processors; the machine reports all of them.
        names = () if key == "vcpus" and at in owned else _REPORTED_AS.get(key, ())
        found = next(((name, seen[at][name]) for name in names if name in seen.get(at, {})), None)
        below = f"delivered: {readable(*found)}" if found else ""
        fields.append(Field(promised[at].get(key, UNKNOWN), below))
    return row(one_line(key, 60).replace("_", " "), *fields)


def _fact(key: str, seen: dict[int, dict[str, str]], part: list[int]) -> tuple[str, list[str]]:
    """A fact's name, and its value on each candidate."""
    values = [readable(key, seen.get(at, {}).get(key, UNKNOWN)) for at in part]
    return one_line(key, 60).replace("_", " ").replace(".", " "), values


def readable(key: str, value: str) -> str:
    """Format a fact with its unit for readers; the suffix of its name is the unit of the raw value."""
    if value in {"True", "False"}:
        return "yes" if value == "True" else "no"
    if not value.replace(".", "", 1).isdigit() or len(value) > 20:
        return one_line(value, _LONGEST_FACT)
    if key.endswith(("_bytes", ".bytes")):
        size = next(((size, unit) for size, unit in _SIZES if float(value) >= size), (1, "B"))
        return f"{float(value) / size[0]:.4g} {size[1]}"
    if key.endswith("_gib"):
        return f"{float(value):.4g} GiB"
    if key.endswith("_bytes_per_s"):
        return format_quantity(float(value), "B/s")
    return format_quantity(float(value), "s") if key.endswith("_s") and not key.endswith("_per_s") else value
