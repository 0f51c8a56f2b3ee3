"""Google's Cloud Billing Catalog: the SKUs of one service, page by page. For Compute Engine see here.

https://cloud.google.com/billing/docs/reference/rest/v1/services.skus/list. Processors and memory of a family have
prices, machines have none: `cloudcmp.cost.lookup` adds them up. Only the description names the family of a SKU. Read
are processors and memory on demand, spot and committed, disks that are billed by size, snapshots and addresses. Left
out are sole tenancy, reservations, accelerators, licences, and traffic, as the descriptions do not distinguish its
tiers. For storage services see `gcp_services`.
"""

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, BinaryIO

from cloudcmp.cost.sources import fields, gcp_services
from cloudcmp.cost.sources.gcp_rates import price_of
from cloudcmp.model.price import Item, PriceEntry, PriceRow, Purchase, Unit
from cloudcmp.model.untrusted_text import one_line

PROVIDER = "gcp"
SOURCE = "cloudbilling.googleapis.com"
COMPUTE_ENGINE = "6F81-5844-456A"

_PURCHASES = {"OnDemand": (Purchase.ON_DEMAND, 0), "Preemptible": (Purchase.SPOT, 0),
              "Commit1Yr": (Purchase.RESERVED, 12), "Commit3Yr": (Purchase.RESERVED, 36)}  # fmt: skip
# "Spot Preemptible N2 Custom Extended Instance Ram running in Belgium", "N1 Predefined Instance Core running in ..."
_PART = re.compile(
    r"(?:Spot Preemptible )?(?P<family>[A-Z]\d[A-Z]?) (?:(?:AMD|Arm|Predefined) )?(?P<custom>Custom )?"
    r"(?P<extended>Extended )?Instance (?P<part>Core|Ram) running in .+"
)
_COMMITMENT = re.compile(
    r"Commitment v1: (?P<family>[A-Z]\d[A-Z]?) (?:(?:AMD|Arm) )?(?P<part>Cpu|Core|Ram) in .+ for . Years?"
)
# Families with words instead of a letter in their descriptions.
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
    """Returns the token of the next page, empty on the last one; raises Unreadable."""
    token = _page(file).get("nextPageToken")
    if token is not None and not isinstance(token, str):
        raise fields.Unreadable("its nextPageToken is no text")
    return token or ""


def read(file: BinaryIO) -> Iterator[PriceEntry]:
    """Yields the entries of a page; raises Unreadable if it is none."""
    for number, entry in enumerate(fields.sequence(_page(file)["skus"], "skus"), 1):
        sku = fields.mapping(entry, f"SKU {number}")
        yield from (gcp_services.entries if gcp_services.is_service(sku) else _entries)(sku)


def _page(file: BinaryIO) -> Mapping[str, Any]:
    page = fields.mapping(fields.json_of(file), "the document")
    if "skus" not in page:
        raise fields.Unreadable("it has no skus: it is no page of the catalogue")
    return page


def _entries(sku: Mapping[str, Any]) -> Iterator[PriceEntry]:
    description = one_line(sku.get("description") or "")
    item, name = _item_and_name(description)
    if item is None:
        return
    id, category = one_line(sku.get("skuId") or ""), sku.get("category")
    usage = category.get("usageType") if isinstance(category, Mapping) else None
    regions = sku.get("serviceRegions")
    bought = _PURCHASES.get(usage) if isinstance(usage, str) else None
    if bought is None:
        yield fields.doubt(PROVIDER, "", id, name, f"its usage type {one_line(usage)!r} is not known", item)
        return
    purchase, months = bought
    if not isinstance(regions, list) or not regions or not all(isinstance(one, str) and one for one in regions):
        yield fields.doubt(PROVIDER, "", id, name, "its regions are missing", item, "", purchase)
        return
    for region in dict.fromkeys(map(one_line, regions)):
        region = "" if region == "global" else region  # noqa: PLW2901
        if _purchase_in(description) not in {None, bought}:
            why = f"its usage type {one_line(usage)!r} is not what {description!r} says"
            yield fields.doubt(PROVIDER, region, id, name, why, item)
            continue
        try:
            rate = _rate(sku, item)
            plan = "commitment" if months else ""
            yield PriceRow(PROVIDER, region, item, name, *rate[:3], "", purchase, term_months=months,
                           sku=fields.text_of(sku, "skuId"), starts=rate[3], plan=plan)  # fmt: skip
        except fields.InvalidValue as error:
            yield fields.doubt(PROVIDER, region, id, name, error, item, "", purchase)


def _purchase_in(description: str) -> tuple[Purchase, int] | None:
    """Returns how a description says that a part of a machine is bought, None for anything else."""
    if match := re.search(r"^Commitment v1: .+ for (\d) Years?$", description):
        return Purchase.RESERVED, 12 * int(match[1])
    if " running in " not in description:
        return None
    return (Purchase.SPOT if description.startswith("Spot Preemptible ") else Purchase.ON_DEMAND), 0


def _item_and_name(description: str) -> tuple[Item | None, str]:
    """Returns what a description is for; None if a study cannot rent it."""
    for pattern, words in _WORDS:
        description = pattern.sub(words, description)
    if match := _PART.fullmatch(description) or _COMMITMENT.fullmatch(description):
        parts = match.groupdict()
        kinds = [kind for kind in ("custom", "extended") if parts.get(kind)]
        return (Item.MEMORY if parts["part"] == "Ram" else Item.VCPU), " ".join([parts["family"].lower(), *kinds])
    for pattern, name in _DISKS:
        if pattern.fullmatch(description):
            return Item.VOLUME, name
    if _SNAPSHOT.fullmatch(description):
        return Item.SNAPSHOT, "snapshot"
    return (Item.ADDRESS, "ipv4") if _ADDRESS.fullmatch(description) else (None, "")


def _rate(sku: Mapping[str, Any], item: Item) -> tuple[Decimal, str, Unit, Any]:
    """Returns amount, currency, unit and first day of a SKU's only price."""
    price = price_of(sku)
    unit = fields.unit_of(_UNITS[item], price.unit, item)
    if len(price.rates) == 1 and price.rates[0].begins > 0:
        raise fields.InvalidValue(f"its price holds from {price.rates[0].begins} on only")
    # The free allowance may be used up: the first positive price counts from the beginning.
    known = [rate for rate in price.rates if rate.amount != 0]
    if len(known) != 1 or (len(price.rates) > 1 and item not in {Item.ADDRESS, Item.SNAPSHOT, Item.VOLUME}):
        raise fields.InvalidValue(
            "a price of zero is unknown, not free" if not known else f"it has {len(price.rates)} rates"
        )
    return fields.amount_of(known[0].amount), known[0].currency, unit, price.starts
