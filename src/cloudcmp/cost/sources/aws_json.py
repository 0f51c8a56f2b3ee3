"""Converts the JSON form of Amazon's offer files into the rows of the CSV form.

The whole document is in memory, at some ten times its size: for a whole region, use the CSV form.
"""

from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any, BinaryIO

from cloudcmp.cost.sources.fields import InvalidValue, Unreadable, day_of, json_of, mapping
from cloudcmp.model.untrusted_text import one_line

_ATTRIBUTES = {
    "locationType": "Location Type", "instanceType": "Instance Type", "vcpu": "vCPU", "memory": "Memory",
    "instanceFamily": "Instance Family", "tenancy": "Tenancy", "operatingSystem": "Operating System",
    "licenseModel": "License Model", "usagetype": "usageType", "operation": "operation",
    "capacitystatus": "CapacityStatus", "preInstalledSw": "Pre Installed S/W", "regionCode": "Region Code",
    "volumeApiName": "Volume API Name", "transferType": "Transfer Type", "fromRegionCode": "From Region Code",
    "fromLocationType": "From Location Type",
    "toRegionCode": "To Region Code", "marketoption": "MarketOption", "processorArchitecture": "Processor Architecture",
    "physicalProcessor": "Physical Processor", "servicecode": "serviceCode", "queueType": "Queue Type",
    "volumeType": "Volume Type", "networkPerformance": "Network Performance",
    "dedicatedEbsThroughput": "Dedicated EBS Throughput",
}  # fmt: skip


def from_json(file: BinaryIO) -> Iterator[dict[str, str] | date]:
    """Yields the list's date, then a row for each price of each product; raises Unreadable."""
    document = mapping(json_of(file), "the document")
    if "products" not in document or "terms" not in document:
        raise Unreadable("it has no products and terms: it is no offer file")
    try:
        yield day_of(document.get("publicationDate"))
    except InvalidValue as error:
        raise Unreadable(f"its publication date cannot be read: {error}") from None
    products = mapping(document["products"], "products")
    for kind, terms in mapping(document["terms"], "terms").items():
        if kind not in {"OnDemand", "Reserved"}:
            continue
        for sku, offers in mapping(terms, f"the terms {kind}").items():
            product = products.get(sku)
            if product is None:
                raise Unreadable(f"SKU {one_line(sku)} has a price and is no product")
            attributes = _attributes(mapping(product, f"product {one_line(sku)}"))
            for offer in mapping(offers, f"the offers of {one_line(sku)}").values():
                yield from _rates(sku, kind, attributes, mapping(offer, f"the offer of {one_line(sku)}"))


def _attributes(product: Mapping[str, Any]) -> dict[str, str]:
    attributes = mapping(product.get("attributes", {}), "attributes")
    columns = {
        column: one_line(attributes[key]) for key, column in _ATTRIBUTES.items() if isinstance(attributes.get(key), str)
    }
    return {"usageType": "", **columns, "Product Family": one_line(product.get("productFamily", ""))}


def _rates(sku: str, kind: str, attributes: dict[str, str], offer: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    term = mapping(offer.get("termAttributes") or {}, "termAttributes")
    about = {
        "SKU": one_line(sku),
        "OfferTermCode": one_line(offer.get("offerTermCode", "")),
        "TermType": kind,
        "EffectiveDate": one_line(offer.get("effectiveDate", "")),
        "LeaseContractLength": one_line(term.get("LeaseContractLength", "")),
        "PurchaseOption": one_line(term.get("PurchaseOption", "")),
        "OfferingClass": one_line(term.get("OfferingClass", "")),
    }
    for rate in mapping(offer.get("priceDimensions", {}), f"the rates of {one_line(sku)}").values():
        price = mapping(rate, f"a rate of {one_line(sku)}")
        money = mapping(price.get("pricePerUnit", {}), f"the price of {one_line(sku)}")
        unit = one_line(price.get("unit", ""))
        ranges = {"StartingRange": _text(price.get("beginRange", "")), "EndingRange": _text(price.get("endRange", ""))}
        for currency, amount in money.items() or (("", ""),):
            priced = {"Currency": one_line(currency), "PricePerUnit": _text(amount), "Unit": unit}
            yield {**attributes, **about, **ranges, **priced}


def _text(value: object) -> str:
    """Returns a value as in the CSV form; a value that is no text is invalid there too."""
    return value if isinstance(value, str) else f"({one_line(value)})" if value is not None else ""
