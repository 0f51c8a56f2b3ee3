"""Every figure with its n and interval."""

from cloudcmp.model.result import Bounds, Estimate
from cloudcmp.report.book import Book, Page
from cloudcmp.report.money import cost_of, work_of
from cloudcmp.report.numbers import UNKNOWN, known, share
from cloudcmp.report.sheets.sheet import Column, Field, Row, Sheet, captioned, heading, row
from cloudcmp.report.words import direction, group_words

# Beyond this the page is no longer read, and the numbers are in the export.
MOST_ROWS = 1500
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


def sheets(book: Book) -> tuple[Sheet, ...]:
    """One table for each group."""
    made = []
    for group, pages in book.groups():
        kept = sorted(pages, key=lambda page: not page.decides)[: max(1, MOST_ROWS // max(1, len(book.candidates)))]
        rows = [line for page in pages if page in kept for line in _lines(book, page)]
        rest = len(pages) - len(kept)
        note = f"{rest} further cells are left to `cloudcmp export`." if rest else ""
        money = any(cost_of(page) or work_of(book, page) for page in kept)
        titles = (*_COLUMNS, Column("cost", True, "list price of the time used")) if money else _COLUMNS
        made.append(Sheet(captioned(book.origin, f"{group_words(group)}: all figures"), titles, tuple(rows), note))
    return tuple(made)


def _lines(book: Book, page: Page) -> list[Row]:
    shared = book.names.shared(page.metric.name)
    said = "; ".join(filter(None, (direction(page.metric), shared, "" if page.decides else "exploratory")))
    return [heading(page.name, f"{said} · {page.cell}"), *(_line(book, page, one) for one in page.estimates.values())]


def _line(book: Book, page: Page, one: Estimate) -> Row:
    scale, name = page.scale, Field(book.candidates[one.candidate].id, "; ".join(one.warnings))
    counts = (str(one.n), f"{one.n_ok} / {one.n_started}")
    if not known(one.median):
        return row(name, Field("no value", one.reason, "unsure"), *[UNKNOWN] * 4, *counts, UNKNOWN)
    return row(
        name,
        Field(scale.quantity(one.median), _interval(page, one.median_bounds), "strong"),
        Field(scale.quantity(one.mean), _interval(page, one.mean_bounds)),
        UNKNOWN if one.p5 is None or one.p95 is None else f"{scale.number(one.p5)} to {scale.number(one.p95)}",
        share(one.cov),
        share(one.between_share),
        *counts,
        money_of(book, page, one.candidate),
    )


def _interval(page: Page, bounds: Bounds | None) -> str:
    if bounds is None:
        return "no interval"
    odd = abs(bounds.confidence - 0.95) > 1e-9
    return page.scale.interval(bounds) + (f" ({bounds.confidence * 100:.1f} %)" if odd else "")


def money_of(book: Book, page: Page, at: int) -> str:
    """What the cell costs on one candidate, with its unit."""
    costs = cost_of(page) or work_of(book, page)
    if costs is None or at not in costs.values:
        return UNKNOWN
    return f"{costs.scale.number(costs.values[at])} {costs.axis}"
