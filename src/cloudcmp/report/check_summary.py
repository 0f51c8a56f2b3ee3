"""Renders the findings of a check as a table and lines, and the clauses of a live check."""

from collections.abc import Iterator, Sequence

from cloudcmp.model.check import LiveCheck, ProviderFinding
from cloudcmp.provision.clauses import CLAUSES
from cloudcmp.provision.contract import TESTED, Ruling
from cloudcmp.provision.contract_run import MACHINES_MOST
from cloudcmp.report.table import Head
from cloudcmp.units import format_money, format_seconds

MARKS = {True: "+ ok", False: "! not ok", None: "? unknown"}
"""A sign and a word for each result, because neither colour nor a sign alone is readable by everyone."""


def table(checked: Sequence[ProviderFinding]) -> tuple[tuple[str | Head, ...], Sequence[tuple[str, ...]]]:
    """Columns and rows of the findings, without providers that are not set up and were not named."""
    rows = [
        (one.provider, one.finding.what, MARKS[one.finding.ok], one.finding.text) for one in checked if not one.optional
    ]
    return ("provider", "what", Head("holds", numeric=False, whole=True), "found"), rows


def summary_lines(checked: Sequence[ProviderFinding]) -> Iterator[str]:
    """Lines below the table: providers that are not set up, next steps, and where a study could start."""
    yield from not_set_up(checked)
    yield from next_steps(checked)
    yield from verdict(checked)


def not_set_up(checked: Sequence[ProviderFinding]) -> list[str]:
    """One line for each provider that is not set up and was not named."""
    return [
        f"not set up, {one.provider}: {one.finding.text}" + (f"; {one.finding.next}" if one.finding.next else "")
        for one in checked
        if one.optional
    ]


def next_steps(checked: Sequence[ProviderFinding]) -> list[str]:
    """One line for each finding with a next step; those that block a study come first."""
    steps = [one for one in checked if one.finding.next and not one.optional]
    steps.sort(key=lambda one: one.finding.ok is not False)
    return [f"next, {one.provider} {one.finding.what}: {one.finding.next}" for one in steps]


def verdict(checked: Sequence[ProviderFinding]) -> Iterator[str]:
    """Yield where a study could start, as far as known, and where not, with the blocking findings."""
    bad: dict[str, list[str]] = {}
    for one in checked:
        if not one.optional:
            bad.setdefault(one.provider, []).extend([one.finding.what] if one.finding.ok is False else [])
    study = bad.pop("study", None)
    if study:
        yield f"the study cannot be run: see {', '.join(study)}"
    if good := [name for name, findings in bad.items() if not findings]:
        yield f"as far as known, a study could start on {', '.join(good)}"
    for name, findings in bad.items():
        if findings:
            yield f"a study could not start on {name}: see {', '.join(dict.fromkeys(findings))}"


def live_announcement(check: LiveCheck, ttl_s: float) -> tuple[str, ...]:
    """Return lines about what a live check will do, and its worst-case cost."""
    one = check.candidate.offering
    money = "nothing is billed there" if check.worst is None else f"at worst {format_money(check.worst)}"
    return (
        f"{one.provider}/{one.region}/{one.name}: at most {MACHINES_MOST} machines, each for at most "
        f"{format_seconds(ttl_s)}; {money}.",
        f"Until everything is confirmed gone, its record is in {check.folder}: cloudcmp cleanup {check.folder}",
    )


def live_table(rulings: Sequence[Ruling]) -> tuple[tuple[str, ...], Sequence[tuple[str, ...]]]:
    """Columns and rows of the clauses."""
    marks = {True: "+", False: "!", None: "?"}
    return ("clause", "promise", "here", "why"), [
        (one.clause, one.text, f"{marks[one.holds]} {one.words}", one.why) for one in rulings
    ]


def live_summary(
    provider: str, tried: int, differs: Sequence[str], left: Sequence[str], *, interrupted: bool
) -> tuple[str, ...]:
    """Return the last lines of a live check: leftovers, and differences from the tested provider."""
    tested = TESTED.get(provider)
    against = f"Tested against {tested.against}, not on a real account." if tested else "Never tested before."
    ended = f"{len(left)} LEFT." if left else "Everything that was created is confirmed gone."
    if interrupted:
        return (f"Stopped on request: {tried} of {len(CLAUSES)} promises were tested.", ended, against, *differs)
    return (ended, against, *(differs or ("Nothing differs here.",)))
