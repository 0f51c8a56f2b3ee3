"""Hourly prices that these clouds report themselves."""

from datetime import date
from decimal import ROUND_UP, Decimal, InvalidOperation
from typing import Any

from cloudcmp.model.offering import Price

_LEAST = Decimal("0.000001")
_MOST = Decimal(10**6)  # a higher price must be an error


def hourly(response: Any, source: str, today: date, currency: str) -> Price | None:
    """A price in a response; None, which means unknown, if it is missing, zero or no number."""
    amount = amount_of(response)
    return Price(amount, currency, source, today) if amount is not None else None


def monthly(response: Any, hours: int, source: str, today: date, currency: str) -> Price | None:
    """The hourly part of a monthly price of so many hours, rounded up to a millionth."""
    amount = amount_of(response)
    if amount is None:
        return None
    return Price((amount / hours).quantize(_LEAST, ROUND_UP), currency, source, today)


def amount_of(response: Any) -> Decimal | None:
    """A positive number in a JSON response, exactly; None for anything else, or above a million."""
    if isinstance(response, bool) or not isinstance(response, int | float | str):
        return None
    try:
        amount = Decimal(str(response))
    except InvalidOperation:
        return None
    return amount if amount.is_finite() and 0 < amount <= _MOST else None
