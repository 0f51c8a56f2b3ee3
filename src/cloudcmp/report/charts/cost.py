"""Bars of the cost of a task on each candidate, or of the work per unit of money (as CloudCmp's figure 2)."""

from cloudcmp.report.charts.bars import Bar, NoBar, chosen, left_out, panel, without_value
from cloudcmp.report.charts.base import Figure, Styles, draw, panel_title, title_of
from cloudcmp.report.money import Costs, cost_of, figures_of, without_price
from cloudcmp.report.report_model import CellView, StudyView
from cloudcmp.report.words import group_words

_COLUMNS = ("cell", "candidate", "cost_per_task", "currency", "work_per_money", "work_unit", "n", "n_ok", "n_started")


def figures(study: StudyView, styles: Styles) -> list[Figure]:
    """One figure for each group in which a price is known."""
    made = []
    missing = without_price(study)
    for group, views in study.groups():
        priced = tuple(view for view in views if figures_of(study, view))
        if not priced:
            continue
        shown = chosen(priced)
        costs = [(view, own) for view in shown if (own := figures_of(study, view))]
        bars = [_bars(study, view, own, styles) for view, own in costs]
        panels = [
            panel(panel_title(view), f"{own.axis}, {'less' if cost_of(view) else 'more'} is better", some, styles)
            for (view, own), some in zip(costs, bars, strict=True)
        ]
        title = title_of(study, f"{group_words(group)}: work for the money")
        caption = ("List price of the used time, at the median; n: launches; ok: trials that gave a value, of "
                   f"those started.{left_out(priced, shown)}{without_value(bars)}"
                   f"{f' {missing}.' if missing else ''}")  # fmt: skip
        made.append(Figure(f"cost-{group}", title, caption, draw(title, panels), _COLUMNS, _rows(study, priced)))
    return made


def _bars(study: StudyView, view: CellView, costs: Costs, styles: Styles) -> list[Bar | NoBar]:
    """The bars of those that have a price: the others are named apart."""
    bars: list[Bar | NoBar] = []
    for one in study.candidates:
        value, estimate, who = costs.values.get(one.index), view.estimates.get(one.index), styles.names[one.index]
        if value is not None and estimate is not None:
            words = f"{costs.scale.number(value)}  (n {estimate.n}, {estimate.n_ok}/{estimate.n_started} ok)"
            bars.append(Bar(who, value / costs.scale.factor, None, None, words))
        elif one.offering.price is not None:
            bars.append(NoBar(who, "no value"))
    return bars


def _rows(study: StudyView, views: tuple[CellView, ...]) -> tuple[tuple[object, ...], ...]:
    rows = []
    for view in views:
        for one in view.estimates.values():
            price = study.candidates[one.candidate].offering.price
            cost = one.cost_per_task
            currency = cost.currency if cost else price.currency if price else None
            work = (one.work_per_money, view.metric.unit.removesuffix("/s") if one.work_per_money is not None else None)
            amount = None if cost is None else float(cost.amount)
            rows.append((view.cell, study.candidates[one.candidate].id, amount, currency, *work, one.n, one.n_ok,
                         one.n_started))  # fmt: skip
    return tuple(rows)
