"""What is sold at what price: a provider's own list beside the price book, and price lists on their way into it."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime

from cloudcmp.cost.account_terms import effective_per_hour
from cloudcmp.cost.lookup import FETCHED, FRESH_DAYS, Lookup
from cloudcmp.cost.price_query import PriceQuery, UnknownPrice
from cloudcmp.cost.rates import rates
from cloudcmp.model.bill import NO_RATE, Rate, Use
from cloudcmp.model.offering import Offering, Price
from cloudcmp.model.plan import Candidate
from cloudcmp.model.price import OLD_BY_NATURE, Doubt, How, Item, PriceList, PriceListEntry, Purchase
from cloudcmp.model.terms import Commitment
from cloudcmp.store.prices import PriceBook
from cloudcmp.units import Money

OWN_PRICES = frozenset({"simulated"})
"""Providers whose prices are their own: no list is asked."""
_USERS_OWN = {"study file", "imported"}


def today_of(now: float | None = None) -> date:
    """The UTC day of a Unix time (s), of now without one."""
    return datetime.fromtimestamp(time.time() if now is None else now, UTC).date()


def with_prices(offerings: Sequence[Offering], today: date | None = None) -> tuple[Offering, ...]:
    """A provider's own list with the price book's prices where it tells none: Linux on demand, on shared machines."""
    if not any(map(_unpriced, offerings)):
        return tuple(offerings)
    with PriceBook() as book:
        look = Lookup(book, today or today_of())
        return tuple(_joined(one, look) for one in offerings)


def _unpriced(sold: Offering) -> bool:
    """Whether a list may tell more of an offering's price than is known of it."""
    return sold.provider not in OWN_PRICES and (sold.price is None or sold.price.how in OLD_BY_NATURE)


def _joined(sold: Offering, look: Lookup) -> Offering:
    if not _unpriced(sold):
        return sold
    found = look.machine(PriceQuery(sold.provider, sold.region, sold.name))
    return sold if isinstance(found, UnknownPrice) else replace(sold, price=found)


def booked(provider: str, region: str | None = None, today: date | None = None) -> tuple[Offering, ...]:
    """What the price book alone knows of a provider's instance types, in one region or all, with their prices.

    The newest of the provider's own lists is all that it sells there. Where there is only a list of others, or of the
    user's own, each offering names its source among its attributes: there may be more.
    """
    with PriceBook() as book:
        look = Lookup(book, today or today_of())
        return tuple(_joined(one, look) for one in _unpriced_in(book, provider, region))


def booked_unpriced(provider: str, region: str | None = None) -> tuple[Offering, ...]:
    """The same without prices."""
    with PriceBook() as book:
        return tuple(_unpriced_in(book, provider, region))


def _unpriced_in(book: PriceBook, provider: str, region: str | None) -> Iterator[Offering]:
    regions = [region] if region else [at for _, at in book.places(provider) if at]
    for at in dict.fromkeys(regions):
        yield from _sold_in(book, provider, at)


def _sold_in(book: PriceBook, provider: str, region: str) -> list[Offering]:
    found: dict[str, Offering] = {}
    for list_ in _telling(book, provider, region):
        partial = list_.how in {How.GIVEN, *OLD_BY_NATURE}
        source = (("source", list_.source),) if partial else ()
        sold_by_name = {one.name: one for one in book.sold(list_, provider, region)}
        for name in book.names(list_, provider, region, Item.INSTANCE):
            one = sold_by_name.get(name)
            facts = (one.vcpus, one.memory_gib, one.category) if one else (None, None, None)
            attributes = tuple(sorted((*(one.attributes if one else ()), *source)))
            found.setdefault(name, Offering(provider, region, name, *facts, attributes=attributes))
        if not partial:
            break
    return list(found.values())


def _telling(book: PriceBook, provider: str, region: str) -> list[PriceListEntry]:
    """The lists that say what is sold: those of prices on demand, before those of commitments and spot alone."""
    return book.lists(provider, region, Item.INSTANCE, Purchase.ON_DEMAND) or book.lists(
        provider, region, Item.INSTANCE
    )


def price(candidate: Candidate, today: date | None = None) -> tuple[Candidate, tuple[str, ...]]:
    """A candidate with the book's price of its machine, as it is asked for, and of its volume; and why one is unknown.

    What the study itself says stays. A spot machine is counted at the price on demand, which its bid is bound by.
    """
    sold, options = candidate.offering, dict(candidate.options)
    if sold.provider in OWN_PRICES:
        return candidate, ()
    from_user = sold.price is not None and sold.price.source in _USERS_OWN
    lines: list[str] = []
    with PriceBook() as book:
        look = Lookup(book, today or today_of(), sold.price.currency if from_user and sold.price else "")
        asked = PriceQuery(sold.provider, sold.region, sold.name, options.get("os", "linux"),
                      tenancy=options.get("tenancy", "shared"))  # fmt: skip
        if _unpriced(sold):
            found = look.machine(asked)
            if isinstance(found, Price):
                sold = replace(sold, price=found)
            elif sold.price is None:
                lines.append(found.line)
        volume = candidate.volume
        if volume is not None and volume.price is None and sold.price is not None:
            wanted = replace(look, currency=sold.price.currency).volume(sold.provider, sold.region, volume)
            if isinstance(wanted, UnknownPrice):
                lines.append(wanted.line)
            else:
                volume = replace(volume, price=wanted)
        listed = sold.provider in FETCHED or book.lists(sold.provider)
    return replace(candidate, offering=sold, volume=volume), tuple(lines if listed else ())


def rate_of(use: Use, today: date | None = None) -> Rate:
    """What the price book says of a use, by the newest of its lists that has it; bundled and printed ones say nothing.

    A price that is more than 30 days old, or in doubt, is not believed, and no older list stands in for it.
    """
    day = today or today_of()
    with PriceBook() as book:
        for list_ in book.lists(use.provider, use.region, use.item, use.purchase):
            if list_.how in OLD_BY_NATURE:
                continue
            rows = book.rows(list_, use.provider, use.region, use.item, use.name)
            doubts = [one for one in book.doubts(list_, use.provider, use.region, use.name) if _about(one, use)]
            if list_.how == How.GIVEN and not rows and not doubts:
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


def price_bought(candidate: Candidate, purchase: Purchase, today: date | None = None) -> tuple[Price | None, str]:
    """What a candidate's machine costs an hour if it is bought so, by the price book; or why that is not known."""
    sold, options = candidate.offering, dict(candidate.options)
    asked = PriceQuery(sold.provider, sold.region, sold.name, options.get("os", "linux"), purchase,
                  options.get("tenancy", "shared"))  # fmt: skip
    with PriceBook() as book:
        found = Lookup(book, today or today_of(), sold.price.currency if sold.price else "").machine(asked)
    return (None, found.why) if isinstance(found, UnknownPrice) else (found, "")


def commitment_of(candidate: Candidate, today: date | None = None) -> Commitment | None:
    """The cheapest commitment that a fresh price list has for a candidate's machine, if every hour of it is used."""
    sold, options = candidate.offering, dict(candidate.options)
    asked = PriceQuery(sold.provider, sold.region, sold.name, options.get("os", "linux"), Purchase.RESERVED,
                  options.get("tenancy", "shared"))  # fmt: skip
    with PriceBook() as book:
        look = Lookup(book, today or today_of(), sold.price.currency if sold.price else "")
        rows = look.commitments(asked)
    found = [
        Commitment(
            sold.provider, sold.name, row.purchase, row.term_months, Money(row.amount, row.currency), row.upfront,
            sold.region,
        )
        for row in rows
    ]  # fmt: skip
    return min(found, key=lambda one: (effective_per_hour(one).amount, one.term_months), default=None)
