"""Price against performance: where more money buys more, and where it does not."""

from cloudcmp.model.plan import hourly_cost
from cloudcmp.model.untrusted_text import one_line
from cloudcmp.report.book import Book, Page
from cloudcmp.report.charts.bars import left_out
from cloudcmp.report.charts.base import (
    SHAPES,
    Cast,
    Figure,
    Spec,
    counts_of,
    draw,
    layer,
    number,
    panel_title,
    title_of,
)
from cloudcmp.report.numbers import known
from cloudcmp.report.words import direction

_COLUMNS = ("cell", "candidate", "price_per_hour", "currency", "median", "p5", "p95", "unit", "n", "n_ok", "n_started")
_MOST, _LEAST_PRICED = 6, 2


def figures(book: Book, cast: Cast) -> list[Figure]:
    """One figure with cells that decide, of all groups in turn; none with fewer than two prices."""
    prices = {one.index: one.offering.price for one in book.candidates if one.offering.price is not None}
    currencies = {price.currency for price in prices.values()}
    pages = tuple(page for page in book.pages if page.decides and _points(book, page))
    if len(prices) < _LEAST_PRICED or len(currencies) != 1 or not pages:
        return []
    shown = _spread(pages)
    title = title_of(book, "Price against performance")
    panels = [_panel(book, page, min(currencies), cast) for page in shown]
    missing = ", ".join(one_line(one.id, 40) for one in book.candidates if one.index not in prices)
    caption = ("Median over launches with 5th and 95th percentile, against the list price of all instances of a "
               f"candidate. {counts_of(book, shown)}{left_out(pages, shown)}"
               f"{f' No price: {missing}.' if missing else ''}")  # fmt: skip
    rows = tuple(row for page in pages for row in _rows(book, page, min(currencies)))
    return [Figure("price-performance", title, caption, draw(title, panels), _COLUMNS, rows)]


def _spread(pages: tuple[Page, ...]) -> tuple[Page, ...]:
    """At most `_MOST` cells, one of each group in turn, so that no group crowds out another."""
    turns: dict[str, int] = {}
    ranked = []
    for at, page in enumerate(pages):
        turns[page.metric.group] = turns.get(page.metric.group, 0) + 1
        ranked.append((turns[page.metric.group], at, page))
    kept = sorted(ranked, key=lambda one: one[:2])[:_MOST]
    return tuple(page for _, _, page in sorted(kept, key=lambda one: one[1]))


def _points(book: Book, page: Page) -> list[tuple[int, float]]:
    """The candidates of a cell of which price and median are known, with their price per hour."""
    found = []
    for at, one in page.estimates.items():
        cost = hourly_cost(book.candidates[at])
        if cost is not None and known(one.median):
            found.append((at, float(cost)))
    return found


def _panel(book: Book, page: Page, currency: str, cast: Cast) -> Spec:
    values: list[Spec] = []
    for at, cost in _points(book, page):
        one, shown = page.estimates[at], page.scale.shown
        values.append({"who": cast.names[at], "price": cost, "value": shown(one.median), "low": shown(one.p5),
                       "high": shown(one.p95)})  # fmt: skip
    x = number("price", f"{currency} an hour, less is better", axis={"tickCount": 5}, scale={"zero": True})
    title = f"{page.scale.unit}, {direction(page.metric)}".lstrip(", ")
    y = number("value", title, axis={"tickCount": 5}, scale={"zero": True})
    shape: Spec = {"field": "who", "type": "nominal", "scale": cast.scale(SHAPES), "title": None}
    spread: Spec = {"x": x, "y": number("low", title), "y2": {"field": "high"}, "color": cast.colour(legend=True)}
    point: Spec = {"x": x, "y": y, "color": cast.colour(legend=True), "shape": shape}
    return {"title": panel_title(page), "width": 380, "height": 170, "data": {"values": values}, "layer": [
        layer("rule", spread, strokeWidth=1.5),
        layer("point", point, filled=True, size=110, opacity=1),
    ]}  # fmt: skip


def _rows(book: Book, page: Page, currency: str) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    for at, cost in _points(book, page):
        one = page.estimates[at]
        counts = (page.metric.unit, one.n, one.n_ok, one.n_started)
        rows.append((page.cell, book.candidates[at].id, cost, currency, one.median, one.p5, one.p95, *counts))
    return rows
