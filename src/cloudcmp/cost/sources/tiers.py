"""Prices of services by the operation, the hour and the byte: their tiers, in the units of a price row."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal

from cloudcmp.cost.metering import EXACT
from cloudcmp.cost.sources.fields import InvalidValue
from cloudcmp.model.price import Item, PriceRow, Unit

SERVICE_ITEMS = frozenset({Item.REQUEST, Item.CAPACITY, Item.STORAGE})


@dataclass(frozen=True, slots=True)
class Measure:
    """A unit of a price list: `in_one` of it are one `unit` of a price row, so 10^6 requests are one MILLION."""

    unit: Unit
    in_one: Decimal = Decimal(1)

    def amount(self, listed: Decimal) -> Decimal:
        """Returns the price of one `unit`, exactly and without trailing zeros."""
        return EXACT.add(EXACT.multiply(listed, self.in_one).normalize(EXACT), Decimal(0))

    def quantity(self, listed: Decimal) -> Decimal:
        """Returns a quantity of the list in `unit`, exactly for powers of ten and two."""
        return EXACT.divide(listed, self.in_one)


ONE = Measure(Unit.MILLION, Decimal(10**6))
TEN_THOUSAND = Measure(Unit.MILLION, Decimal(100))
MILLION = Measure(Unit.MILLION)
TIB = Measure(Unit.GIB, Decimal(1) / 1024)


def tiered(row: PriceRow, tiers: Iterable[tuple[Decimal, Decimal]], measure: Measure) -> Iterator[PriceRow]:
    """Yields a row for each tier, given as where it begins and its price, both in the list's unit.

    A first tier at zero is the free allowance of an account, which may be used up: the next price counts from the
    beginning. Raises InvalidValue for any other price of zero, for a price below zero, for two prices of one tier, and
    if no tier begins at zero.
    """
    listed = sorted(set(tiers))
    begins = [begin for begin, _ in listed]
    if not listed:
        raise InvalidValue("it has no price")
    if len(set(begins)) < len(begins):
        raise InvalidValue(f"it has two prices from {begins[0]:f} on")
    if begins[0] > 0:
        raise InvalidValue(f"its price holds from {begins[0]:f} on only")
    if any(amount < 0 for _, amount in listed):
        raise InvalidValue("one of its prices is below zero")
    if len(listed) > 1 and listed[0][1] == 0:
        listed = [(Decimal(0), listed[1][1]), *listed[2:]]
    if any(amount == 0 for _, amount in listed):
        raise InvalidValue("a price of zero is unknown, not free")
    ends = [measure.quantity(begin) for begin, _ in listed[1:]]
    for (begin, amount), end in zip(listed, [*ends, None], strict=True):
        yield replace(
            row,
            amount=measure.amount(amount),
            unit=measure.unit,
            tier_from=measure.quantity(begin),
            tier_until=end,
        )
