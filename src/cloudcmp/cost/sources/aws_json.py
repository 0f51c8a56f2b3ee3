"""The JSON form of Amazon's offer files, made into the rows that its CSV form has.

The whole document is held in memory, some ten times its size: for a whole region the CSV form is the one to fetch.
"""

from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any, BinaryIO

from cloudcmp.cost.sources.base import Odd, Unreadable, clean, day_of, json_of, mapping

_ATTRIBUTES = {
    "locationType": "Location Type", "instanceType": "Instance Type", "vcpu": "vCPU", "memory": "Memory",
    "instanceFamily": "Instance Family", "tenancy": "Tenancy", "operatingSystem": "Operating System",
    "licenseModel": "License Model", "usagetype": "usageType", "operation": "operation",
    "capacitystatus": "CapacityStatus", "preInstalledSw": "Pre Installed S/W", "regionCode": "Region Code",
    "volumeApiName": "Volume API Name", "transferType": "Transfer Type", "fromRegionCode": "From Region Code",
    "fromLocationType": "From Location Type",
    "toRegionCode": "To Region Code", "marketoption": "MarketOption", "processorArchitecture": "Processor Architecture",
    "physicalProcessor": "Physical Processor",
}  # fmt: skip


def from_json(file: BinaryIO) -> Iterator[dict[str, str] | date]:
    """The list's date, then a row for each price of each product; raises Unreadable."""
    document = mapping(json_of(file), "the document")
    if "products" not in document or "terms" not in document:
        raise Unreadable("it has no products and terms: it is no offer file")
    try:
        yield day_of(document.get("publicationDate"))
    except Odd as odd:
        raise Unreadable(f"its publication date can not be read: {odd}") from None
    products = mapping(document["products"], "products")
    for kind, terms in mapping(document["terms"], "terms").items():
        if kind not in {"OnDemand", "Reserved"}:
            continue
        for sku, offers in mapping(terms, f"the terms {kind}").items():
            product = products.get(sku)
            if product is None:
                raise Unreadable(f"SKU {clean(sku)} has a price and is no product")
            attributes = _attributes(mapping(product, f"product {clean(sku)}"))
            for offer in mapping(offers, f"the offers of {clean(sku)}").values():
                yield from _rates(sku, kind, attributes, mapping(offer, f"the offer of {clean(sku)}"))


def _attributes(product: Mapping[str, Any]) -> dict[str, str]:
    told = mapping(product.get("attributes", {}), "attributes")
    found = {column: clean(told[key]) for key, column in _ATTRIBUTES.items() if isinstance(told.get(key), str)}
    return {"usageType": "", **found, "Product Family": clean(product.get("productFamily", ""))}


def _rates(sku: str, kind: str, attributes: dict[str, str], offer: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    term = mapping(offer.get("termAttributes") or {}, "termAttributes")
    about = {
        "SKU": clean(sku),
        "OfferTermCode": clean(offer.get("offerTermCode", "")),
        "TermType": kind,
        "EffectiveDate": clean(offer.get("effectiveDate", "")),
        "LeaseContractLength": clean(term.get("LeaseContractLength", "")),
        "PurchaseOption": clean(term.get("PurchaseOption", "")),
        "OfferingClass": clean(term.get("OfferingClass", "")),
    }
    for rate in mapping(offer.get("priceDimensions", {}), f"the rates of {clean(sku)}").values():
        told = mapping(rate, f"a rate of {clean(sku)}")
        money = mapping(told.get("pricePerUnit", {}), f"the price of {clean(sku)}")
        unit = clean(told.get("unit", ""))
        ranges = {"StartingRange": _text(told.get("beginRange", "")), "EndingRange": _text(told.get("endRange", ""))}
        for currency, amount in money.items() or (("", ""),):
            priced = {"Currency": clean(currency), "PricePerUnit": _text(amount), "Unit": unit}
            yield {**attributes, **about, **ranges, **priced}


def _text(value: object) -> str:
    """A value as the CSV form has it; what is no text is no number there either."""
    return value if isinstance(value, str) else f"({clean(value)})" if value is not None else ""
