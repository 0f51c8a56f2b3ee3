"""What a look before a study found, as it is told: a table, what to do next, and whether a study could begin."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cloudcmp.model.safety import Finding
from cloudcmp.report.table import Head

SET_UP = frozenset({"extra", "credentials", "settings"})
"""Findings of a provider that is not set up: nothing more can be told of it."""
MARKS = {True: "+ ok", False: "! not ok", None: "? unknown"}
"""How a finding is told: a sign and a word, because neither colour nor a sign alone is read by everyone."""


@dataclass(frozen=True, slots=True)
class Checked:
    """A finding, and the provider that it is of."""

    provider: str
    finding: Finding

    @property
    def unset(self) -> bool:
        """Whether it only says that a provider is not set up that nobody asked for."""
        return self.finding.what in SET_UP and self.finding.ok is None


def table(checked: Sequence[Checked]) -> tuple[tuple[str | Head, ...], Sequence[tuple[str, ...]]]:
    """The columns and rows of what was found of the providers that are set up, or were asked for."""
    rows = [
        (one.provider, one.finding.what, MARKS[one.finding.ok], one.finding.text) for one in checked if not one.unset
    ]
    return ("provider", "what", Head("holds", numeric=False, whole=True), "found"), rows


def told(checked: Sequence[Checked]) -> Iterator[str]:
    """What is told beneath the table, a line each: who is not set up, what to do next, where a study could begin."""
    yield from unset(checked)
    yield from steps(checked)
    yield from verdict(checked)


def unset(checked: Sequence[Checked]) -> list[str]:
    """A line for each provider that is not set up and that nobody asked for."""
    return [
        f"not set up, {one.provider}: {one.finding.text}" + (f"; {one.finding.next}" if one.finding.next else "")
        for one in checked
        if one.unset
    ]


def steps(checked: Sequence[Checked]) -> list[str]:
    """What to do next, a line for each finding that asks for something: first what keeps a study from beginning."""
    asking = [one for one in checked if one.finding.next and not one.unset]
    asking.sort(key=lambda one: one.finding.ok is not False)
    return [f"next, {one.provider} {one.finding.what}: {one.finding.next}" for one in asking]


def verdict(checked: Sequence[Checked]) -> Iterator[str]:
    """Where a study could begin, as far as that can be told, and where not with what is in the way."""
    bad: dict[str, list[str]] = {}
    for one in checked:
        if not one.unset:
            bad.setdefault(one.provider, []).extend([one.finding.what] if one.finding.ok is False else [])
    study = bad.pop("study", None)
    if study:
        yield f"the study cannot be run: see {', '.join(study)}"
    if good := [name for name, whats in bad.items() if not whats]:
        yield f"as far as can be told, a study could begin on {', '.join(good)}"
    for name, whats in bad.items():
        if whats:
            yield f"a study could not begin on {name}: see {', '.join(dict.fromkeys(whats))}"


def as_data(checked: Sequence[Checked]) -> list[dict[str, object]]:
    """What was found as a JSON document's data."""
    return [
        {
            "provider": one.provider,
            "what": one.finding.what,
            "ok": one.finding.ok,
            "text": one.finding.text,
            "next": one.finding.next,
        }
        for one in checked
    ]
