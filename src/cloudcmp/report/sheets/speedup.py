"""The sheet of speed-up and efficiency of more threads, and of the rate per vCPU of each candidate."""

import math

from cloudcmp.model.cell import Cell
from cloudcmp.model.metric import Better, Reduce
from cloudcmp.model.plan import Candidate
from cloudcmp.model.result import Estimate
from cloudcmp.report.numbers import UNKNOWN, Scale, known
from cloudcmp.report.report_model import CellView, StudyView
from cloudcmp.report.sheets.sheet import Column, Field, Row, Sheet, captioned, heading, row
from cloudcmp.report.words import direction, parse_cell, stands_in

TITLE = "What more threads bring"
_UNITS = frozenset({"op/s", "flop/s", "B/s", "s"})
_COLUMNS = (
    Column("candidate"),
    Column("threads", True, "that work at the same time; all: as many as the offering has vCPUs"),
    Column("median", True, "median of the launch values; below its 95 % interval, and n, the launches"),
    Column("speed-up", True, "the median divided by that of one thread; for times the inverse"),
    Column("efficiency", True, "the speed-up divided by the number of threads"),
    Column("per vCPU", True, "a rate divided by the vCPUs of the offering, used or not"),
)
_NOTE = (
    "Medians of the same candidate; below, the range between the ends of the two medians' 95 % intervals, which covers "
    "with at least 90 %. A vCPU may be a core or half of one: if it is half, arithmetic reaches at most 50 %."
)
_CellViews = list[tuple[CellView, str]]


def sheets(study: StudyView) -> tuple[Sheet, ...]:
    """Return one table of everything measured with one and with more threads on one candidate; empty if nothing was.

    Of several metrics of one probe with equal parameters, only the first in the table of metrics is shown.
    """
    rows: list[Row] = []
    for views in _by_work(study).values():
        lines = [line for one in study.candidates for line in _lines(views, one)]
        if lines:
            first = views[0][0]
            name = study.names.short(first.cell, frozenset({"threads"}))
            rows += [heading(name, direction(first.metric)), *lines]
    return (Sheet(captioned(study.origin, TITLE), _COLUMNS, tuple(rows), _NOTE),) if rows else ()


def _by_work(study: StudyView) -> dict[Cell, _CellViews]:
    """The cells of equal work, which differ only in their threads."""
    probes = {cell: trial.probe for trial in study.view.plan.trials for cell in trial.cells}
    shown: dict[tuple[str, tuple[str, ...]], str] = {}
    found: dict[Cell, _CellViews] = {}
    for view in study.cells:
        cell, metric = parse_cell(view.cell), view.metric
        threads = dict(cell.params).get("threads")
        if threads is None or metric.reduce is Reduce.PERCENTILE or metric.unit not in _UNITS:
            continue
        if shown.setdefault((probes.get(view.cell, ""), metric.params), metric.name) == metric.name:
            work = Cell.of(cell.metric, {key: value for key, value in cell.params if key != "threads"})
            found.setdefault(work, []).append((view, threads))
    return found


def _lines(views: _CellViews, one: Candidate) -> list[Row]:
    """Return a candidate's rows, fewest threads first, one for each number; empty unless one and more were measured.

    Where a number was measured twice, as one thread and as all of one vCPU, the row is that of the number itself.
    """
    vcpus = None if stands_in(one) else one.offering.vcpus
    own = [pair for pair in views if one.index in pair[0].estimates and known(pair[0].estimates[one.index].median)]
    by_count: dict[float | None, CellView] = {}
    for view, threads in sorted(own, key=lambda pair: pair[1] == "all"):
        by_count.setdefault(_count(threads, vcpus), view)
    alone = by_count.get(1.0)
    if alone is None or len(by_count) < 2:
        return []
    ordered = sorted(by_count.items(), key=lambda pair: pair[0] or math.inf)
    return [_line(one, view, count, alone, vcpus) for count, view in ordered]


def _count(threads: str, vcpus: float | None) -> float | None:
    return vcpus if threads == "all" else 1.0 if threads == "one" else float(threads)


def _line(one: Candidate, view: CellView, count: float | None, alone: CellView, vcpus: float | None) -> Row:
    own, base = view.estimates[one.index], alone.estimates[one.index]
    more = view.metric.better is Better.HIGHER
    gain, ends = _gain(own, base) if more else _gain(base, own)
    per = own.median / vcpus if more and known(own.median) and vcpus else None
    return row(
        one.id,
        f"{count:g}" if count else "all",
        Field(view.scale.quantity(own.median), _surely(own, view.scale)),
        _shown(gain, ends if view is not alone else None, 1.0, ""),
        _shown(gain, ends if view is not alone else None, 1 / count, " %") if count else UNKNOWN,
        UNKNOWN if per is None else Scale.of([per], view.metric.unit).quantity(per),
    )


def _surely(own: Estimate, scale: Scale) -> str:
    """The median's interval, if any, and the number of launches."""
    ends = own.median_bounds
    return f"{scale.number(ends.low)} to {scale.number(ends.high)}, n {own.n}" if ends else f"n {own.n}"


def _gain(above: Estimate, below: Estimate) -> tuple[float | None, tuple[float, float] | None]:
    """Return the ratio of two medians, and its range by their intervals."""
    if not known(above.median) or not known(below.median) or below.median <= 0:
        return None, None
    gain = above.median / below.median
    a, b = above.median_bounds, below.median_bounds
    if a is None or b is None or b.low <= 0:
        return gain, None
    return gain, (a.low / b.high, a.high / b.low)


def _shown(gain: float | None, ends: tuple[float, float] | None, share: float, unit: str) -> Field:
    if gain is None:
        return Field(UNKNOWN)
    factor, digits = (100 * share, 0) if unit else (share, 2)
    words = f"{ends[0] * factor:.{digits}f} to {ends[1] * factor:.{digits}f}{unit}" if ends else ""
    return Field(f"{gain * factor:.{digits}f}{unit}", words)
