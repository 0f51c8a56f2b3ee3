"""The SKUs of Cloud Storage, Firestore, Bigtable and Pub/Sub in Google's catalogue.

https://cloud.google.com/storage/pricing, https://cloud.google.com/firestore/pricing,
https://cloud.google.com/bigtable/pricing, https://cloud.google.com/pubsub/pricing. Read are buckets of one region in
the standard class, Firestore in native mode, nodes and SSD storage of Bigtable, and the basic delivery of messages.
Left out are other classes, buckets in several regions, Datastore mode, exports and backups. Where a SKU's region is
`global` and its description ends with a place, the place tells the region.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from cloudcmp.cost.sources import fields
from cloudcmp.cost.sources.gcp_places import REGIONS
from cloudcmp.cost.sources.gcp_rates import price_of
from cloudcmp.cost.sources.tiers import ONE, TIB, Measure, tiered
from cloudcmp.model.price import Item, PriceEntry, PriceRow, Unit
from cloudcmp.model.untrusted_text import one_line

PROVIDER = "gcp"
SERVICES = {
    "95FF-2EF5-5EA1": "Cloud Storage",
    "EE2C-7FAC-5E08": "Cloud Firestore",
    "C3BE-24A5-0975": "Cloud Bigtable",
    "A1E8-BE35-7EBC": "Cloud Pub/Sub",
}
"""The ids and the names of services in the catalogue."""
GLOBAL = "global"


@dataclass(frozen=True, slots=True)
class _Kind:
    """What a SKU prices: its service, its description, its name in price rows, and the units of its price.

    `group` is the resource group that it must have, empty for any. A description has a `place` at its end, or the
    price holds everywhere.
    """

    service: str
    description: re.Pattern[str]
    item: Item
    name: str
    measures: Mapping[str, Measure]
    group: str = ""
    to: str = ""


_COUNT = {"count": ONE}
_STORED = {"GiBy.mo": Measure(Unit.GIB_MONTH)}
_PLACE = r"(?: \(with free tier\))? (?P<place>.+)"
_KINDS = (
    *(
        _Kind("Cloud Storage", re.compile(f"Regional Standard Class {one} Operations"), Item.REQUEST,
              f"Cloud Storage Standard Class {one}", _COUNT)
        for one in "AB"
    ),
    _Kind("Cloud Storage", re.compile("Standard Storage (?P<place>.+)"), Item.STORAGE, "Cloud Storage Standard",
          _STORED, group="RegionalStorage"),
    _Kind("Cloud Storage", re.compile(r"Download Worldwide Destinations \(excluding Asia & Australia\)"), Item.EGRESS,
          "Cloud Storage Download Worldwide", {"GiBy": Measure(Unit.GIB)}, to="internet"),
    *(
        _Kind("Cloud Firestore", re.compile(f"Cloud Firestore {one}{_PLACE}"), Item.REQUEST, f"Firestore {one}", _COUNT)
        for one in ("Read Ops", "Entity Writes", "Entity Deletes")
    ),
    _Kind("Cloud Firestore", re.compile(f"Cloud Firestore Storage{_PLACE}"), Item.STORAGE, "Firestore Storage",
          _STORED),
    # The words of these descriptions (R): what is billed by the hour is the node.
    _Kind("Cloud Bigtable", re.compile(r"(?:.* )?Nodes?(?: (?P<place>.+))?"), Item.CAPACITY, "Bigtable Node",
          {"h": Measure(Unit.HOUR)}),
    _Kind("Cloud Bigtable", re.compile(r"(?:.* )?SSD Storage(?: (?P<place>.+))?"), Item.STORAGE,
          "Bigtable SSD Storage", _STORED),
    _Kind("Cloud Pub/Sub", re.compile("Message Delivery Basic"), Item.REQUEST, "Pub/Sub Message Delivery Basic",
          {"TiBy": TIB}),
)  # fmt: skip


def is_service(sku: Mapping[str, Any]) -> bool:
    """True if a SKU is one of a storage service."""
    return _category(sku, "serviceDisplayName") in SERVICES.values()


def entries(sku: Mapping[str, Any]) -> Iterator[PriceEntry]:
    """Yields the prices of a SKU in each of its regions, or why there is none."""
    description, id = one_line(sku.get("description") or ""), one_line(sku.get("skuId") or "")
    kind, place = _kind_of(sku, description)
    if kind is None or _category(sku, "usageType") != "OnDemand":
        return
    regions = _regions(sku, place)
    if not regions:
        # Its own description as name: the doubt must not affect the prices of other places.
        yield fields.doubt(PROVIDER, "", id, description, "its region is not known", kind.item)
        return
    for region in regions:
        try:
            price = price_of(sku)
            measure = fields.unit_of(kind.measures, price.unit, kind.item)
            currencies = {rate.currency for rate in price.rates}
            if len(currencies) > 1:
                raise fields.InvalidValue(f"its rates are in {len(currencies)} currencies")
            tiers = [(rate.begins, fields.amount_of(rate.amount) if rate.amount else rate.amount)
                     for rate in price.rates]  # fmt: skip
            row = PriceRow(PROVIDER, region, kind.item, kind.name, Decimal(0), currencies.pop(), measure.unit,
                           to=kind.to, sku=fields.text_of(sku, "skuId"), starts=price.starts)  # fmt: skip
            rows = tuple(tiered(row, tiers, measure))
        except fields.InvalidValue as error:
            yield fields.doubt(PROVIDER, region, id, kind.name, error, kind.item)
            continue
        yield from rows


def _kind_of(sku: Mapping[str, Any], description: str) -> tuple[_Kind | None, str]:
    """Returns what a SKU prices, and the place in its description, empty for none."""
    service = _category(sku, "serviceDisplayName")
    for kind in _KINDS:
        match = kind.description.fullmatch(description) if kind.service == service else None
        if match and kind.group in {"", _category(sku, "resourceGroup")}:
            return kind, match.groupdict().get("place") or ""
    return None, ""


def _regions(sku: Mapping[str, Any], place: str) -> tuple[str, ...]:
    """Returns the regions of a SKU, ("",) for all of them, () if they are not known."""
    listed = sku.get("serviceRegions")
    if not isinstance(listed, list) or not listed or not all(isinstance(one, str) and one for one in listed):
        return ()
    named = tuple(dict.fromkeys(one_line(one) for one in listed if one != GLOBAL))
    if named:
        return named
    if not place:
        return ("",)
    region = REGIONS.get(place)
    return (region,) if region else ()


def _category(sku: Mapping[str, Any], key: str) -> str:
    category = sku.get("category")
    value = category.get(key) if isinstance(category, Mapping) else None
    return value if isinstance(value, str) else ""
