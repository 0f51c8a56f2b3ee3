"""Bars of the cost of a task on each candidate, or of the work per unit of money (as CloudCmp's figure 2)."""

from cloudcmp.report.charts.bars import Bar, chosen, left_out, panel
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
        panels = [_panel(study, view, costs, styles) for view in shown if (costs := figures_of(study, view))]
        title = title_of(study, f"{group_words(group)}: work for the money")
        caption = ("List price of the used time, at the median; n: launches; ok: trials that gave a value, of "
                   f"those started.{left_out(priced, shown)}"
                   f"{f' {missing}.' if missing else ''}")  # fmt: skip
        made.append(Figure(f"cost-{group}", title, caption, draw(title, panels), _COLUMNS, _rows(study, priced)))
    return made


def _panel(study: StudyView, view: CellView, costs: Costs, styles: Styles) -> dict[str, object]:
    better = "less is better" if cost_of(view) else "more is better"
    bars = []
    for one in study.candidates:
        value, estimate = costs.values.get(one.index), view.estimates.get(one.index)
        if value is None or estimate is None:
            bars.append(
                Bar(styles.names[one.index], None, None, None, "no price" if one.offering.price is None else "–")
            )
            continue
        words = f"{costs.scale.number(value)}  (n {estimate.n}, {estimate.n_ok}/{estimate.n_started} ok)"
        bars.append(Bar(styles.names[one.index], costs.scale.shown(value), None, None, words))
    return panel(panel_title(view), f"{costs.axis}, {better}", bars, styles)


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
