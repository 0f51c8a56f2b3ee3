"""Prints how steady candidates are, who is steadier, and how many launches a median needs."""

from collections.abc import Sequence

from rich.console import Console

from cloudcmp.answer.effects import leading
from cloudcmp.model.result import Bounds
from cloudcmp.model.steadiness import Steadiness, Steady, SteadyPair, TwoLevels
from cloudcmp.model.untrusted_text import one_line
from cloudcmp.model.view import View
from cloudcmp.report.numbers import UNKNOWN, Scale
from cloudcmp.report.report_model import StudyView
from cloudcmp.report.table import Head, say, table
from cloudcmp.report.text import short_names
from cloudcmp.units import format_quantity

_MOST_PAIRS = 20
NOTE = (
    "CoV: standard deviation / mean of launches, and of runs inside a launch, with 95 % intervals. Launches: for a "
    "95 % interval of the median within +-1, 2 and 5 % (CONFIRM); ~ by the rule of thumb, from too few launches."
)
PAIRS_NOTE = (
    "Ratio of the standard deviations between launches, with its 95 % interval. Steadier: Brown and Forsythe's p, "
    "corrected by Holm, below 0.05. As steady: surely within a factor of 1.5."
)
WITHOUT = "No candidate has two launches in a deciding measurement: nothing is known of its steadiness."


def show_steadiness(console: Console, view: View) -> None:
    """Print the steadiness of each candidate in each deciding cell, then the pairs."""
    study, found = StudyView.of(view), view.steadiness
    say(console, f"{view.plan.name}: how steady are they?", "bold")
    if study.origin:
        say(console, study.origin, "bold yellow")
    if found is None or not found.figures:
        say(console, WITHOUT)
        return
    names = short_names(study.short, 16)
    for cell in dict.fromkeys(one.cell for one in found.figures):
        rows = [
            (names[one.candidate], str(one.n), *figures_of(study, one)) for one in found.figures if one.cell == cell
        ]
        table(console, ("candidate", Head("n"), Head("CoV between"), Head("CoV within"), Head("launches")), rows,
              title=study.names.short(cell))  # fmt: skip
    say(console, NOTE, "dim")
    for line in level_lines(study, found.figures):
        say(console, line, indent=2)
    _pairs(console, study, found.pairs)


def _pairs(console: Console, study: StudyView, pairs: Sequence[SteadyPair]) -> None:
    if not pairs:
        return
    say(console, "")
    decided = [one for one in pairs if one.verdict is not Steady.CANNOT_TELL]
    undecided = len(pairs) - len(decided)
    if undecided:
        say(console, f"cannot tell for {undecided} of {len(pairs)} pairs: too few launches, or too wide an interval")
    if not decided:
        return
    shown, left = leading(decided, _MOST_PAIRS)
    rows = [pair_row(study, one) for one in shown]
    more = f" {left} more: --json" if left else ""
    table(
        console, ("measurement", "pair", Head("ratio (95 %)"), Head("p"), "verdict"), rows, note=f"{PAIRS_NOTE}{more}"
    )


def figures_of(study: StudyView, one: Steadiness) -> tuple[str, str, str]:
    """The coefficients of variation between and inside launches, and the launches needed."""
    unit = study.view.metrics[one.cell.partition(" ")[0]].unit if one.by_difference else "ratio"
    needed = ", ".join(f"{'' if each.measured else '~'}{each.launches}" for each in one.needed)
    return (_spread(one.between, one.between_bounds, unit), _spread(one.within, one.within_bounds, unit),
            needed or UNKNOWN)  # fmt: skip


def _spread(value: float | None, bounds: Bounds | None, unit: str) -> str:
    """A spread with its interval, in two digits: more are never known."""
    if value is None:
        return UNKNOWN
    scale = Scale.of([value], unit)
    ends = "" if bounds is None else f" ({bounds.low / scale.factor:.2g} to {bounds.high / scale.factor:.2g})"
    return f"{value / scale.factor:.2g} {scale.unit}{ends}"


def pair_row(study: StudyView, one: SteadyPair) -> tuple[str, str, str, str, str]:
    """A pair as texts: measurement, candidates, ratio, p, verdict."""
    a, b = study.short[one.a], study.short[one.b]
    ratio = UNKNOWN
    if one.ratio is not None and one.bounds is not None:
        ratio = f"{one.ratio:.2f} ({one.bounds.low:.2f} to {one.bounds.high:.2f})"
    p = UNKNOWN if one.p_adjusted is None else f"{one.p_adjusted:.3f}" if one.p_adjusted >= 0.001 else "< 0.001"
    why = f": {study.short_names.within(one_line(one.reason, 120))}" if one.reason else ""
    return study.names.short(one.cell), f"{a} against {b}", ratio, p, f"{one.verdict}{why}"


def level_lines(study: StudyView, figures: Sequence[Steadiness]) -> list[str]:
    """A sentence for each candidate whose launches have two levels, with what goes with them."""
    return [_levels(study, one, one.levels) for one in figures if one.levels is not None]


def _levels(study: StudyView, one: Steadiness, levels: TwoLevels) -> str:
    unit = study.view.metrics[one.cell.partition(" ")[0]].unit
    what = (f"{study.candidates[one.candidate].id}, {study.names.short(one.cell)}: two levels, "
            f"{format_quantity(levels.low, unit)} and {format_quantity(levels.high, unit)} "
            f"({levels.share_high * 100:.0f} % of launches)")  # fmt: skip
    if not levels.facts:
        tested = f" ({', '.join(levels.tested).replace('_', ' ')})" if levels.tested else ""
        return f"{what}; nothing that was recorded of the launches goes with them{tested}"
    best, *others = levels.facts
    low, high = (", ".join(one_line(text, 60) for text in texts[:3]) for texts in (best.low, best.high))
    share = f"{best.share * 100:.0f} % of launches, p {best.p:.2g}"
    more = f"; so do {', '.join(one.fact.replace('_', ' ') for one in others[:3])}" if others else ""
    return f"{what}; the {best.fact.replace('_', ' ')} goes with them: {low} is low, {high} is high ({share}){more}"
