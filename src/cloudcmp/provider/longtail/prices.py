"""The prices that these clouds state themselves, for the hour."""

from datetime import date
from decimal import ROUND_UP, Decimal, InvalidOperation
from typing import Any

from cloudcmp.model.offering import Price

_LEAST = Decimal("0.000001")
_MOST = Decimal(10**6)  # nobody's price: what says more is broken


def hourly(response: Any, source: str, today: date, currency: str) -> Price | None:
    """A price as an answer tells it, None where it is none, zero, or no number: that is unknown, never free."""
    amount = amount_of(response)
    return Price(amount, currency, source, today) if amount is not None else None


def monthly(response: Any, hours: int, source: str, today: date, currency: str) -> Price | None:
    """The hour of a price that is told for a month of so many hours, rounded up to a millionth."""
    amount = amount_of(response)
    if amount is None:
        return None
    return Price((amount / hours).quantize(_LEAST, ROUND_UP), currency, source, today)


def amount_of(response: Any) -> Decimal | None:
    """A positive number of a JSON answer as it was written, None for anything else, or above a million."""
    if isinstance(response, bool) or not isinstance(response, int | float | str):
        return None
    try:
        amount = Decimal(str(response))
    except InvalidOperation:
        return None
    return amount if amount.is_finite() and 0 < amount <= _MOST else None
