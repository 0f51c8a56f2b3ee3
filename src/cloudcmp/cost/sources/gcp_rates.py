"""The rates of a SKU in Google's catalogue."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

from cloudcmp.cost.sources import fields
from cloudcmp.model.untrusted_text import one_line


@dataclass(frozen=True, slots=True)
class ListedRate:
    """One rate of a SKU: where it begins, in the SKU's usage unit, its amount, which may be zero, and its currency."""

    begins: Decimal
    amount: Decimal
    currency: str


@dataclass(frozen=True, slots=True)
class ListedPrice:
    """The only price of a SKU: the text of its usage unit, its rates and its first day."""

    unit: object
    rates: tuple[ListedRate, ...]
    starts: date


def price_of(sku: Mapping[str, Any]) -> ListedPrice:
    """Reads the price of a SKU; raises InvalidValue if there is none, or more than one."""
    prices = sku.get("pricingInfo")
    if not isinstance(prices, list) or len(prices) != 1 or not isinstance(prices[0], Mapping):
        raise fields.InvalidValue("it has no price, or more than one")
    expression = prices[0].get("pricingExpression")
    rates = expression.get("tieredRates") if isinstance(expression, Mapping) else None
    if not isinstance(expression, Mapping) or not isinstance(rates, list) or not rates:
        raise fields.InvalidValue("it has no rates")
    starts = fields.day_of(prices[0].get("effectiveTime"))
    return ListedPrice(expression.get("usageUnit"), tuple(map(_rate, rates)), starts)


def _rate(rate: object) -> ListedRate:
    """Reads a rate, whose amount is in units and billionths; raises InvalidValue."""
    if not isinstance(rate, Mapping) or not isinstance(rate.get("unitPrice"), Mapping):
        raise fields.InvalidValue("a rate has no price")
    price = rate["unitPrice"]
    units, nanos = fields.number_of(price.get("units", "0")), fields.number_of(price.get("nanos", Decimal(0)))
    if (
        units != int(units)
        or nanos != int(nanos)
        or abs(nanos) >= 10**9
        or abs(units) > fields.MOST
        or units * nanos < 0
    ):
        raise fields.InvalidValue(f"{one_line(units)} units and {one_line(nanos)} billionths are no amount")
    amount = units + nanos / 10**9
    if amount < 0:
        raise fields.InvalidValue(f"a price of {amount} is below zero")
    begins = fields.quantity_of(rate.get("startUsageAmount", Decimal(0)))
    return ListedRate(begins, amount, fields.currency_of(price.get("currencyCode")))
