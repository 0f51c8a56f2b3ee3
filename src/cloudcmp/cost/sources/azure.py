"""Azure's retail prices, page by page.

https://learn.microsoft.com/en-us/rest/api/cost-management/retail-prices/azure-retail-prices. Only items that a study
can rent are read: virtual machines on demand, spot, reserved or under a savings plan, managed disks by size, traffic to
the internet, public addresses. Left out are prices for development and test only, cloud services, dedicated hosts, low
priority (for batch pools), disks that are billed by the GiB, and expired items. For storage services see
`azure_services`.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, BinaryIO

from cloudcmp.cost.sources import azure_services, fields
from cloudcmp.cost.sources.tiers import SERVICE_ITEMS
from cloudcmp.model.price import Item, PriceEntry, PriceRow, Purchase, Unit
from cloudcmp.model.untrusted_text import one_line

PROVIDER = "azure"
SOURCE = "prices.azure.com"

_TERMS = {"1 Year": 12, "3 Years": 36, "5 Years": 60}
_HOUR = {"1 Hour": 1, "10 Hours": 10, "100 Hours": 100}
# Sizes of managed disks by the number in their names, GiB:
# https://learn.microsoft.com/en-us/azure/virtual-machines/disks-types
_DISK_GIB = {1: 4, 2: 8, 3: 16, 4: 32, 6: 64, 10: 128, 15: 256, 20: 512, 30: 1024, 40: 2048, 50: 4096, 60: 8192,
             70: 16384, 80: 32767}  # fmt: skip
_DISK_TYPES = {"Premium SSD Managed Disks": ("P", "Premium"), "Standard SSD Managed Disks": ("E", "StandardSSD"),
               "Standard HDD Managed Disks": ("S", "Standard")}  # fmt: skip
_LICENSED = frozenset({"rhel", "redhat", "hat", "suse", "sles", "sql", "oracle", "ubuntu"})
_DISK = re.compile(r"([PES])(\d+) (LRS|ZRS)")


def next_of(file: BinaryIO) -> str:
    """Returns the address of the next page, empty on the last one; raises Unreadable."""
    link = _page(file).get("NextPageLink")
    if link is not None and not isinstance(link, str):
        raise fields.Unreadable("its NextPageLink is no text")
    return link or ""


def read(file: BinaryIO, today: date | None = None) -> Iterator[PriceEntry]:
    """Yields the entries of a page; raises Unreadable if it is none, or its number of items is wrong.

    A page has no date: items that ended before `today` (UTC, by default now) are left out.
    """
    day = today or datetime.now(UTC).date()
    page = _page(file)
    items = fields.sequence(page["Items"], "Items")
    if "Count" in page and page["Count"] != len(items):
        raise fields.Unreadable(f"its count is {one_line(page['Count'])}, but it has {len(items)} items")
    billed = page.get("BillingCurrency")
    for number, item in enumerate(items, 1):
        one = fields.mapping(item, f"item {number}")
        if billed and "currencyCode" in one and one["currencyCode"] != billed:
            raise fields.Unreadable(
                f"it is in {one_line(billed)}, and item {number} in {one_line(one['currencyCode'])}"
            )
        if not _has_ended(one, day):
            yield from _entries(one)


def with_tier_ends(entries: Iterable[PriceEntry]) -> Iterator[PriceEntry]:
    """Yields the entries with tiers last, each ending where the next one of its SKU begins."""
    tiers: list[PriceRow] = []
    services: list[PriceRow] = []
    for one in entries:
        if isinstance(one, PriceRow) and one.item is Item.EGRESS:
            tiers.append(one)
        elif isinstance(one, PriceRow) and one.item in SERVICE_ITEMS:
            services.append(one)
        else:
            yield one
    yield from azure_services.with_tiers(services)
    begins: dict[tuple[str, ...], set[Decimal]] = {}
    for row in tiers:
        begins.setdefault(_tiers_of(row), set()).add(row.tier_from)
    for row in tiers:
        later = (begin for begin in begins[_tiers_of(row)] if begin > row.tier_from)
        yield replace(row, tier_until=min(later, default=None))


def _tiers_of(row: PriceRow) -> tuple[str, ...]:
    return row.region, row.name, row.to, row.sku, row.currency


def _has_ended(item: Mapping[str, Any], day: date) -> bool:
    """True if an item is no longer sold: by its name, or by its last day."""
    if any("expired" in one_line(item.get(key) or "").lower() for key in ("meterName", "skuName")):
        return True
    try:
        end = _end(item)
    except fields.InvalidValue:
        return False  # reading it gives a doubt
    return end is not None and end < day


def _end(item: Mapping[str, Any]) -> date | None:
    """Returns the last day of an item's price, None if it has none; raises InvalidValue."""
    end = item.get("effectiveEndDate")
    return None if end in {None, ""} else fields.day_of(end)


def _page(file: BinaryIO) -> Mapping[str, Any]:
    page = fields.mapping(fields.json_of(file), "the document")
    if "Items" not in page:
        raise fields.Unreadable("it has no Items: it is no page of retail prices")
    return page


def _entries(item: Mapping[str, Any]) -> Iterator[PriceEntry]:
    service, product = (one_line(item.get(key) or "") for key in ("serviceName", "productName"))
    kind = item.get("type")
    if service == "Virtual Machines":
        yield from _machine(item, product, kind)
    elif kind != "Consumption":
        return
    elif service == "Storage" and product in _DISK_TYPES:
        yield from _disk(item, product)
    elif (priced := azure_services.kind_of(item)) is not None:
        yield from azure_services.entries(item, priced)
    elif service == "Bandwidth" and one_line(item.get("meterName") or "") == "Standard Data Transfer Out":
        yield from _row(item, Item.EGRESS, "egress", {"1 GB": (Unit.GB, 1)}, to="internet")
    elif service == "Virtual Network" and one_line(item.get("meterName") or "") == "Standard IPv4 Static Public IP":
        yield from _row(item, Item.ADDRESS, "ipv4", {"1 Hour": (Unit.HOUR, 1)})


def _machine(item: Mapping[str, Any], product: str, kind: object) -> Iterator[PriceEntry]:
    words = (one_line(item.get("meterName") or "") + " " + one_line(item.get("skuName") or "")).lower()
    if "low priority" in words or "Cloud Services" in product or "CloudServices" in product or "Host" in product:
        return
    words_of_row = f"{product} {words}".lower().split()
    if _LICENSED.intersection(words_of_row):  # a machine with licensed software
        return
    name = item.get("armSkuName")
    if name in {None, ""}:  # a licence or a discount, not a machine
        return
    if not product:  # only the product distinguishes Windows from Linux
        error = fields.InvalidValue("its product is missing")
        yield fields.doubt(PROVIDER, item.get("armRegionName"), item.get("skuId"), name, error, Item.INSTANCE)
        return
    system = "windows" if "windows" in words_of_row else "linux"
    spot = "spot" in words.split()
    units = {text: (Unit.HOUR, many) for text, many in _HOUR.items()}
    if kind == "Consumption" and item.get("reservationTerm"):
        error = fields.InvalidValue("it has both an hourly price and a term")
        yield fields.doubt(PROVIDER, item.get("armRegionName"), item.get("skuId"), name, error, Item.INSTANCE, system)
    elif kind == "Consumption":
        purchase = Purchase.SPOT if spot else Purchase.ON_DEMAND
        yield from _row(item, Item.INSTANCE, name, units, system=system, purchase=purchase)
        if not spot:
            yield from _savings(item, name, system)
    elif kind == "Reservation":
        # The price is for the whole term, whatever its unit is; a reservation is for hardware without a system.
        yield from _reservation(item, name)


def _row(
    item: Mapping[str, Any], what: Item, name: object, units: Mapping[str, tuple[Unit, int]], *, system: str = "",
    purchase: Purchase = Purchase.ON_DEMAND, to: str = "",
) -> Iterator[PriceEntry]:  # fmt: skip
    region, sku = item.get("armRegionName"), item.get("skuId")
    try:
        where = fields.text_of(item, "armRegionName")
        _end(item)
        unit = fields.unit_of(units, item.get("unitOfMeasure"), what)
        begin = fields.quantity_of(item.get("tierMinimumUnits", Decimal(0)))
        if what is Item.EGRESS and fields.number_of(item.get("retailPrice")) == 0 and begin == 0:
            return  # the free allowance, which may be used up
        if what is not Item.EGRESS and begin:
            raise fields.InvalidValue(f"its price holds from {begin} on only")
        yield PriceRow(
            PROVIDER, where, what, _name(name), fields.amount_of(item.get("retailPrice")) / unit[1],
            fields.currency_of(item.get("currencyCode")), unit[0], system, purchase, tier_from=begin, to=to,
            sku=one_line(sku or ""), starts=fields.day_of(item.get("effectiveStartDate")),
        )  # fmt: skip
    except fields.InvalidValue as error:
        yield fields.doubt(PROVIDER, region, sku, name, error, what, system, purchase)


def _name(name: object) -> str:
    if not isinstance(name, str):
        raise fields.InvalidValue("its name is no text")
    return one_line(name)


def _savings(item: Mapping[str, Any], name: object, system: str) -> Iterator[PriceEntry]:
    region, sku = item.get("armRegionName"), item.get("skuId")
    plans = item.get("savingsPlan")
    for plan in plans if isinstance(plans, list) else []:
        try:
            terms = plan if isinstance(plan, Mapping) else {}
            hours = fields.unit_of(_HOUR, item.get("unitOfMeasure"), Item.INSTANCE)
            _end(item)
            yield PriceRow(
                PROVIDER, fields.text_of(item, "armRegionName"), Item.INSTANCE, _name(name),
                fields.amount_of(terms.get("retailPrice")) / hours,
                fields.currency_of(item.get("currencyCode")), Unit.HOUR, system, Purchase.SAVINGS,
                term_months=_months(terms.get("term")), sku=one_line(sku or ""), plan="savings plan",
            )  # fmt: skip
        except fields.InvalidValue as error:
            yield fields.doubt(PROVIDER, region, sku, name, error, Item.INSTANCE, system, Purchase.SAVINGS)


def _reservation(item: Mapping[str, Any], name: object) -> Iterator[PriceEntry]:
    region, sku = item.get("armRegionName"), item.get("skuId")
    try:
        _end(item)
        yield PriceRow(
            PROVIDER, fields.text_of(item, "armRegionName"), Item.INSTANCE, _name(name), Decimal(0),
            fields.currency_of(item.get("currencyCode")), Unit.HOUR, "linux", Purchase.RESERVED,
            term_months=_months(item.get("reservationTerm")), upfront=fields.amount_of(item.get("retailPrice")),
            sku=one_line(sku or ""), starts=fields.day_of(item.get("effectiveStartDate")), plan="reservation",
        )  # fmt: skip
    except fields.InvalidValue as error:
        yield fields.doubt(PROVIDER, region, sku, name, error, Item.INSTANCE, "linux", Purchase.RESERVED)


def _months(term: object) -> int:
    months = _TERMS.get(term) if isinstance(term, str) else None
    if months is None:
        raise fields.InvalidValue(f"its term {one_line(term)!r} is not known")
    return months


def _disk(item: Mapping[str, Any], product: str) -> Iterator[PriceEntry]:
    letter, type_ = _DISK_TYPES[product]
    match = _DISK.fullmatch(one_line(item.get("skuName") or ""))
    if match is None or match[1] != letter or one_line(item.get("meterName") or "") != f"{match[0]} Disk":
        return
    size = _DISK_GIB.get(int(match[2]))
    name = f"{type_}_{match[3]}"
    for row in _row(item, Item.VOLUME, name, {"1/Month": (Unit.MONTH, 1)}):
        yield row if not isinstance(row, PriceRow) else _with_size(row, size, int(match[2]))


def _with_size(row: PriceRow, size: int | None, number: int) -> PriceEntry:
    if size is None:
        return fields.doubt(
            PROVIDER, row.region, row.sku, row.name, f"the size of a disk of {number} is not known", row.item
        )
    if row.name.startswith("Standard"):  # https://azure.microsoft.com/en-us/pricing/details/managed-disks/
        return fields.doubt(PROVIDER, row.region, row.sku, row.name, "it is billed by the operation as well", row.item)
    smaller = max((gib for gib in _DISK_GIB.values() if gib < size), default=0)
    return replace(row, tier_from=Decimal(smaller), tier_until=Decimal(size))
