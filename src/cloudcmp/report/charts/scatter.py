"""The scatter plot of price and performance."""

from cloudcmp.model.plan import hourly_cost
from cloudcmp.report.charts.bars import left_out
from cloudcmp.report.charts.base import (
    SHAPES,
    Figure,
    Spec,
    Styles,
    counts_of,
    draw,
    layer,
    number,
    panel_title,
    title_of,
)
from cloudcmp.report.money import without_price
from cloudcmp.report.numbers import known
from cloudcmp.report.report_model import CellView, StudyView
from cloudcmp.report.words import direction

_COLUMNS = ("cell", "candidate", "price_per_hour", "currency", "median", "p5", "p95", "unit", "n", "n_ok", "n_started")
_MOST, _LEAST_PRICED = 6, 2


def figures(study: StudyView, styles: Styles) -> list[Figure]:
    """Return one figure of deciding cells, taken from all groups in turn; none with fewer than two prices."""
    prices = {one.index: one.offering.price for one in study.candidates if one.offering.price is not None}
    currencies = {price.currency for price in prices.values()}
    views = tuple(view for view in study.cells if view.decides and _points(study, view))
    if len(prices) < _LEAST_PRICED or len(currencies) != 1 or not views:
        return []
    shown = _spread(views)
    title = title_of(study, "Price against performance")
    panels = [_panel(study, view, min(currencies), styles) for view in shown]
    missing = without_price(study)
    caption = ("Median over launches with 5th and 95th percentile, against the list price of all instances of a "
               f"candidate. {counts_of(study, shown)}{left_out(views, shown)}"
               f"{f' {missing}.' if missing else ''}")  # fmt: skip
    rows = tuple(row for view in views for row in _rows(study, view, min(currencies)))
    return [Figure("price-performance", title, caption, draw(title, panels), _COLUMNS, rows)]


def _spread(views: tuple[CellView, ...]) -> tuple[CellView, ...]:
    """Return at most `_MOST` cells, one of each group in turn, so that no group displaces another."""
    turns: dict[str, int] = {}
    ranked = []
    for at, view in enumerate(views):
        turns[view.metric.group] = turns.get(view.metric.group, 0) + 1
        ranked.append((turns[view.metric.group], at, view))
    kept = sorted(ranked, key=lambda one: one[:2])[:_MOST]
    return tuple(view for _, _, view in sorted(kept, key=lambda one: one[1]))


def _points(study: StudyView, view: CellView) -> list[tuple[int, float]]:
    """Return the candidates of a cell with known price and median, and their hourly price."""
    points = []
    for at, one in view.estimates.items():
        cost = hourly_cost(study.candidates[at])
        if cost is not None and known(one.median):
            points.append((at, float(cost)))
    return points


def _panel(study: StudyView, view: CellView, currency: str, styles: Styles) -> Spec:
    values: list[Spec] = []
    for at, cost in _points(study, view):
        one, shown = view.estimates[at], view.scale.shown
        values.append({"who": styles.names[at], "price": cost, "value": shown(one.median), "low": shown(one.p5),
                       "high": shown(one.p95)})  # fmt: skip
    x = number("price", f"{currency} an hour, less is better", axis={"tickCount": 5}, scale={"zero": True})
    title = f"{view.scale.unit}, {direction(view.metric)}".lstrip(", ")
    y = number("value", title, axis={"tickCount": 5}, scale={"zero": True})
    shape: Spec = {"field": "who", "type": "nominal", "scale": styles.scale(SHAPES), "title": None}
    spread: Spec = {"x": x, "y": number("low", title), "y2": {"field": "high"}, "color": styles.colour(legend=True)}
    point: Spec = {"x": x, "y": y, "color": styles.colour(legend=True), "shape": shape}
    return {"title": panel_title(view), "width": 380, "height": 170, "data": {"values": values}, "layer": [
        layer("rule", spread, strokeWidth=1.5),
        layer("point", point, filled=True, size=110, opacity=1),
    ]}  # fmt: skip


def _rows(study: StudyView, view: CellView, currency: str) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    for at, cost in _points(study, view):
        one = view.estimates[at]
        counts = (view.metric.unit, one.n, one.n_ok, one.n_started)
        rows.append((view.cell, study.candidates[at].id, cost, currency, one.median, one.p5, one.p95, *counts))
    return rows
