"""Prices of offerings and candidates, from a provider's own list and the price book."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime

from cloudcmp.cost.account_terms import effective_per_hour
from cloudcmp.cost.lookup import FRESH_DAYS, Lookup
from cloudcmp.cost.price_query import PriceQuery, UnknownPrice
from cloudcmp.cost.rates import rates
from cloudcmp.cost.rules import USER_SOURCES
from cloudcmp.model.bill import NO_RATE, Rate, Use
from cloudcmp.model.offering import Offering, Price
from cloudcmp.model.plan import Candidate
from cloudcmp.model.price import OLD_BY_NATURE, Doubt, How, Item, PriceList, Purchase
from cloudcmp.model.price_lists import FETCHED
from cloudcmp.model.promise import from_attributes, is_promise
from cloudcmp.model.terms import Commitment
from cloudcmp.store.prices import PriceBook
from cloudcmp.units import Money

OWN_PRICES = frozenset({"simulated"})
"""Providers with prices of their own: the price book is not used."""
_IN_SEVERAL_LISTS = frozenset({Item.REQUEST, Item.CAPACITY, Item.STORAGE, Item.EGRESS})
"""What a provider lists by service: that a list has no such row does not say that there is none."""


def utc_day(now: float | None = None) -> date:
    """Returns the UTC day of a Unix time (s), by default of now."""
    return datetime.fromtimestamp(time.time() if now is None else now, UTC).date()


def with_prices(offerings: Sequence[Offering], today: date | None = None) -> tuple[Offering, ...]:
    """Returns offerings with missing prices from the price book: Linux, on demand, shared machines."""
    if not any(map(_unpriced, offerings)):
        return tuple(offerings)
    with PriceBook() as book:
        look = Lookup(book, today or utc_day())
        return tuple(_with_book_price(one, look) for one in offerings)


def _unpriced(offering: Offering) -> bool:
    """True if the price book may know more about an offering's price."""
    return offering.provider not in OWN_PRICES and (offering.price is None or offering.price.how in OLD_BY_NATURE)


def _with_book_price(offering: Offering, look: Lookup, purchase: Purchase = Purchase.ON_DEMAND) -> Offering:
    if not _unpriced(offering):
        return offering
    price = look.machine(PriceQuery(offering.provider, offering.region, offering.name, purchase=purchase))
    return offering if isinstance(price, UnknownPrice) else replace(offering, price=price)


def book_offerings(
    provider: str, region: str | None = None, today: date | None = None, purchase: Purchase = Purchase.ON_DEMAND
) -> tuple[Offering, ...]:
    """Returns the instance types that the price book knows of a provider, in one region or all, with prices.

    The provider's own newest list is complete. Otherwise there may be more types, and each offering names its source
    among its attributes.
    """
    with PriceBook() as book:
        look = Lookup(book, today or utc_day())
        return tuple(_with_book_price(one, look, purchase) for one in _unpriced_in(book, provider, region))


def unpriced_book_offerings(provider: str, region: str | None = None) -> tuple[Offering, ...]:
    """Returns the same without prices."""
    with PriceBook() as book:
        return tuple(_unpriced_in(book, provider, region))


def _unpriced_in(book: PriceBook, provider: str, region: str | None) -> Iterator[Offering]:
    regions = [region] if region else [at for _, at in book.places(provider) if at]
    for at in dict.fromkeys(regions):
        yield from _sold_in(book, provider, at)


def _sold_in(book: PriceBook, provider: str, region: str) -> list[Offering]:
    offerings: dict[str, Offering] = {}
    place = (provider, region, Item.INSTANCE)
    for list_ in book.lists(*place, Purchase.ON_DEMAND) or book.lists(*place):
        partial = list_.how in {How.GIVEN, *OLD_BY_NATURE}
        source = (("source", list_.source),) if partial else ()
        sold_by_name = {one.name: one for one in book.sold(list_, provider, region)}
        for name in book.names(list_, *place):
            one = sold_by_name.get(name)
            facts = (one.vcpus, one.memory_gib, one.category) if one else (None, None, None)
            listed = dict(one.attributes) if one else {}
            kept = [pair for pair in listed.items() if not is_promise(pair[0])]
            offering = Offering(
                provider, region, name, *facts, attributes=tuple(sorted((*kept, *source))),
                promises=from_attributes(listed, list_.source, list_.dated),
            )  # fmt: skip
            offerings.setdefault(name, offering)
        if not partial:
            break
    return list(offerings.values())


def price(candidate: Candidate, today: date | None = None) -> tuple[Candidate, tuple[str, ...]]:
    """Returns the candidate with the book's prices of its machine and its volume, and why one is unknown.

    Prices from the study stay. A spot machine counts at the price on demand, which is the limit of its bid.
    """
    offering = candidate.offering
    if offering.provider in OWN_PRICES:
        return candidate, ()
    from_user = offering.price is not None and offering.price.source in USER_SOURCES
    lines: list[str] = []
    with PriceBook() as book:
        look = Lookup(book, today or utc_day(), offering.price.currency if from_user and offering.price else "")
        if _unpriced(offering):
            machine = look.machine(_query(candidate))
            if isinstance(machine, Price):
                offering = replace(offering, price=machine)
            elif offering.price is None:
                lines.append(machine.line)
        volume = candidate.volume
        if volume is not None and volume.price is None and offering.price is not None:
            look = replace(look, currency=offering.price.currency)
            volume_price = look.volume(offering.provider, offering.region, volume)
            if isinstance(volume_price, UnknownPrice):
                lines.append(volume_price.line)
            else:
                volume = replace(volume, price=volume_price)
        listed = offering.provider in FETCHED or book.lists(offering.provider)
    return replace(candidate, offering=offering, volume=volume), tuple(lines if listed else ())


def rate_of(use: Use, today: date | None = None) -> Rate:
    """Returns the rate of a use in the newest list that has it; bundled and printed lists do not count.

    A rate older than 30 days or in doubt is unknown; no older list replaces it.
    """
    day = today or utc_day()
    with PriceBook() as book:
        for list_ in book.lists(use.provider, use.region, use.item, use.purchase):
            if list_.how in OLD_BY_NATURE:
                continue
            rows = book.rows(list_, use.provider, use.region, use.item, use.name)
            doubts = [one for one in book.doubts(list_, use.provider, use.region, use.name) if _about(one, use)]
            if (list_.how == How.GIVEN or use.item in _IN_SEVERAL_LISTS) and not rows and not doubts:
                continue
            if doubts:
                return Rate(why=doubts[0].why)
            dated = list_.dated
            if dated is None or not -1 <= (day - dated).days <= FRESH_DAYS:
                return Rate(why=f"its price is of {dated or 'no date'}, not of the last {FRESH_DAYS} days")
            known = PriceList(
                use.provider, list_.source, list_.how, list_.fetched_at, "", list_.sha256, rows, published=dated
            )
            return rates([known], day)(use)
    return NO_RATE


def _about(doubt: Doubt, use: Use) -> bool:
    return (
        doubt.name == use.name
        and doubt.item in {None, use.item}
        and (doubt.system in {"", use.system} or not use.system)
        and doubt.purchase in {None, use.purchase}
        and doubt.tenancy in {"", use.tenancy}
    )


def _query(candidate: Candidate, purchase: Purchase = Purchase.ON_DEMAND) -> PriceQuery:
    offering, options = candidate.offering, dict(candidate.options)
    system, tenancy = options.get("os", "linux"), options.get("tenancy", "shared")
    return PriceQuery(offering.provider, offering.region, offering.name, system, purchase, tenancy)


def price_for_purchase(candidate: Candidate, purchase: Purchase, today: date | None = None) -> tuple[Price | None, str]:
    """Returns the hourly price of a candidate's machine for a kind of purchase, or why it is unknown."""
    offering = candidate.offering
    with PriceBook() as book:
        look = Lookup(book, today or utc_day(), offering.price.currency if offering.price else "")
        price = look.machine(_query(candidate, purchase))
    return (None, price.why) if isinstance(price, UnknownPrice) else (price, "")


def commitment_of(candidate: Candidate, today: date | None = None) -> Commitment | None:
    """Returns the cheapest commitment for a candidate's machine in a fresh price list, if every hour is used."""
    offering = candidate.offering
    with PriceBook() as book:
        look = Lookup(book, today or utc_day(), offering.price.currency if offering.price else "")
        rows = look.commitments(_query(candidate, Purchase.RESERVED))
    place = (offering.provider, offering.name)
    commitments = [
        Commitment(*place, row.purchase, row.term_months, Money(row.amount, row.currency), row.upfront, offering.region)
        for row in rows
    ]
    return min(commitments, key=lambda one: (effective_per_hour(one).amount, one.term_months), default=None)
