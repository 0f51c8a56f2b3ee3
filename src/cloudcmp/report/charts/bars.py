"""Medians as bars with whiskers, a panel for each cell (as CloudCmp's figure 1), for values and for money."""

from dataclasses import dataclass

from cloudcmp.model.result import Estimate
from cloudcmp.report.book import Book, Page
from cloudcmp.report.charts.base import INK, MOST_PANELS, Cast, Figure, Spec, draw, layer, number, panel_title, title_of
from cloudcmp.report.numbers import known
from cloudcmp.report.words import direction, group_words, parse_cell

_WIDTH, _STEP = 250, 22
_COLUMNS = ("cell", "candidate", "unit", "median", "p5", "p95", "n", "n_ok", "n_started")


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar in display units: its end, its whiskers and the words beside it."""

    who: str
    value: float | None
    low: float | None
    high: float | None
    words: str

    def row(self) -> dict[str, object]:
        """The bar as a row of data."""
        return {"who": self.who, "value": self.value, "low": self.low, "high": self.high, "words": self.words}


def panel(title: str, axis: str, bars: list[Bar], cast: Cast) -> Spec:
    """Horizontal bars from zero, one for each candidate, with their words in a column on the right."""
    y: Spec = {"field": "who", "type": "nominal", "sort": None, "title": None,
               "axis": {"domain": False, "ticks": False, "labelPadding": 6}}  # fmt: skip
    x = number("value", axis, axis={"tickCount": 4}, scale={"zero": True})
    ink: Spec = {"color": INK}
    return {
        "title": title,
        "width": _WIDTH,
        "height": {"step": _STEP},
        "data": {"values": [bar.row() for bar in bars]},
        "layer": [
            layer("bar", {"x": x, "y": y, "color": cast.colour()}, height=13, stroke=INK, strokeWidth=0.5),
            layer("rule", {"x": number("low", axis), "x2": {"field": "high"}, "y": y}, strokeWidth=1.3, **ink),
            layer("tick", {"x": number("low", axis), "y": y}, thickness=1.3, size=9, **ink),
            layer("tick", {"x": number("high", axis), "y": y}, thickness=1.3, size=9, **ink),
            layer("text", {"x": {"value": _WIDTH + 8}, "y": y, "text": {"field": "words"}}, align="left", fontSize=11,
                  **ink),
        ],
    }  # fmt: skip


def _bar(page: Page, at: int, who: str) -> Bar:
    one = page.estimates.get(at)
    if one is None:
        return Bar(who, None, None, None, "not offered")
    shown, counts = page.scale.shown, f"n {one.n}, {one.n_ok}/{one.n_started} ok"
    if not known(one.median):
        return Bar(who, None, None, None, f"no value: {one.n_ok}/{one.n_started} ok")
    words = f"{page.scale.number(one.median)}  ({counts})"
    return Bar(who, shown(one.median), shown(one.p5), shown(one.p95), words)


def chosen(pages: tuple[Page, ...]) -> tuple[Page, ...]:
    """The cells that get a panel: all where they are few, else those that decide, then medians before tails."""
    if len(pages) <= MOST_PANELS:
        return pages
    kept = {page.cell for page in sorted(pages, key=lambda page: (not page.decides, is_tail(page)))[:MOST_PANELS]}
    return tuple(page for page in pages if page.cell in kept)


def is_tail(page: Page) -> bool:
    """Whether a cell is a percentile other than the median."""
    return parse_cell(page.cell).get("percentile") not in {None, "50"}


def left_out(pages: tuple[Page, ...], shown: tuple[Page, ...]) -> str:
    """What a figure does not show, as a sentence with a space before it."""
    rest = len(pages) - len(shown)
    return f" {len(shown)} of {len(pages)} cells are drawn here; all are in the tables." if rest else ""


def figures(book: Book, cast: Cast) -> list[Figure]:
    """One figure for each group that was measured."""
    made = []
    for group, pages in book.groups():
        curves = {(one.metric, one.candidate) for one in book.view.cdfs}
        plain = [page for page in pages if page.decides or not is_tail(page)
                 or any((page.metric.name, at) not in curves for at in page.estimates)]  # fmt: skip
        shown = chosen(tuple(plain))
        panels = [
            panel(panel_title(page), f"{page.scale.unit}, {direction(page.metric)}".lstrip(", "),
                  [_bar(page, one.index, cast.names[one.index]) for one in book.candidates], cast)
            for page in shown
        ]  # fmt: skip
        title = title_of(book, f"{group_words(group)}: medians of the launches")
        caption = ("Bars: median over launches. Whiskers: 5th and 95th percentile. n: launches; ok: trials that gave a "
                   f"value, of those started.{left_out(pages, shown)}")  # fmt: skip
        rows = tuple(_row(book, page, one) for page in pages for one in page.estimates.values())
        made.append(Figure(f"bars-{group}", title, caption, draw(title, panels), _COLUMNS, rows))
    return made


def _row(book: Book, page: Page, one: Estimate) -> tuple[object, ...]:
    counts = (one.n, one.n_ok, one.n_started)
    return (page.cell, book.candidates[one.candidate].id, page.metric.unit, one.median, one.p5, one.p95, *counts)
