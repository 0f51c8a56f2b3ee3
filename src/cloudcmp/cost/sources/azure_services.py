"""The items of Azure's retail prices for blobs, tables and queues, and for Cosmos DB.

https://azure.microsoft.com/en-us/pricing/details/storage/blobs/ (and tables, queues),
https://azure.microsoft.com/en-us/pricing/details/cosmos-db/serverless/. Read are general-purpose v2 accounts with local
redundancy (LRS), blobs in the hot tier, and request units of serverless accounts. Meters have the redundancy in front
where it matters for the price (`Hot LRS Write Operations`, but `Hot Read Operations`).
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from cloudcmp.cost.sources import fields
from cloudcmp.cost.sources.tiers import MILLION, TEN_THOUSAND, Measure, tiered
from cloudcmp.model.price import Item, PriceEntry, PriceRow, Unit
from cloudcmp.model.untrusted_text import one_line

PROVIDER = "azure"
COSMOS = "Azure Cosmos DB"
"""The service name of Cosmos DB's items."""


@dataclass(frozen=True, slots=True)
class Kind:
    """What an item prices: its name in price rows, and the unit of its price."""

    item: Item
    name: str
    unit: str
    measure: Measure


_STORED = ("1 GB/Month", Measure(Unit.GB_MONTH))
_OPERATIONS = ("10K", TEN_THOUSAND)
# By service, product and SKU: the first words of the name, and the meters.
_METERS = {
    ("Storage", "General Block Blob v2", "Hot LRS"): (
        "Block Blob Hot LRS",
        re.compile(r"(?:Hot )?(?:LRS )?((?:Read|Write|List and Create Container) Operations|Data Stored)"),
    ),
    ("Storage", "Tables", "Standard LRS"): (
        "Tables LRS",
        re.compile(r"(?:LRS )?((?:Batch Write|Delete|Read|Scan|Write) Operations|Data Stored)"),
    ),
    ("Storage", "Queues v2", "Standard LRS"): (
        "Queues LRS",
        re.compile(r"(?:LRS )?(Class [12] Operations|Data Stored)"),
    ),
    (COSMOS, "Azure Cosmos DB serverless", "RUs"): ("Cosmos DB serverless", re.compile(r"1M (RUs)")),
}


def kind_of(item: Mapping[str, Any]) -> Kind | None:
    """Returns what an item prices, None if no probe is billed for it."""
    service, product, sku, meter = (
        one_line(item.get(key) or "") for key in ("serviceName", "productName", "skuName", "meterName")
    )
    prefix, meters = _METERS.get((service, product, sku), ("", None))
    match = meters.fullmatch(meter) if meters else None
    if match is None:
        return None
    stored = match[1] == "Data Stored"
    unit, measure = ("1M", MILLION) if service == COSMOS else _STORED if stored else _OPERATIONS
    return Kind(Item.STORAGE if stored else Item.REQUEST, f"{prefix} {match[1]}", unit, measure)


def entries(item: Mapping[str, Any], kind: Kind) -> Iterator[PriceEntry]:
    """Yields an item as a row whose amount may be zero until `with_tiers` has seen its other tiers; or a doubt."""
    region, sku = item.get("armRegionName"), one_line(item.get("skuId") or "")
    try:
        amount = fields.number_of(item.get("retailPrice"))
        if amount != 0:
            amount = fields.amount_of(item.get("retailPrice"))
        fields.unit_of({kind.unit: kind.measure}, item.get("unitOfMeasure"), kind.item)
        if item.get("effectiveEndDate"):
            fields.day_of(item.get("effectiveEndDate"))
        yield PriceRow(
            PROVIDER, fields.text_of(item, "armRegionName"), kind.item, kind.name,
            kind.measure.amount(amount), fields.currency_of(item.get("currencyCode")), kind.measure.unit, sku=sku,
            tier_from=kind.measure.quantity(fields.quantity_of(item.get("tierMinimumUnits", Decimal(0)))),
            starts=fields.day_of(item.get("effectiveStartDate")),
        )  # fmt: skip
    except fields.InvalidValue as error:
        yield fields.doubt(PROVIDER, region, sku, kind.name, error, kind.item)


def with_tiers(listed: Iterable[PriceRow]) -> Iterator[PriceEntry]:
    """Yields the rows of `entries`, of all pages, with the ends of their tiers and without free allowances."""
    skus: dict[tuple[object, ...], list[PriceRow]] = {}
    for row in listed:
        key = (row.region, row.name, row.sku, row.currency, row.starts)
        skus.setdefault(key, []).append(row)
    for rows in skus.values():
        first = rows[0]
        try:
            found = tuple(tiered(first, [(row.tier_from, row.amount) for row in rows], Measure(first.unit)))
        except fields.InvalidValue as error:
            yield fields.doubt(PROVIDER, first.region, first.sku, first.name, error, first.item)
            continue
        yield from found
