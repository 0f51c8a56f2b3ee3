"""Google's Cloud Billing Catalog: the SKUs of Compute Engine, page by page.

https://cloud.google.com/billing/docs/reference/rest/v1/services.skus/list. A machine has no price of its own there: its
family prices processors and memory, and `cloudcmp.cost.lookup` adds them up. Which family a SKU is of stands in its
description alone. Read are processors and memory of families that a study can rent, on demand, spot and committed,
disks that are billed by their size, snapshots and addresses; left out are sole tenancy, reservations, accelerators,
licences, and traffic, whose tiers and destinations the descriptions do not tell apart.
"""

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, BinaryIO

from cloudcmp.cost.sources import fields
from cloudcmp.model.price import Item, PriceEntry, PriceRow, Purchase, Unit
from cloudcmp.model.untrusted_text import one_line

PROVIDER = "gcp"
SOURCE = "cloudbilling.googleapis.com"
COMPUTE_ENGINE = "6F81-5844-456A"

_BOUGHT = {"OnDemand": (Purchase.ON_DEMAND, 0), "Preemptible": (Purchase.SPOT, 0), "Commit1Yr": (Purchase.RESERVED, 12),
           "Commit3Yr": (Purchase.RESERVED, 36)}  # fmt: skip
# "Spot Preemptible N2 Custom Extended Instance Ram running in Belgium", "N1 Predefined Instance Core running in ..."
_PART = re.compile(
    r"(?:Spot Preemptible )?(?P<family>[A-Z]\d[A-Z]?) (?:(?:AMD|Arm|Predefined) )?(?P<custom>Custom )?"
    r"(?P<extended>Extended )?Instance (?P<part>Core|Ram) running in .+"
)
_COMMITMENT = re.compile(
    r"Commitment v1: (?P<family>[A-Z]\d[A-Z]?) (?:(?:AMD|Arm) )?(?P<part>Cpu|Core|Ram) in .+ for . Years?"
)
# Families whose descriptions have words in place of a letter.
_WORDS = (
    (re.compile(r"^(Spot Preemptible )?Compute optimized (Core|Ram) running in "), r"\1C2 Instance \2 running in "),
    (re.compile(r"^(Spot Preemptible )?Custom (Extended )?Instance (Core|Ram) running in "),
     r"\1N1 Custom \2Instance \3 running in "),
    (re.compile(r"^Commitment v1: Compute optimized (Cpu|Ram|Core) in "), r"Commitment v1: C2 \1 in "),
    (re.compile(r"^Commitment v1: (Cpu|Ram) in "), r"Commitment v1: N1 \1 in "),
)  # fmt: skip
_DISKS = (
    (re.compile(r"Storage PD Capacity(?: in .+)?"), "pd-standard"),
    (re.compile(r"Balanced PD Capacity(?: in .+)?"), "pd-balanced"),
    (re.compile(r"SSD backed PD Capacity(?: in .+)?"), "pd-ssd"),
)
_SNAPSHOT = re.compile(r"Storage PD Snapshot(?: in .+)?")
_ADDRESS = re.compile(r"External IP Charge on a Standard VM(?: in .+)?")
_UNITS = {
    Item.VCPU: {"h": Unit.HOUR},
    Item.MEMORY: {"GiBy.h": Unit.GIB_HOUR},
    Item.VOLUME: {"GiBy.mo": Unit.GIB_MONTH},
    Item.SNAPSHOT: {"GiBy.mo": Unit.GIB_MONTH},
    Item.ADDRESS: {"h": Unit.HOUR},
}


def next_of(file: BinaryIO) -> str:
    """The token of the next page, empty on the last one; raises Unreadable."""
    token = _page(file).get("nextPageToken")
    if token is not None and not isinstance(token, str):
        raise fields.Unreadable("its nextPageToken is no text")
    return token or ""


def read(file: BinaryIO) -> Iterator[PriceEntry]:
    """What a page tells; raises Unreadable for what is none."""
    for number, sku in enumerate(fields.sequence(_page(file)["skus"], "skus"), 1):
        yield from _parsed(fields.mapping(sku, f"SKU {number}"))


def _page(file: BinaryIO) -> Mapping[str, Any]:
    page = fields.mapping(fields.json_of(file), "the document")
    if "skus" not in page:
        raise fields.Unreadable("it has no skus: it is no page of the catalogue")
    return page


def _parsed(sku: Mapping[str, Any]) -> Iterator[PriceEntry]:
    description = one_line(sku.get("description") or "")
    item, name = _what(description)
    if item is None:
        return
    id, category = one_line(sku.get("skuId") or ""), sku.get("category")
    usage = category.get("usageType") if isinstance(category, Mapping) else None
    regions = sku.get("serviceRegions")
    bought = _BOUGHT.get(usage) if isinstance(usage, str) else None
    if bought is None:
        yield fields.doubt(PROVIDER, "", id, name, f"its usage type {one_line(usage)!r} is not known", item)
        return
    purchase, months = bought
    if not isinstance(regions, list) or not regions or not all(isinstance(one, str) and one for one in regions):
        yield fields.doubt(PROVIDER, "", id, name, "its regions are missing", item, "", purchase)
        return
    for region in dict.fromkeys(map(one_line, regions)):
        region = "" if region == "global" else region  # noqa: PLW2901
        if _said(description) not in {None, bought}:
            why = f"its usage type {one_line(usage)!r} is not what {description!r} says"
            yield fields.doubt(PROVIDER, region, id, name, why, item)
            continue
        try:
            rate = _rate(sku, item)
            plan = "commitment" if months else ""
            yield PriceRow(PROVIDER, region, item, name, *rate[:3], "", purchase, term_months=months,
                           sku=fields.text_of(sku, "skuId"), starts=rate[3], plan=plan)  # fmt: skip
        except fields.Odd as odd:
            yield fields.doubt(PROVIDER, region, id, name, odd, item, "", purchase)


def _said(description: str) -> tuple[Purchase, int] | None:
    """How a part of a machine is bought by its description, None for anything else."""
    if found := re.search(r"^Commitment v1: .+ for (\d) Years?$", description):
        return Purchase.RESERVED, 12 * int(found[1])
    if " running in " not in description:
        return None
    return (Purchase.SPOT if description.startswith("Spot Preemptible ") else Purchase.ON_DEMAND), 0


def _what(description: str) -> tuple[Item | None, str]:
    """What a description is of; None for what no study rents."""
    for pattern, words in _WORDS:
        description = pattern.sub(words, description)
    if found := _PART.fullmatch(description) or _COMMITMENT.fullmatch(description):
        parts = found.groupdict()
        kinds = [kind for kind in ("custom", "extended") if parts.get(kind)]
        return (Item.MEMORY if parts["part"] == "Ram" else Item.VCPU), " ".join([parts["family"].lower(), *kinds])
    for pattern, name in _DISKS:
        if pattern.fullmatch(description):
            return Item.VOLUME, name
    if _SNAPSHOT.fullmatch(description):
        return Item.SNAPSHOT, "snapshot"
    return (Item.ADDRESS, "ipv4") if _ADDRESS.fullmatch(description) else (None, "")


def _rate(sku: Mapping[str, Any], item: Item) -> tuple[Decimal, str, Unit, Any]:
    """Amount, currency, unit and first day of the one price that a SKU has."""
    prices = sku.get("pricingInfo")
    if not isinstance(prices, list) or len(prices) != 1 or not isinstance(prices[0], Mapping):
        raise fields.Odd("it has no price, or more than one")
    info = prices[0]
    expression = info.get("pricingExpression")
    rates = expression.get("tieredRates") if isinstance(expression, Mapping) else None
    if not isinstance(expression, Mapping) or not isinstance(rates, list) or not rates:
        raise fields.Odd("it has no rates")
    unit = _UNITS[item].get(one_line(expression.get("usageUnit") or ""))
    if unit is None:
        raise fields.Odd(f"its unit {one_line(expression.get('usageUnit'))!r} is not one that {item} is billed by")
    amounts = [_money(rate) for rate in rates]
    if len(amounts) == 1 and amounts[0][0] > 0:
        raise fields.Odd(f"its price holds from {amounts[0][0]} on only")
    # What an account has free in a month is not counted on: the first price that is one holds from the beginning.
    known = [(amount, currency) for _, amount, currency in amounts if amount != 0]
    if len(known) != 1 or (len(amounts) > 1 and item not in {Item.ADDRESS, Item.SNAPSHOT, Item.VOLUME}):
        raise fields.Odd("a price of zero is unknown, not free" if not known else f"it has {len(amounts)} rates")
    return fields.amount_of(known[0][0]), known[0][1], unit, fields.day_of(info.get("effectiveTime"))


def _money(rate: object) -> tuple[Decimal, Decimal, str]:
    """From where a rate holds, its amount (units and billionths) and its currency."""
    if not isinstance(rate, Mapping) or not isinstance(rate.get("unitPrice"), Mapping):
        raise fields.Odd("a rate has no price")
    price = rate["unitPrice"]
    units, nanos = fields.number_of(price.get("units", "0")), fields.number_of(price.get("nanos", Decimal(0)))
    if (
        units != int(units)
        or nanos != int(nanos)
        or abs(nanos) >= 10**9
        or abs(units) > fields.MOST
        or units * nanos < 0
    ):
        raise fields.Odd(f"{one_line(units)} units and {one_line(nanos)} billionths are no amount")
    amount = units + nanos / 10**9
    if amount < 0:
        raise fields.Odd(f"a price of {amount} is below zero")
    return (
        fields.quantity_of(rate.get("startUsageAmount", Decimal(0))),
        amount,
        fields.currency_of(price.get("currencyCode")),
    )
