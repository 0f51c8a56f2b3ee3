"""The sheets of file operations by size of file and record, as IOzone prints them."""

from collections.abc import Sequence

from cloudcmp.model.cell import Cell
from cloudcmp.report.numbers import UNKNOWN, Scale, known
from cloudcmp.report.report_model import CellView, StudyView
from cloudcmp.report.sheets.sheet import Column, Row, Sheet, captioned, heading, row
from cloudcmp.report.words import metric_words, param_words, parse_cell

TITLE = "By size of file and record"
_ROWS, _COLUMNS = "file_bytes", "record_bytes"
_MOST_SHEETS = 40

_Found = dict[tuple[int, int], CellView]


def sheets(study: StudyView) -> tuple[Sheet, ...]:
    """Return a table for each candidate and set of other parameters, if several file and record sizes were measured.

    Rows are file sizes, under a heading for each operation; columns are record sizes. A number is the median over
    launches; a dash is a requested pair without a value, a blank a pair of sizes that was not requested.
    """
    groups: dict[tuple[str, tuple[tuple[str, str], ...]], dict[str, _Found]] = {}
    for view in study.cells:
        cell = parse_cell(view.cell)
        sizes = (cell.get(_ROWS) or "", cell.get(_COLUMNS) or "")
        if all(size.isdigit() for size in sizes):
            rest = tuple(pair for pair in cell.params if pair[0] not in {_ROWS, _COLUMNS, "op"})
            by_size = groups.setdefault((cell.metric, rest), {}).setdefault(cell.get("op") or "", {})
            by_size[int(sizes[0]), int(sizes[1])] = view
    made = [
        _sheet(study, at.index, Cell(metric, rest), by_op)
        for (metric, rest), by_op in groups.items()
        if min(len({pair[end] for found in by_op.values() for pair in found}) for end in (0, 1)) > 1
        for at in study.candidates
        if any(at.index in view.estimates for found in by_op.values() for view in found.values())
    ]
    return tuple(made[:_MOST_SHEETS])


def _sheet(study: StudyView, at: int, rest: Cell, by_op: dict[str, _Found]) -> Sheet:
    views = [view for found in by_op.values() for view in found.values()]
    medians = [one.median for view in views if (one := view.estimates.get(at)) and known(one.median)]
    scale = Scale.of(medians, views[0].metric.unit)
    records = sorted({record for found in by_op.values() for _, record in found})
    rows: list[Row] = []
    for op, found in by_op.items():
        rows += [heading(param_words("op", op))] if op else []
        for size in sorted({size for size, _ in found}):
            name = param_words(_ROWS, str(size))
            rows.append(row(name, *(_median(scale, found.get((size, record)), at) for record in records)))
    words = ", ".join((metric_words(rest.metric), *(param_words(*pair) for pair in rest.params)))
    caption = captioned(study.origin, f"{study.candidates[at].id}: {words}, {scale.unit}")
    titles = (Column(param_words(_COLUMNS, str(record)), True) for record in records)
    return Sheet(caption, (Column("file, record"), *titles), tuple(rows), _note(views, at))


def _median(scale: Scale, view: CellView | None, at: int) -> str:
    if view is None or at not in view.estimates:
        return ""
    median = view.estimates[at].median
    return scale.number(median) if known(median) else UNKNOWN


def _note(views: Sequence[CellView], at: int) -> str:
    counts = sorted({one.n for view in views if (one := view.estimates.get(at))})
    launches = str(counts[0]) if len(set(counts)) == 1 else f"{counts[0]} to {counts[-1]}"
    dash = f"{UNKNOWN}: no value; a blank: not requested."
    return f"Medians over launches (n {launches}); {dash} Intervals are in the tables of all figures."
