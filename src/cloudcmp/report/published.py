"""Prints published tables next to their recomputation."""

from collections import Counter
from collections.abc import Sequence

from rich.console import Console

from cloudcmp.analysis.published import Check, ClaimCheck, Recomputation, Verdict
from cloudcmp.analysis.published.number import table_name
from cloudcmp.report.numbers import UNKNOWN
from cloudcmp.report.table import Head, say, table

_STYLES = {Verdict.FOLLOWS: "green", Verdict.DOES_NOT_FOLLOW: "red", Verdict.NOT_PRINTED: "yellow"}
_SHORT = {Verdict.FOLLOWS: "follows", Verdict.DOES_NOT_FOLLOW: "does not", Verdict.NOT_PRINTED: "not known"}


def print_published(console: Console, result: Recomputation, *, every: bool = False) -> None:
    """Print what does not follow from a document's own numbers: figures, sentences, and what is not known or stored.

    `every` also prints the figures and sentences that do follow.
    """
    say(console, result.document, "bold underline")
    say(console, f"{_counted(result.checks, 'figure')}; {_counted(result.claims, 'sentence')}")
    kept = [check for check in result.checks if every or check.verdict is Verdict.DOES_NOT_FOLLOW]
    for number in dict.fromkeys((check.table, check.page) for check in kept):
        console.print()
        _table(console, number, [check for check in kept if (check.table, check.page) == number], every)
    claims = [claim for claim in result.claims if every or claim.verdict is Verdict.DOES_NOT_FOLLOW]
    claims = [claim for place, claim in enumerate(claims) if claim not in claims[:place]]
    if claims:
        console.print()
        say(console, "Sentences" if every else "Sentences that do not follow", "bold")
    for claim in claims:
        _claim(console, claim)
    if not every:
        _open(console, result)
    _uncovered(console, result)


def _named(numbers: str) -> str:
    """The numbers of tables as a reader calls them: "table 8", "tables 11, 23", "figure 2"."""
    return f"tables {numbers}" if "," in numbers else table_name(numbers)


def _counted(found: Sequence[Check] | Sequence[ClaimCheck], noun: str) -> str:
    if not found:
        return f"no {noun} to recompute"
    by = Counter(one.verdict for one in found)
    follows, against, unknown = (by[verdict] for verdict in Verdict)
    return f"{len(found)} {noun}s: {follows} follow, {against} do not, {unknown} have inputs that are not printed"


def _table(console: Console, number: tuple[str, str], checks: Sequence[Check], every: bool) -> None:
    units = list(dict.fromkeys(check.unit for check in checks if check.unit))
    title = f"{_named(number[0])}, page {number[1]}{f' ({units[0]})' if len(units) == 1 else ''}"
    rows = []
    for check in checks:
        unit = f" {check.unit}" if len(units) > 1 else ""
        source = f"{check.what}{f'; {check.note}' if check.note else ''}"
        figures = ((check.printed or UNKNOWN) + unit, check.recomputed_text() or UNKNOWN)
        row = [f"{check.row} {check.column}", *figures, source]
        rows.append([*row, _SHORT[check.verdict]] if every else row)
    heads = ("figure", Head("printed"), Head("recomputed"), "from")
    table(console, (*heads, "follows?") if every else heads, rows, title=title)


def _claim(console: Console, claim: ClaimCheck) -> None:
    tables = "".join(f", {_named(number)}" for number in claim.tables)
    where = f"page {claim.page}, section {claim.section}{tables}"
    say(console, f'{where}: "{claim.quote}"')
    say(console, f"{claim.verdict}: {claim.found}{f'; {claim.note}' if claim.note else ''}", _STYLES[claim.verdict], 2)


def _open(console: Console, result: Recomputation) -> None:
    """Print the figures that cannot be recomputed, by reason."""
    reasons: dict[str, list[str]] = {}
    for check in result.checks_with(Verdict.NOT_PRINTED):
        reasons.setdefault(check.note or "its inputs are not printed", []).append(check.table)
    if reasons:
        console.print()
        say(console, "Cannot be recomputed", "bold")
    for reason, tables in reasons.items():
        places = ", ".join(f"{number} ({times})" for number, times in Counter(tables).items())
        say(console, f"{reason}: tables {places}", indent=2)


def _uncovered(console: Console, result: Recomputation) -> None:
    """Print the tables and figures of which no numbers are stored, by reason."""
    reasons: dict[str, list[str]] = {}
    for one in result.uncovered:
        reasons.setdefault(one.reason, []).append(one.number)
    if reasons:
        console.print()
        say(console, "Not covered", "bold")
    for reason, numbers in reasons.items():
        say(console, f"{reason}: {', '.join(numbers)}", indent=2)
