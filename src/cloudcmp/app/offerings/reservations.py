"""Prices of reservations: one for each term, and for each upfront payment."""

from dataclasses import replace
from decimal import Decimal

from cloudcmp.cost.account_terms import effective_per_hour
from cloudcmp.cost.lookup import FRESH_DAYS, Lookup
from cloudcmp.cost.price_query import PriceQuery, machine_rows
from cloudcmp.model.inventory import PricedOffering
from cloudcmp.model.offering import Offering, Price
from cloudcmp.model.price import OLD_BY_NATURE, How, Item, PriceListEntry, PriceRow, Purchase, Unit
from cloudcmp.model.terms import Commitment
from cloudcmp.units import Money


def reserved(sold: Offering, system: str, look: Lookup) -> list[PricedOffering]:
    """The reservations of an offering in the newest list with reservations there; empty if that list sells none of it.

    A single entry without a price if it is unknown: no list has any there, or the list is doubtful, or it is the user's
    own, which may be incomplete. An hourly price is that of a machine that runs every hour of the term. Lists older
    than 30 days are ignored.
    """
    query = PriceQuery(sold.provider, sold.region, sold.name, system, Purchase.RESERVED)
    why = "no list at hand tells a reservation"
    for list_ in look.book.lists(sold.provider, sold.region, Item.INSTANCE, Purchase.RESERVED):
        if list_.how in OLD_BY_NATURE or list_.dated is None or not -1 <= (look.today - list_.dated).days <= FRESH_DAYS:
            why = f"its list is of {list_.dated or 'no date'}, not of the last {FRESH_DAYS} days"
            continue
        rows = look.book.rows(list_, sold.provider, sold.region, Item.INSTANCE, sold.name)
        sales = [_sale(sold, list_, row) for row in dict.fromkeys(rows) if _fits(row, query, look)]
        why = _doubted(sold, list_, look, found=bool(sales))
        if not why and not sales and any(_about(row, query) for row in rows):
            why = "what its list says of its reservations is no price of today"
        elif not why and not sales and list_.how == How.GIVEN:
            why = "no list at hand tells a reservation of it"
            continue
        if not why:
            return sales
        break
    return [PricedOffering(replace(sold, price=None), None, f"{sold.provider}/{sold.region} {sold.name}: {why}")]


def _doubted(sold: Offering, list_: PriceListEntry, look: Lookup, *, found: bool) -> str:
    """Why a line of the list makes the reservations doubtful; a line without a name matters only if none was found."""
    for one in look.book.doubts(list_, sold.provider, sold.region, sold.name):
        about = one.item in {None, Item.INSTANCE} and one.purchase in {None, Purchase.RESERVED}
        if about and one.tenancy in {"", "shared"} and (one.name or not found):
            return one.why
    return ""


def _about(row: PriceRow, query: PriceQuery) -> bool:
    """True if a row is a reservation of this machine, of any term."""
    return machine_rows(replace(query, term_months=row.term_months)).row(row)


def _fits(row: PriceRow, query: PriceQuery, look: Lookup) -> bool:
    begun = row.starts is None or row.starts <= look.today
    usable = row.term_months > 0 and row.unit is Unit.HOUR and row.amount + row.upfront > 0
    return begun and usable and _about(row, query)


def _sale(sold: Offering, list_: PriceListEntry, row: PriceRow) -> PricedOffering:
    term = Commitment(
        sold.provider, sold.name, row.purchase, row.term_months, Money(row.amount, row.currency), row.upfront
    )
    hour = effective_per_hour(term)
    amount = hour.amount.quantize(Decimal("1e-12")).normalize() + 0
    price = Price(amount, hour.currency, list_.source, list_.dated, list_.how, row.sku, list_.sha256[:12])
    return PricedOffering(replace(sold, price=price), price, "", row.term_months, row.upfront)
