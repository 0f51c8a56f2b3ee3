"""The sheets of every pair of candidates: effects, tests, and detectable differences."""

from collections.abc import Sequence

from cloudcmp.model.result import Comparison
from cloudcmp.report import numbers
from cloudcmp.report.report_model import MARKS, CellView, StudyView
from cloudcmp.report.sheets.sheet import KINDS, Column, Field, Row, Sheet, captioned, heading, row
from cloudcmp.report.words import direction

MOST_ROWS = 600
_MOST_CANDIDATES = 6
_COLUMNS = (
    Column("pair", hint="with the trials of each that gave a value, of those started"),
    Column("verdict", hint="on the first of the pair"),
    Column("effect", True, "first / second as a change, or a difference; with its 95 % interval"),
    Column("p adjusted", True, "paired t by round on log launch values; Holm (exploratory: Benjamini-Hochberg)"),
    Column("p paired", True, "before the correction"),
    Column("p Welch", True, "Welch's t, unpaired, as the literature used it"),
    Column("Hodges-Lehmann", True, "median of all pairwise effects"),
    Column("Cliff's δ", True, "-1 to 1: how often the first is above the second, less how often it is below"),
    Column("detectable", True, "smallest true effect that this many launches would find with 80 % power"),
    Column("n", True, "rounds with both, or launches"),
)  # fmt: skip


def sheets(study: StudyView) -> tuple[Sheet, ...]:
    """Return the deciding cells, then the exploratory ones; a long table ends with the number of omitted pairs.

    Of more than six candidates, only the pairs with the best one are listed.
    """
    deciding = [view for view in study.cells if view.decides and view.comparisons]
    others = [view for view in study.cells if not view.decides and view.comparisons]
    made = []
    for words, views in (("Every pair in the deciding cells", deciding), ("Exploratory cells: no verdicts", others)):
        if views:
            made.append(_sheet(study, words, views))
    return tuple(made)


def _sheet(study: StudyView, words: str, views: list[CellView]) -> Sheet:
    rows: list[Row] = []
    left, names = 0, study.short
    for view in views:
        some = view.of_leader() if len(view.estimates) > _MOST_CANDIDATES else view.comparisons
        left += len(view.comparisons) - len(some)
        if len(rows) + len(some) > MOST_ROWS:
            left += len(some)
            continue
        rows.append(heading(view.name, direction(view.metric)))
        rows += [_line(names, view, one) for one in some]
    note = f"{left} further pairs are only in `cloudcmp compare --json`." if left else ""
    return Sheet(captioned(study.origin, words), _COLUMNS, tuple(rows), note)


def _line(names: Sequence[str], view: CellView, one: Comparison) -> Row:
    unit = view.metric.unit
    kind, verdict = (KINDS[one.verdict], f"{MARKS[one.verdict]} {one.verdict}") if one.verdict else ("", "exploratory")
    marks = "; ".join(filter(None, (one.reason, *one.marks)))
    both = [view.estimates[at] for at in (one.a, one.b) if at in view.estimates]
    counts = " and ".join(f"{some.n_ok}/{some.n_started}" for some in both)
    middle = numbers.signed(one.hodges_lehmann, unit) if one.by_difference else numbers.ratio(one.hodges_lehmann)
    return row(
        Field(f"{names[one.a]} against {names[one.b]}", f"{counts} ok"),
        Field(verdict, marks, kind),
        Field(numbers.effect(one, unit), numbers.effect_bounds(one, one.bounds, unit)),
        numbers.probability(one.p_adjusted),
        numbers.probability(one.p_paired),
        numbers.probability(one.p_welch),
        middle,
        numbers.plain(one.cliffs_delta),
        numbers.detectable(one, unit),
        str(one.n),
    )
