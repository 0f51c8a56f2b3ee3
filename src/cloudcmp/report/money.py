"""Costs in comparable units: the cost of a readable number of tasks, or the work per unit of money."""

from dataclasses import dataclass

from cloudcmp.cost import work_unit
from cloudcmp.model.untrusted_text import one_line
from cloudcmp.report.numbers import Scale, cost_scale, known, work_scale
from cloudcmp.report.report_model import CellView, StudyView

_NAMED = 3
"""So many candidates without a price are named; the table of candidates has all."""


@dataclass(frozen=True, slots=True)
class Costs:
    """The cost of one cell by candidate index; `axis` names the unit."""

    axis: str
    scale: Scale
    values: dict[int, float]


def cost_of(view: CellView) -> Costs | None:
    """Return the cost per task of a cell; None if no price is known or prices are in several currencies."""
    money = {at: one.cost_per_task for at, one in view.estimates.items() if one.cost_per_task is not None}
    currencies = sorted({one.currency for one in money.values()})
    if len(currencies) != 1:
        return None
    values = {at: float(one.amount) for at, one in money.items()}
    scale = cost_scale(values.values(), currencies[0])
    return Costs(scale.unit, scale, values)


def work_of(study: StudyView, view: CellView) -> Costs | None:
    """Return the work per unit of money; None if no price is known or prices are in several currencies."""
    work = {at: one.work_per_money for at, one in view.estimates.items() if known(one.work_per_money)}
    prices = [study.candidates[at].offering.price for at in work]
    currencies = sorted({price.currency for price in prices if price is not None})
    unit = work_unit(view.metric, currencies[0]) if len(currencies) == 1 else None
    if unit is None:
        return None
    scale = work_scale(work.values(), unit)
    return Costs(scale.unit, scale, work)


def figures_of(study: StudyView, view: CellView) -> Costs | None:
    """Return the cost of a task if the metric is a task, else the work per unit of money."""
    return cost_of(view) or work_of(study, view)


def without_price(study: StudyView) -> str:
    """The first candidates whose price is unknown, as `No price: A, B`, and how many more; empty if there are none."""
    missing = [one_line(one.id, 40) for one in study.candidates if one.offering.price is None]
    more = f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
    return f"No price: {', '.join(missing[:_NAMED])}{more}" if missing else ""
