"""The price at which a machine may be created: known, positive, in one currency, fresh and unambiguous."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from cloudcmp.errors import Refused
from cloudcmp.model.offering import Offering, Price
from cloudcmp.model.plan import Candidate, unit_cost
from cloudcmp.model.price import OLD_BY_NATURE

FRESH_DAYS = 30
_GIVE_PRICE = 'give its price in the study, e.g. "price: 0.10 USD/h"'


@dataclass(frozen=True, slots=True)
class Priced:
    """The hourly price of one machine of a candidate with its volume, and its place (provider, region, name)."""

    where: str
    per_hour: Decimal
    currency: str


def price_to_create(candidate: Candidate, currency: str, today: date, listed: Iterable[Offering] = ()) -> Priced:
    """Returns the hourly price of one machine of a billed candidate, in the budget's currency.

    `listed` is what the provider sells: a name that it lists at two prices has none, unless the study gives one. Raises
    Refused with the price and the reason: unknown, not positive, infinite, in another currency, older than 30 days,
    later than `today`, or ambiguous. A price without a date comes from the study.
    """
    sold = candidate.offering
    where = f"{sold.provider}/{sold.region}/{sold.name}"
    _check(where, sold.price, currency, today)
    amounts = {
        other.price.amount_per_hour
        for other in listed
        if (other.provider, other.region, other.name) == (sold.provider, sold.region, sold.name) and other.price
    }
    if len(amounts) > 1 and sold.price is not None and sold.price.as_of is not None:
        raise Refused.at(where, f"it is listed at {len(amounts)} prices, {min(amounts)} to {max(amounts)}", _GIVE_PRICE)
    if candidate.volume is not None:
        _check(f"{where}+{candidate.volume}", candidate.volume.price, currency, today)
    per_hour = unit_cost(candidate)
    if per_hour is None or sold.price is None:
        raise Refused.at(where, "its price is not known", _GIVE_PRICE)
    return Priced(where, per_hour, currency)


def _check(where: str, price: Price | None, currency: str, today: date) -> None:
    if price is None:
        raise Refused.at(where, "its price is not known", _GIVE_PRICE)
    amount = price.amount_per_hour
    if not amount.is_finite() or amount <= 0:
        raise Refused.at(where, f"a price of {amount} ({price.source}) is invalid", _GIVE_PRICE)
    if price.currency != currency:
        what = f"its price is in {price.currency}, the budget in {currency}"
        raise Refused.at(where, what, f"give both in one currency, e.g. a price in {currency}")
    if price.how in OLD_BY_NATURE:
        what = f"its price was {price.how} and is old by nature ({price.source})"
        raise Refused.at(where, what, f"cloudcmp fetch looks it up, or {_GIVE_PRICE}")
    if price.as_of is None:
        return
    age_days = (today - price.as_of).days
    if age_days > FRESH_DAYS:
        what = f"its price is {age_days} days old ({price.source}, {price.as_of}), more than {FRESH_DAYS}"
        raise Refused.at(where, what, f"look it up again, or {_GIVE_PRICE}")
    if age_days < -1:  # a day ahead is another time zone
        raise Refused.at(where, f"its price is dated {price.as_of}, after today ({price.source})", _GIVE_PRICE)
