"""Rows and rates for bills: small, and without a list."""

from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal

from cloudcmp.model.bill import Rate, Use
from cloudcmp.model.offering import Billing
from cloudcmp.model.price import Doubt, Item, PriceEntry, PriceList, PriceRow, TypeFacts, Unit

SECOND = Billing(60.0, 1.0)


def row(amount: str, unit: Unit = Unit.HOUR, item: Item = Item.INSTANCE, **more: object) -> PriceRow:
    """One row in USD."""
    return PriceRow("aws", "eu", item, "x", Decimal(amount), "USD", unit, **more)  # type: ignore[arg-type]


def tiers(*steps: tuple[str, str | None], unit: Unit = Unit.GB, item: Item = Item.EGRESS) -> tuple[PriceRow, ...]:
    """Rows of a price by (amount, until): each begins where the one before ends."""
    found, start = [], Decimal(0)
    for amount, until in steps:
        end = None if until is None else Decimal(until)
        found.append(row(amount, unit, item, tier_from=start, tier_until=end))
        start = end or start
    return tuple(found)


def use(item: Item = Item.INSTANCE, seconds: object = (), size: object = 1, **more: object) -> Use:
    """A use of the thing `x`, in periods of seconds."""
    periods = seconds if isinstance(seconds, tuple) else (seconds,)
    told = tuple(Decimal(str(one)) for one in periods)
    return Use("aws", "eu", item, "x", size=Decimal(str(size)), periods_s=told, **more)  # type: ignore[arg-type]


def at(rows: PriceRow | tuple[PriceRow, ...], billing: Billing = SECOND, **more: object):  # type: ignore[no-untyped-def]
    """Every use at this rate."""
    known = rows if isinstance(rows, tuple) else (rows,)
    rate = Rate(known, billing, **more)  # type: ignore[arg-type]
    return lambda _: rate


def collected(entries: Iterable[PriceEntry], head: PriceList) -> PriceList:
    """All entries of a reader as one list, with the currency, the provider and the regions that its rows have."""
    rows: list[PriceRow] = []
    sold: list[TypeFacts] = []
    doubts: list[Doubt] = []
    published = head.published
    for one in entries:
        if isinstance(one, PriceRow):
            rows.append(one)
        elif isinstance(one, TypeFacts):
            sold.append(one)
        elif isinstance(one, Doubt):
            doubts.append(one)
        else:
            published = min(one, published or one)
    currencies, providers = {one.currency for one in rows}, {one.provider for one in rows}
    return replace(
        head,
        provider=providers.pop() if len(providers) == 1 else "" if providers else head.provider,
        currency=currencies.pop() if len(currencies) == 1 else "",
        rows=tuple(rows),
        sold=tuple(dict.fromkeys(sold)),
        doubts=tuple(doubts),
        published=published,
        regions=tuple(sorted({one.region for one in rows if one.region})),
    )
