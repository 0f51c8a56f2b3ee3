"""Prints where a provider is behind: the worst measurement first, each with its interval, verdict and lost time."""

from collections.abc import Iterator

from rich.console import Console

from cloudcmp.answer.gaps import Gap, Gaps
from cloudcmp.model.result import Verdict
from cloudcmp.model.view import View
from cloudcmp.report.numbers import Scale, signed
from cloudcmp.report.table import Head, say, table
from cloudcmp.report.text import without_common
from cloudcmp.report.words import CellNames, origin
from cloudcmp.units import format_in, format_quantity

_NOTE = (
    "behind: how many times worse than the best of the others (95 % interval of this pair alone); the verdict is "
    "corrected for all pairs"
)
_WORDS: dict[Verdict | None, str] = {
    None: "none",
    Verdict.BETTER: "better",
    Verdict.WORSE: "worse",
    Verdict.SAME: "same",
    Verdict.CANNOT_TELL: "undecided",
}


def show_gaps(console: Console, found: Gaps, view: View, *, every: bool = False) -> None:
    """Print the gaps of a provider; `every` adds those of measurements that get no verdict."""
    deciding = [one for one in found.gaps if one.decides]
    surely = [one for one in deciding if one.verdict is Verdict.WORSE]
    names = CellNames(one.cell for one in view.analysis.estimates)
    ids = without_common([one.id for one in view.plan.candidates])
    if label := origin(view.plan):
        say(console, label, "yellow")
    say(console, _answer(found, surely, names), "bold")
    say(console, "")
    if deciding:
        _table(console, deciding, names, ids, "Behind, worst first")
    for one in deciding:
        for line in _lost(one, names):
            say(console, line)
    rest = [one for one in found.gaps if not one.decides]
    if rest and every:
        say(console, "")
        _table(console, rest, names, ids, "Without a verdict: exploratory")
        for one in rest:
            for line in _lost(one, names):
                say(console, line)
    elif rest:
        say(console, f"{len(rest)} more without a verdict: --all shows them", "dim")


def _answer(found: Gaps, surely: list[Gap], names: CellNames) -> str:
    counted = (
        f"{found.provider} is behind by its values in {len(found.gaps)} of {found.cells} measurements, and surely in "
        f"{len(surely)}"
    )
    if not surely:
        return f"{counted}."
    worst = surely[0]
    size = _size(worst)
    return f"{counted}; most in {names.short(worst.cell)}: {size}."


def _size(one: Gap) -> str:
    if one.ratio is None:
        return signed(one.difference, one.unit)
    return f"{format_in(one.ratio, 1.0, '')} times worse than the best"


def _table(console: Console, gaps: list[Gap], names: CellNames, ids: list[str], title: str) -> None:
    numbers = {one.n for one in gaps}
    rows = []
    for one in gaps:
        scale = Scale.of([one.own_value, one.best_value], one.unit)
        row = [
            names.short(one.cell),
            scale.quantity(one.own_value),
            f"{scale.quantity(one.best_value)} {ids[one.best]}",
        ]
        rows.append([*row, _behind(one), *([str(one.n)] if len(numbers) > 1 else []), _WORDS[one.verdict]])
    heads: list[str | Head] = ["measurement", Head("own"), Head("best"), Head("behind")]
    heads += [*([Head("n")] if len(numbers) > 1 else []), Head("verdict", numeric=False)]
    note = _NOTE if len(numbers) > 1 else f"{_NOTE}; n = {min(numbers)}"
    table(console, heads, rows, title=title, note=note)


def _behind(one: Gap) -> str:
    low, high = (None, None) if one.bounds is None else (one.bounds.low, one.bounds.high)
    if one.ratio is None:
        return f"{signed(one.difference, one.unit)}"
    if low is None or high is None:
        return f"×{format_in(one.ratio, 1.0, '')}"
    return f"×{one.ratio:.3g} ({low:.3g} to {high:.3g})"


def _lost(one: Gap, names: CellNames) -> Iterator[str]:
    """One line on the parts of the lost time."""
    if one.parts:
        parts = "; ".join(
            f"{part.name} {format_quantity(part.own_s, 's')} against {format_quantity(part.best_s, 's')} "
            f"({signed(part.lost_s, 's')})"
            for part in one.parts
        )
        yield f"where the time goes, {names.short(one.cell)}: {parts}"
