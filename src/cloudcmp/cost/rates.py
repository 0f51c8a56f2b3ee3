"""Finds the rate of a use in price lists: the one row that fits it, with its tiers, or why there is none."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal

from cloudcmp.cost.price_query import in_force, missing_disk_size, volume_rows, without_sku
from cloudcmp.cost.rules import USER_SOURCES, clock_of, included, sustained
from cloudcmp.model.bill import NO_RATE, Rate, RateOf, Use
from cloudcmp.model.offering import Billing, Price
from cloudcmp.model.price import Item, PriceList, PriceRow, Unit


def rates(lists: Iterable[PriceList], today: date) -> RateOf:
    """Returns a lookup of rates in price lists, as of a day: prices that begin later do not count.

    A row fits a use if provider, item, name, purchase, tenancy, term and direction are equal, and region and system are
    equal or empty in the row. The latest list with a fitting row counts.
    """
    known = tuple(lists)
    cache: dict[Use, Rate] = {}

    def rate_of(use: Use) -> Rate:
        if use not in cache:
            cache[use] = _rate(use, known, today)
        return cache[use]

    return rate_of


def hourly_rate(price: Price, use: Use, billing: Billing | None = None) -> Rate:
    """Returns the rate of a use with a given hourly price."""
    row = PriceRow(use.provider, use.region, use.item, use.name, price.amount_per_hour, price.currency, Unit.HOUR,
                   purchase=use.purchase, tenancy=use.tenancy)  # fmt: skip
    monthly = sustained(use) if price.source not in USER_SOURCES else ()
    return Rate((row,), billing or clock_of(use), monthly=monthly, source=price.source, dated=price.as_of)


def _rate(use: Use, lists: Sequence[PriceList], today: date) -> Rate:
    for list_ in sorted(lists, key=_published_on, reverse=True):
        rows = [row for row in list_.rows if _fits(row, use) and (row.starts is None or row.starts <= today)]
        if rows:
            return _rate_in(list_, rows, use)
    doubts = (doubt for list_ in lists for doubt in list_.doubts)
    why = next((one.why for one in doubts if (one.provider, one.name) == (use.provider, use.name)), None)
    return NO_RATE if why is None else Rate(why=why)


def _rate_in(list_: PriceList, fits: Sequence[PriceRow], use: Use) -> Rate:
    near = _most_specific(fits, use)
    best = in_force(_disk_rows(near, use))
    alike = {without_sku(row): row for row in reversed(best)}
    rows = tuple(sorted(alike.values(), key=lambda row: row.tier_from))
    if not rows:
        return Rate(why=why) if (why := missing_disk_size(near)) else NO_RATE
    if len({row.tier_from for row in rows}) < len(rows):
        amounts = sorted({row.amount for row in rows})
        return Rate(why=f"it is listed at {len(rows)} prices, {amounts[0]} to {amounts[-1]}")
    own = included(use) if rows[0].tier_from == 0 else Decimal(0)
    return Rate(rows, clock_of(use), own, sustained(use), list_.source, _published_on(list_))


def _fits(row: PriceRow, use: Use) -> bool:
    return (
        (row.provider, row.item, row.name) == (use.provider, use.item, use.name)
        and (row.purchase, row.tenancy, row.term_months, row.to) == (use.purchase, use.tenancy, use.term_months, use.to)
        and row.region in {"", use.region}
        and (row.system in {"", use.system} or not use.system)
    )


def _most_specific(rows: Sequence[PriceRow], use: Use) -> list[PriceRow]:
    """Returns the rows of the use's own region and system if there are any, else the next general ones."""
    for wanted in ((use.region, use.system), (use.region, ""), ("", use.system)):
        some = [row for row in rows if (row.region, row.system) == wanted]
        if some:
            return some
    return list(rows)


def _disk_rows(rows: Sequence[PriceRow], use: Use) -> list[PriceRow]:
    """Returns the rows of whole disks that fit this size, without tiers: their tiers are disk sizes in GiB."""
    if use.item is not Item.VOLUME:
        return list(rows)
    holds = volume_rows(Decimal(-(-int(use.size) // 2**30))).row
    return [
        replace(row, tier_from=Decimal(0), tier_until=None) if row.unit is Unit.MONTH else row
        for row in rows
        if holds(row)
    ]


def _published_on(one: PriceList) -> date:
    return one.published or datetime.fromtimestamp(one.fetched_at, UTC).date()
