"""Costs in comparable units: the cost of a readable number of tasks, or the work per unit of money."""

from dataclasses import dataclass

from cloudcmp.cost import work_unit
from cloudcmp.report.numbers import Scale, known
from cloudcmp.report.report_model import CellView, StudyView

_MANY = ((1.0, "task"), (1e3, "1000 tasks"), (1e6, "million tasks"), (1e9, "billion tasks"), (1e12, "trillion tasks"))


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
    low = min(values.values())
    factor, many = next((pair for pair in _MANY if low * pair[0] >= 0.1), _MANY[-1])
    axis = f"{currencies[0]} per {many}"
    return Costs(axis, Scale(1 / factor, axis), values)


def work_of(study: StudyView, view: CellView) -> Costs | None:
    """Return the work per unit of money; None if no price is known or prices are in several currencies."""
    work = {at: one.work_per_money for at, one in view.estimates.items() if known(one.work_per_money)}
    prices = [study.candidates[at].offering.price for at in work]
    currencies = sorted({price.currency for price in prices if price is not None})
    unit = work_unit(view.metric, currencies[0]) if len(currencies) == 1 else None
    if unit is None:
        return None
    scale = Scale.of(list(work.values()), view.metric.unit)
    return Costs(scale.unit.removesuffix(view.metric.unit) + unit, scale, work)


def figures_of(study: StudyView, view: CellView) -> Costs | None:
    """Return the cost of a task if the metric is a task, else the work per unit of money."""
    return cost_of(view) or work_of(study, view)


def without_price(study: StudyView) -> tuple[str, ...]:
    """The candidates whose price is unknown."""
    return tuple(one.id for one in study.candidates if one.offering.price is None)
