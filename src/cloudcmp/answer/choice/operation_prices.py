"""The price of one operation of each storage service, as columns of a market."""

from dataclasses import replace

import numpy as np

from cloudcmp.cost.service_costs import operation_figures
from cloudcmp.model.market import Market, Numbers
from cloudcmp.model.plan import Plan

UNIT = "1/op"


def with_operation_prices(market: Market, plan: Plan, source: str) -> Market:
    """Return a study's market with columns such as `get_cost` and `download_cost size_bytes=1000`.

    The rows are the plan's candidates. A strong read has no column of its own: its price is another one. An operation
    that its provider documents as free costs zero; an unknown price is NaN, and so is one in another currency than the
    market's.
    """
    amounts: dict[str, list[float]] = {}
    currency = market.currency
    for figure in operation_figures(plan):
        money = figure.cost.money
        if money is None or figure.read == "strong":
            continue
        currency = currency or money.currency
        if money.currency == currency:
            size = f" size_bytes={figure.size_bytes}" if figure.size_bytes else ""
            values = amounts.setdefault(f"{figure.op}_cost{size}", [np.nan] * len(market.keys))
            values[figure.candidate] = float(money.amount)
    columns = {name: Numbers(name, np.array(some, np.float64), UNIT, source=source) for name, some in amounts.items()}
    return replace(market, columns={**market.columns, **columns}, currency=currency)
