"""Cost per task and work per money, from an estimate's median and the candidate's hourly price."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal

from cloudcmp.cost.service_costs import candidate_operation_cost
from cloudcmp.model.cell import Cell
from cloudcmp.model.metric import Metric
from cloudcmp.model.plan import Candidate, Plan, hourly_cost
from cloudcmp.model.result import Estimate
from cloudcmp.units import Money

_SECONDS_PER_HOUR = 3600


def with_cost(plan: Plan, estimates: Sequence[Estimate], metrics: Mapping[str, Metric]) -> tuple[Estimate, ...]:
    """Returns the estimates with `cost_per_task` and `work_per_money` where the candidate's price is known.

    `cost_per_task` = price / 3600 x median, for finishing times of tasks (CloudCmp, IMC 2010, section 4.1); it leaves
    out setup and teardown, minimum billing periods and traffic. `work_per_money` = median x 3600 / price for rates (in
    `work_unit`), median / price for scores. Nothing is converted: where currencies differ, each estimate has a warning.
    """
    services = {candidate.index: candidate for candidate in plan.candidates if candidate.service}
    prices = {candidate.index: price_of(candidate) for candidate in plan.candidates}
    currencies = {money.currency for money in prices.values() if money is not None}
    measured = {text: metrics[Cell.parse(text).metric] for text in dict.fromkeys(one.cell for one in estimates)}
    return tuple(
        _with_request_cost(one, services[one.candidate])
        if one.candidate in services
        else _with_hourly_cost(one, measured[one.cell], prices[one.candidate], currencies)
        for one in estimates
    )


def _with_request_cost(one: Estimate, candidate: Candidate) -> Estimate:
    """Returns the estimate with the cost of one request at the service's own prices, without the client machine."""
    cost = cost_per_request(candidate, Cell.parse(one.cell))
    return one if one.median is None or cost is None else replace(one, cost_per_task=cost)


def cost_per_request(candidate: Candidate, cell: Cell) -> Money | None:
    """Returns the cost of one operation of a cell on a candidate's service, with its download; None if unknown."""
    size, op = int(cell.get("size_bytes") or 0), cell.get("op") or _IMPLIED.get(cell.metric, "")
    return candidate_operation_cost(candidate, op, size, cell.get("read") or "").money


_IMPLIED = {"table_load_row_per_s": "load", "queue_propagation_s": "receive"}
"""The operation of cells that have no parameter for it."""


def price_of(candidate: Candidate) -> Money | None:
    """Returns the hourly price of all instances of a candidate; None if it is missing, not positive or infinite."""
    amount, price = hourly_cost(candidate), candidate.offering.price
    if amount is None or price is None or not amount.is_finite() or amount <= 0:
        return None
    return Money(amount, price.currency)


def work_unit(metric: Metric, currency: str) -> str | None:
    """Returns the unit of `work_per_money`, such as `flop/USD`; None if the metric is neither a rate nor a score."""
    if metric.is_rate:
        return f"{metric.unit.removesuffix('/s')}/{currency}"
    return f"{metric.unit}/({currency}/h)" if metric.is_score else None


def _with_hourly_cost(one: Estimate, metric: Metric, price: Money | None, currencies: set[str]) -> Estimate:
    if one.median is None or price is None:
        return one
    if not metric.is_work:
        return one
    warnings = one.warnings
    if len(currencies) > 1:
        others = ", ".join(sorted(currencies - {price.currency}))
        warnings = (*warnings, f"its cost is in {price.currency}; other prices are in {others}")
    if metric.is_task:
        cost = Money(price.amount * Decimal(repr(one.median)) / _SECONDS_PER_HOUR, price.currency)
        return replace(one, cost_per_task=cost, warnings=warnings)
    hours = 1 if metric.is_score else _SECONDS_PER_HOUR
    return replace(one, work_per_money=one.median * hours / float(price.amount), warnings=warnings)
