"""Prices that stand out so far from those of the same type elsewhere that they are probably wrong."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from cloudcmp.model.market import COST, Market, Numbers

FEWEST_REGIONS = 4
LEAST_SHARE = 0.5
"""Of 80,179 list prices of types in four regions or more, 87 are below half the median of their type (the prices in the
tests' data, 2026), nearly all of them placeholders of regions that open or close; the cheapest regions ask 53 %."""


def without_odd_prices(market: Market) -> Market:
    """Return the market with a price as unknown if it is below half the median of the same type in all its regions.

    Only types with prices in four regions or more are judged. It is meant for list prices: those of spot machines do
    differ that much. A note says how many there are, and names the oddest.
    """
    price = market.columns.get(COST)
    if not isinstance(price, Numbers):
        return market
    odd = dict(_odd(market, price))
    if not odd:
        return market
    value = price.value.copy()
    value[list(odd)] = np.nan
    worst = min(odd, key=lambda at: odd[at])
    amount = f"{price.value[worst]:.4g} {market.currency}/h"
    note = (
        f"{len(odd)} prices are below half of what the same type costs in most regions, such as "
        f"{market.keys[worst]} at {amount}: they count as unknown"
    )
    return replace(market, columns={**market.columns, COST: replace(price, value=value)}, notes=(*market.notes, note))


def _odd(market: Market, price: Numbers) -> Iterator[tuple[int, float]]:
    """The rows with odd prices, and the share of the median that each asks."""
    rows: dict[tuple[str, str], list[int]] = {}
    for at in np.flatnonzero(np.isfinite(price.value)).tolist():
        key = market.keys[at]
        rows.setdefault((key.provider, key.name), []).append(at)
    for some in rows.values():
        if len(some) >= FEWEST_REGIONS:
            shares = price.value[some] / float(np.median(price.value[some]))
            yield from ((at, share) for at, share in zip(some, shares.tolist(), strict=True) if share < LEAST_SHARE)
