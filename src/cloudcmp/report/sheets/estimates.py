"""The sheets of all estimates, with n and intervals."""

from cloudcmp.model.result import Bounds, Estimate
from cloudcmp.report.money import cost_of, work_of
from cloudcmp.report.numbers import UNKNOWN, known, share
from cloudcmp.report.report_model import CellView, StudyView
from cloudcmp.report.sheets.sheet import Column, Field, Row, Sheet, captioned, heading, row
from cloudcmp.report.words import direction, group_words

# A page with more rows is too long to read; the export has all numbers.
MOST_ROWS = 600
_COLUMNS = (
    Column("candidate"),
    Column("median", True, "median of the launch values, with its exact interval by order statistics below"),
    Column("mean", True, "mean of the launch values, with its Student-t interval (95 %) below"),
    Column("5 % to 95 %", True, "5th and 95th percentile of the launch values"),
    Column("CoV", True, "coefficient of variation between launch values"),
    Column("between launches", True, "share of the variance that lies between launches, not between runs of one"),
    Column("n", True, "launches with a value"),
    Column("ok / started", True, "trials that gave a value, of those started"),
)


def sheets(study: StudyView) -> tuple[Sheet, ...]:
    """One table for each group."""
    made = []
    for group, views in study.groups():
        kept = sorted(views, key=lambda view: not view.decides)[: max(1, MOST_ROWS // max(1, len(study.candidates)))]
        rows = [line for view in views if view in kept for line in _lines(study, view)]
        rest = len(views) - len(kept)
        note = f"{rest} further cells are only in `cloudcmp export`." if rest else ""
        money = any(cost_of(view) or work_of(study, view) for view in kept)
        titles = (*_COLUMNS, Column("cost", True, "list price of the time used")) if money else _COLUMNS
        made.append(Sheet(captioned(study.origin, f"{group_words(group)}: all figures"), titles, tuple(rows), note))
    return tuple(made)


def _lines(study: StudyView, view: CellView) -> list[Row]:
    shared = study.names.shared(view.metric.name)
    words = "; ".join(filter(None, (direction(view.metric), shared, "" if view.decides else "exploratory")))
    return [heading(view.name, f"{words} · {view.cell}"), *(_line(study, view, one) for one in view.estimates.values())]


def _line(study: StudyView, view: CellView, one: Estimate) -> Row:
    scale, name = view.scale, Field(study.candidates[one.candidate].id, "; ".join(one.warnings))
    counts = (str(one.n), f"{one.n_ok} / {one.n_started}")
    if not known(one.median):
        return row(name, Field("no value", one.reason, "unsure"), *[UNKNOWN] * 4, *counts, UNKNOWN)
    return row(
        name,
        Field(scale.quantity(one.median), _interval(view, one.median_bounds), "strong"),
        Field(scale.quantity(one.mean), _interval(view, one.mean_bounds)),
        UNKNOWN if one.p5 is None or one.p95 is None else f"{scale.number(one.p5)} to {scale.number(one.p95)}",
        share(one.cov),
        share(one.between_share),
        *counts,
        money_of(study, view, one.candidate),
    )


def _interval(view: CellView, bounds: Bounds | None) -> str:
    if bounds is None:
        return "no interval"
    odd = abs(bounds.confidence - 0.95) > 1e-9
    return view.scale.interval(bounds) + (f" ({bounds.confidence * 100:.1f} %)" if odd else "")


def money_of(study: StudyView, view: CellView, at: int) -> str:
    """The cost of a cell on one candidate, with its unit."""
    costs = cost_of(view) or work_of(study, view)
    if costs is None or at not in costs.values:
        return UNKNOWN
    return f"{costs.scale.number(costs.values[at])} {costs.axis}"
