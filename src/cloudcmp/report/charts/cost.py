"""What a task costs on each candidate, or what work a unit of money buys (as CloudCmp's figure 2)."""

from cloudcmp.model.untrusted_text import one_line
from cloudcmp.report.book import Book, Page
from cloudcmp.report.charts.bars import Bar, chosen, left_out, panel
from cloudcmp.report.charts.base import Cast, Figure, draw, panel_title, title_of
from cloudcmp.report.money import Costs, cost_of, figures_of, without_price
from cloudcmp.report.words import group_words

_COLUMNS = ("cell", "candidate", "cost_per_task", "currency", "work_per_money", "work_unit", "n", "n_ok", "n_started")


def figures(book: Book, cast: Cast) -> list[Figure]:
    """One figure for each group in which a price is known."""
    made = []
    missing = ", ".join(one_line(name, 40) for name in without_price(book))
    for group, pages in book.groups():
        priced = tuple(page for page in pages if figures_of(book, page))
        if not priced:
            continue
        shown = chosen(priced)
        panels = [_panel(book, page, costs, cast) for page in shown if (costs := figures_of(book, page))]
        title = title_of(book, f"{group_words(group)}: work for the money")
        caption = ("List price of the time that was used, at the median; n: launches; ok: trials that gave a value, of "
                   f"those started.{left_out(priced, shown)}"
                   f"{f' No price: {missing}.' if missing else ''}")  # fmt: skip
        made.append(Figure(f"cost-{group}", title, caption, draw(title, panels), _COLUMNS, _rows(book, priced)))
    return made


def _panel(book: Book, page: Page, costs: Costs, cast: Cast) -> dict[str, object]:
    better = "less is better" if cost_of(page) else "more is better"
    bars = []
    for one in book.candidates:
        value, estimate = costs.values.get(one.index), page.estimates.get(one.index)
        if value is None or estimate is None:
            bars.append(Bar(cast.names[one.index], None, None, None, "no price" if one.offering.price is None else "–"))
            continue
        words = f"{costs.scale.number(value)}  (n {estimate.n}, {estimate.n_ok}/{estimate.n_started} ok)"
        bars.append(Bar(cast.names[one.index], costs.scale.shown(value), None, None, words))
    return panel(panel_title(page), f"{costs.axis}, {better}", bars, cast)


def _rows(book: Book, pages: tuple[Page, ...]) -> tuple[tuple[object, ...], ...]:
    rows = []
    for page in pages:
        for one in page.estimates.values():
            price = book.candidates[one.candidate].offering.price
            cost = one.cost_per_task
            currency = cost.currency if cost else price.currency if price else None
            work = (one.work_per_money, page.metric.unit.removesuffix("/s") if one.work_per_money is not None else None)
            amount = None if cost is None else float(cost.amount)
            rows.append((page.cell, book.candidates[one.candidate].id, amount, currency, *work, one.n, one.n_ok,
                         one.n_started))  # fmt: skip
    return tuple(rows)
