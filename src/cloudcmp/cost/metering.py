"""Converts a use into billed quantities: time in minimums and steps, least sizes, tiers within a month."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal

from cloudcmp.model.bill import Rate, Use
from cloudcmp.model.offering import Billing
from cloudcmp.model.price import MONTH_HOURS, Item, PriceRow, Unit

EXACT = Context(prec=60)
SHORTEST_MONTH_HOURS = 28 * 24
"""February, in which an hourly share of a monthly price is highest."""
_HOUR_S = Decimal(3600)
SCALE = {
    Unit.GB_MONTH: Decimal(10**9), Unit.GB_HOUR: Decimal(10**9), Unit.GB: Decimal(10**9),
    Unit.GIB_MONTH: Decimal(2**30), Unit.GIB_HOUR: Decimal(2**30), Unit.GIB: Decimal(2**30),
    Unit.MILLION: Decimal(10**6), Unit.MB_PER_S_MONTH: Decimal(10**6),
}  # fmt: skip
"""How many base units, such as bytes or operations, are one unit; 1 for those that are not here."""
_MONTHLY = frozenset({Unit.GB_MONTH, Unit.GIB_MONTH, Unit.IOPS_MONTH, Unit.MB_PER_S_MONTH, Unit.MONTH})
_TIMED = _MONTHLY | {Unit.HOUR, Unit.GB_HOUR, Unit.GIB_HOUR}
_BY_SIZE = frozenset({Unit.IOPS_MONTH, Unit.MB_PER_S_MONTH})
"""Units with tiers for each volume instead of for a month's sum (https://aws.amazon.com/ebs/pricing/, io2)."""


@dataclass(frozen=True, slots=True)
class Part:
    """A quantity in a row's unit at that row's price."""

    quantity: Decimal
    row: PriceRow


def paid_s(seconds: Decimal, billing: Billing) -> Decimal:
    """Returns the exact seconds that are billed for one period: the minimum, then every step begun."""
    least, step = Decimal(repr(billing.minimum_s)), Decimal(repr(billing.step_s))
    if seconds <= least:
        return least
    if step <= 0:
        return seconds
    steps = EXACT.divide(seconds - least, step).to_integral_value(ROUND_CEILING)
    return least + steps * step


def misfit(use: Use, unit: Unit) -> str:
    """Returns why a use cannot be counted in a unit, empty if it can."""
    if not use.size.is_finite() or use.size < 0 or use.count < 0 or use.times < 0:
        return "its quantity is negative or infinite"
    if any(not one.is_finite() or one < 0 for one in use.periods_s):
        return "its duration is negative or infinite"
    if unit is Unit.RATIO:
        return "its price is a share of other money"
    if (unit in _TIMED) != bool(use.periods_s) and unit is not Unit.MONTH:
        return f"its price is for a {unit.value}, and its use has {'a' if use.periods_s else 'no'} duration"
    return ""


def parts(use: Use, rate: Rate, before: Decimal, *, month_h: int = MONTH_HOURS, worst: bool = False) -> list[Part]:
    """Splits a use over the tiers of its rate; `before` is the quantity that the month already has.

    With `worst` all of it costs the dearest tier. Each thing counts at least as the row's least size.
    """
    unit = rate.rows[0].unit
    each = _each(use, rate)
    hours = _hours(use, rate) if unit in _TIMED and use.periods_s else Decimal(1)
    if unit in _MONTHLY and use.periods_s:
        hours = EXACT.divide(hours, Decimal(month_h))
    of_each = EXACT.multiply(hours, Decimal(use.count * use.times))
    if unit in _BY_SIZE:  # the first tier begins after the included size
        return [
            Part(EXACT.multiply(one.quantity, of_each), one.row) for one in _spread(each, Decimal(0), rate, worst=worst)
        ]
    return _spread(EXACT.multiply(each, of_each), before, rate, worst=worst)


def _each(use: Use, rate: Rate) -> Decimal:
    """Returns the billed size of each thing in the row's unit: without what is included, at least the row's least."""
    row = rate.rows[0]
    if row.unit in {Unit.HOUR, Unit.MONTH} and use.item in {Item.VOLUME, Item.SNAPSHOT, Item.STORAGE}:
        return Decimal(1)  # a price for the whole thing
    size = EXACT.divide(use.size, SCALE.get(row.unit, Decimal(1)))
    size = max(Decimal(0), size - rate.included)
    return max(size, row.least) if size > 0 else size


def _hours(use: Use, rate: Rate) -> Decimal:
    total = sum((paid_s(period, rate.billing) for period in use.periods_s), Decimal(0))
    return EXACT.divide(total, _HOUR_S)


def _spread(quantity: Decimal, before: Decimal, rate: Rate, *, worst: bool) -> list[Part]:
    if worst:
        return [Part(quantity, max(rate.rows, key=lambda row: row.amount))]
    return graduated(quantity, before, rate.rows)


def graduated(quantity: Decimal, before: Decimal, rows: Sequence[PriceRow]) -> list[Part]:
    """Splits a quantity that follows `before` over the tiers."""
    tiers, start, end = [], before, before + quantity
    for number, row in enumerate(rows):
        # Below a month's first tier is the account's free allowance, which may be used up.
        begins = Decimal(0) if number == 0 and row.unit not in _BY_SIZE else row.tier_from
        low = max(start, begins)
        high = end if row.tier_until is None else min(end, row.tier_until)
        if high > low:
            tiers.append(Part(high - low, row))
    return tiers or [Part(Decimal(0), rows[0])]


def sustained_hours(hours: Decimal, month_h: int, monthly: Sequence[Decimal]) -> Decimal:
    """Returns the hours at full price that cost as much as one machine's hours with `monthly` shares.

    Each equal part of a month has its share of the price. Successive machines of one kind in a region count as one
    (https://cloud.google.com/compute/docs/sustained-use-discounts); for concurrent ones see `Sustained`.
    """
    width = EXACT.divide(Decimal(month_h), Decimal(len(monthly)))
    full, rest = divmod(hours, Decimal(month_h))
    whole = EXACT.multiply(width, sum(monthly, Decimal(0)))
    begun = (max(Decimal(0), min(rest - n * width, width)) * share for n, share in enumerate(monthly))
    return EXACT.multiply(full, whole) + sum(begun, Decimal(0))


class Sustained:
    """The hours of concurrent machines of one kind in a month: of the first, the second, and so on.

    https://cloud.google.com/compute/docs/sustained-use-discounts: ten machines at once for three days are ten with a
    tenth of the month each, not one with the whole month.
    """

    def __init__(self) -> None:
        self._hours: dict[int, Decimal] = {}

    def add(self, hours: Decimal, count: int, month_h: int, monthly: Sequence[Decimal]) -> Decimal:
        """Adds `hours` of each of `count` concurrent machines; returns the hours at full price that this costs."""
        total, done = Decimal(0), 0
        for until in sorted({*(one for one in self._hours if one < count), count}):
            had = sum((ran for one, ran in self._hours.items() if one >= until), Decimal(0))
            more = sustained_hours(had + hours, month_h, monthly) - sustained_hours(had, month_h, monthly)
            total += EXACT.multiply(more, Decimal(until - done))
            done = until
        self._hours[count] = self._hours.get(count, Decimal(0)) + hours
        return total


def hours_for(worth: Decimal, month_h: int, monthly: Sequence[Decimal]) -> Decimal | None:
    """Returns how long one machine runs in a month for the price of `worth` full hours; None if it never costs that."""
    width = EXACT.divide(Decimal(month_h), Decimal(len(monthly)))
    left, hours = worth, Decimal(0)
    for share in monthly:
        whole = EXACT.multiply(width, share)
        if left < whole:
            return hours + EXACT.divide(left, share)
        left, hours = left - whole, hours + width
    return None
