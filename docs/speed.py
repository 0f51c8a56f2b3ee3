"""What benchmarks/ has seen beside the best tools, held against its goals."""

import json
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from text import NOTE, table, wrapped

from cloudcmp.catalog import PROBES

FOLDER = Path(__file__).parent.parent / "benchmarks"
_BOUND = re.compile(r"(?:(>=|<=) )?([0-9.]+)(?: to ([0-9.]+))?")


@dataclass(frozen=True)
class Row:
    """A figure: whose, beside what, by which script; its goal, what was seen, and why it falls short."""

    name: str
    probe: str
    what: str
    peer: str
    script: str
    goal: str
    why: str
    seen: dict[str, Any] | None

    @property
    def told(self) -> str:
        """The ratio seen with its spread."""
        if self.seen is None:
            return "not measured yet"
        return f"{self.seen['ratio']:g} ({self.seen['low']:g} to {self.seen['high']:g}, n = {self.seen['rounds']})"

    @property
    def verdict(self) -> str:
        """The goal, and whether the ratio seen is within it."""
        if not self.goal:
            return "none"
        if self.seen is None:
            return self.goal
        return f"{self.goal}: {'reached' if within(self.goal, float(self.seen['ratio'])) else 'missed'}"


def within(goal: str, ratio: float) -> bool:
    """Whether a ratio is within a goal such as `>= 0.95`, `<= 0.8` or `0.97 to 1.03`."""
    found = _BOUND.fullmatch(goal)
    if found is None or (found[1] is None) == (found[3] is None):
        raise ValueError(f"not a goal: {goal!r}")
    if found[3] is not None:
        return float(found[2]) <= ratio <= float(found[3])
    return ratio >= float(found[2]) if found[1] == ">=" else ratio <= float(found[2])


def _goals() -> dict[str, dict[str, str]]:
    return tomllib.loads((FOLDER / "goals.toml").read_text(encoding="utf-8"))


def without_peer() -> dict[str, str]:
    """Probes that no figure stands beside, and why."""
    return {probe.name: probe.no_peer for probe in PROBES.values() if probe.no_peer}


def speed_rows() -> list[Row]:
    """The goals of benchmarks/ with what was seen."""
    seen = json.loads((FOLDER / "seen.json").read_text(encoding="utf-8"))
    goals = {name: {"why": "", **goal} for name, goal in _goals().items()}
    return [Row(name=name, seen=seen.get(name), **goal) for name, goal in goals.items()]


def peers(probe: str) -> Iterator[str]:
    """What a probe is set beside, and the ratio seen."""
    if rows := [row for row in speed_rows() if row.probe == probe]:
        yield ""
        head = ("beside", "ratio ours / peer seen", "goal")
        yield from table(head, ((f"{row.what}: {row.peer}", row.told, row.verdict) for row in rows))
    if why := without_peer().get(probe):
        yield ""
        yield from wrapped(f"No peer: {why}.")


def speed_page() -> Iterator[str]:
    """Every figure that is set beside a peer: the goal, what was seen, and why a goal is not reached."""
    yield "# Beside the best tools\n"
    yield NOTE
    yield "Ratios ours / peer of runs that took turns on one machine: the median, the least, the greatest, how many."
    yield "Each is written by the script in `benchmarks/` that is named with it; how they are made, and what bounds"
    yield "some, is told in `benchmarks/README.md`. No script fails for a time.\n"
    rows = speed_rows()
    head = ("figure", "peer", "script", "goal", "seen")
    yield from table(head, ((row.what, row.peer, f"`{row.script}`", row.verdict, row.told) for row in rows))
    yield "\n## Where a goal is not reached\n"
    for row in rows:
        if row.verdict.endswith("missed"):
            yield from wrapped(f"- **{row.what}**, {row.told}: {row.why}")
    yield "\n## Where it was measured\n"
    places: dict[str, list[str]] = {}
    for row in rows:
        if row.seen:
            places.setdefault(f"{row.seen['machine']}, {row.seen['date']}", []).append(row.name)
    for place, names in places.items():
        yield from wrapped(f"- {place}: {', '.join(names)}")
