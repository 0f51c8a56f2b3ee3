"""Rows of price lists as texts of the price book, and back."""

import json
from datetime import date
from decimal import Decimal
from typing import Any

from cloudcmp.model.price import Doubt, Item, PriceRow, Purchase, TypeFacts, Unit
from cloudcmp.store.seals import row_digest


def values_of(one: PriceRow | TypeFacts | Doubt) -> tuple[str, tuple[object, ...]]:
    """The table of a row, and its columns after the list."""
    if isinstance(one, PriceRow):
        fields = json.dumps([
            one.provider, one.region, one.item.value, one.name, str(one.amount), one.currency, one.unit.value,
            one.system, one.purchase.value, one.tenancy, one.term_months, str(one.upfront), str(one.tier_from),
            None if one.tier_until is None else str(one.tier_until), one.to, str(one.least), one.sku,
            one.starts.isoformat() if one.starts else None, one.plan,
        ])  # fmt: skip
        return "row", (one.provider, one.region, one.item.value, one.name, fields, row_digest("row", fields))
    if isinstance(one, TypeFacts):
        fields = json.dumps(
            [one.provider, one.region, one.name, one.vcpus, one.memory_gib, one.category, one.attributes]
        )
        return "sold", (one.provider, one.region, one.name, fields, row_digest("sold", fields))
    fields = json.dumps([one.provider, one.region, one.sku, one.name, one.why, one.item, one.system, one.purchase,
                       one.tenancy])  # fmt: skip
    return "doubt", (one.provider, one.region, one.name, fields, row_digest("doubt", fields))


def price_row(fields: list[Any]) -> PriceRow:
    """The price in a stored text."""
    (provider, region, item, name, amount, currency, unit, system, purchase, tenancy, term, upfront, begin, end, to,
     least, sku, starts, plan) = fields  # fmt: skip
    return PriceRow(
        provider, region, Item(item), name, Decimal(amount), currency, Unit(unit), system, Purchase(purchase), tenancy,
        term, Decimal(upfront), Decimal(begin), None if end is None else Decimal(end), to, Decimal(least), sku,
        None if starts is None else date.fromisoformat(starts), plan,
    )  # fmt: skip


def sold_of(fields: list[Any]) -> TypeFacts:
    """The facts of an instance type in a stored text."""
    provider, region, name, vcpus, memory_gib, category, attributes = fields
    return TypeFacts(
        provider, region, name, vcpus, memory_gib, category, tuple((key, value) for key, value in attributes)
    )


def doubt_of(fields: list[Any]) -> Doubt:
    """The doubt in a stored text."""
    provider, region, sku, name, why, item, system, purchase, tenancy = fields
    return Doubt(provider, region, sku, name, why, Item(item) if item else None, system,
                 Purchase(purchase) if purchase else None, tenancy)  # fmt: skip
