"""Poisoned price lists: each is refused in whole, or leaves the price that it poisons unknown, in one line.

`POISONED` are those that were thought of, of every kind of list. A list is judged by what becomes of it in a book of
its own: never a price that a clean list does not tell, never a traceback, always one line that names SKU, region and
reason, and nothing in the book where the list was refused.
"""

from tests.cost.fates import CLEAN, OWN, SPARE, broken, fate
from tests.cost.poisons import Poison, cut, first_again, item, json_with, price, rate, sku, swap, twice

_AWS_ROW = '"LNXSHARED0000001","JRTCKXETXF"'
_AMAZON: dict[str, Poison] = {
    "cut in its head": cut(0.01),
    "cut in a row": cut(0.6),
    "cut before its rows": cut(0.12),
    "a zero": swap("0.1210000000", "0.0000000000"),
    "below zero": swap("0.1210000000", "-0.1210000000"),
    "NaN": swap("0.1210000000", "NaN"),
    "infinite": swap("0.1210000000", "Infinity"),
    "a decimal comma": swap("0.1210000000", "0,1210000000"),
    "words": swap("0.1210000000", "about a dime"),
    "nothing": swap('"0.1210000000"', '""'),
    "huge": swap("0.1210000000", "1210000000000000"),
    "an exponent": swap("0.1210000000", "1e999999999"),
    "tiny": swap("0.1210000000", "1e-40"),
    "another unit": swap('"Hrs","0.1210000000"', '"Days","0.1210000000"'),
    "another currency": swap('"0.1210000000","USD"', '"0.1210000000","CNY"'),
    "no currency": swap('"0.1210000000","USD"', '"0.1210000000",""'),
    "two amounts": twice(_AWS_ROW, **{"0.1210000000": "0.1310000000"}),
    "two SKUs": twice(_AWS_ROW, **{"LNXSHARED0000001": "LNXSHARED0000009", "0.1210000000": "0.0110000000"}),
    "a doubled row with a bad amount": twice(_AWS_ROW, **{"0.1210000000": "-1"}),
    "next year": swap("2026-11-01", "2027-11-01"),
    "published next year": swap("2026-11-20T21:10:05Z", "2027-11-20T21:10:05Z"),
    "published last year": swap("2026-11-20T21:10:05Z", "2025-11-20T21:10:05Z"),
    "published never": swap("2026-11-20T21:10:05Z", "soon"),
    "another region": swap('"eu-central-1"', '"eu-central-9"'),
    "only as Windows": swap('"Linux"', '"Windows"'),
    "HTML": lambda _: b"<!DOCTYPE html><html><body>Sign in</body></html>",
    "nothing at all": lambda _: b"",
    "invalid UTF-8": lambda content: content.replace(b"Frankfurt", b"\xff\xfe"),
    "a zero byte": lambda content: content.replace(b"Frankfurt", b"Frank\0furt"),
    "a column twice": swap('"Currency"', '"Unit"', 1),
    "a column missing": swap('"PricePerUnit"', '"Price"', 1),
    "a row with more columns": swap('"0.1210000000","USD"', '"0.1210000000","USD","more"'),
    "a quote that never ends": swap('"m7i.large"', '"m7i.large', 1),
    "another service alone": swap("Compute Instance", "Load Balancer"),
    "a tier in place of a price": swap('"2026-11-01","0","Inf","Hrs"', '"2026-11-01","744","Inf","Hrs"'),
}
_AZURE: dict[str, Poison] = {
    "cut": cut(0.7),
    "cut to nothing": cut(0.0),
    "a zero": item("retailPrice", 0.0),
    "below zero": item("retailPrice", -0.115),
    "NaN": swap('"retailPrice": 0.115', '"retailPrice": NaN'),
    "a text": item("retailPrice", "zero point one"),
    "a truth": item("retailPrice", True),
    "a list": item("retailPrice", [0.115]),
    "null": item("retailPrice", None),
    "missing": json_with(lambda page: page["Items"][0].pop("retailPrice")),
    "huge": item("retailPrice", 1e15),
    "another unit": item("unitOfMeasure", "1 GB/Month"),
    "a unit that is a number": item("unitOfMeasure", 1),
    "another currency": item("currencyCode", "BRL"),
    "no currency": item("currencyCode", ""),
    "two amounts": first_again("Items", lambda one: one.update(retailPrice=0.011, skuId="another")),
    "a doubled row with a bad amount": first_again("Items", lambda one: one.update(retailPrice="x")),
    "next year": item("effectiveStartDate", "2027-03-01T00:00:00Z"),
    "no date": item("effectiveStartDate", "yesterday"),
    "another region": swap('"armRegionName": "westeurope"', '"armRegionName": "westeurope2"'),
    "a region that is a number": item("armRegionName", 7),
    "a tier in place of a price": item("tierMinimumUnits", 100),
    "fewer items than it says": json_with(lambda page: page["Items"].pop()),
    "a key twice": swap('"retailPrice": 0.115', '"retailPrice": 0.115, "retailPrice": 0.0115', 1),
    "items that are no list": json_with(lambda page: page.update(Items={})),
    "an item that is no object": json_with(lambda page: page["Items"].__setitem__(0, 5)),
    "HTML": lambda _: b"<html>503</html>",
    "another document": lambda _: b'{"error": {"code": "BadRequest"}}',
    "nested too deeply": lambda _: b"[" * 200_000,
    "not UTF-8": lambda content: content.replace(b"EU West", b"\xc3\x28"),
    "only for development": item("type", "DevTestConsumption"),
}
_GOOGLE: dict[str, Poison] = {
    "cut": cut(0.5),
    "zero billionths": rate("nanos", 0),
    "below zero": rate("nanos", -40711000),
    "more billionths than one": rate("nanos", 40711000000),
    "parts of billionths": rate("nanos", 0.5),
    "units that are words": rate("units", "some"),
    "units and billionths of two signs": rate("units", "-1"),
    "another currency": rate("currencyCode", "JPY"),
    "a currency that is none": rate("currencyCode", "dollars"),
    "another unit": sku(lambda sku: sku["pricingInfo"][0]["pricingExpression"].update(usageUnit="d")),
    "two rates": sku(lambda sku: sku["pricingInfo"][0]["pricingExpression"]["tieredRates"].append(
        {"startUsageAmount": 100, "unitPrice": {"currencyCode": "USD", "units": "0", "nanos": 1}})),
    "no rates": sku(lambda sku: sku["pricingInfo"][0]["pricingExpression"].update(tieredRates=[])),
    "two prices": sku(lambda sku: sku["pricingInfo"].append(sku["pricingInfo"][0])),
    "no price": sku(lambda sku: sku.update(pricingInfo=[])),
    "no regions": sku(lambda sku: sku.update(serviceRegions=[])),
    "another region": sku(lambda sku: sku.update(serviceRegions=["mars-north1"])),
    "regions that are a text": sku(lambda sku: sku.update(serviceRegions="europe-west3")),
    "next year": sku(lambda sku: sku["pricingInfo"][0].update(effectiveTime="2027-11-20T08:00:00Z")),
    "no id": sku(lambda sku: sku.update(skuId="")),
    "an unknown way to buy": sku(lambda sku: sku["category"].update(usageType="Barter")),
    "two amounts": first_again("skus", lambda sku: (sku.update(skuId="CCCC-0001"), sku["pricingInfo"][0][
        "pricingExpression"]["tieredRates"][0]["unitPrice"].update(nanos=1000))),
    "the family is another": sku(lambda sku: sku.update(description="N9 Instance Core running in Frankfurt")),
    "skus that are no list": json_with(lambda page: page.update(skus=5)),
    "HTML": lambda _: b"<html>Sorry</html>",
}  # fmt: skip
_OURS: dict[str, Poison] = {
    "cut in a row": lambda _: OWN.encode()[:-30],
    "cut after its head": lambda _: OWN.splitlines(keepends=True)[0].encode(),
    "a zero": swap("0.02", "0.00"),
    "below zero": swap("0.02", "-0.02"),
    "a decimal comma": swap("0.02", '"0,02"'),
    "separators": swap("0.02", '"1,000.02"'),
    "a currency sign": swap("0.02", "$0.02"),
    "other digits": swap("0.02", "0.0２"),
    "an unknown unit": swap("0.02,EUR,h,", "0.02,EUR,fortnight,"),
    "no unit": swap("0.02,EUR,h,", "0.02,EUR,,"),
    "a unit of another thing": swap("0.02,EUR,h,", "0.02,EUR,GiB month,"),
    "another currency": swap("0.02,EUR", "0.02,USD"),
    "a currency in small letters": swap("0.02,EUR", "0.02,eur"),
    "two amounts": swap("hall,large,0.08", "hall,small,0.08"),
    "no provider": swap("ours,hall,small", ",hall,small"),
    "no name": swap("ours,hall,small", "ours,hall,"),
    "an unknown column": swap("currency,unit", "curency,unit"),
    "a date that is none": swap("S1,2026-11-20", "S1,2026-02-30"),
    "old": swap("2026-11-20", "2026-09-20"),
    "of next year": swap("2026-11-20", "2027-11-20"),
    "another region": swap("ours,hall,small", "ours,hell,small"),
    "UTF-16": lambda _: OWN.encode("utf-16"),
    "JSON of another schema": lambda _: b'{"schema": "cloudcmp.prices/9", "prices": []}',
    "JSON without prices": lambda _: b'{"schema": "cloudcmp.prices/1", "prices": []}',
    "an endless line": lambda _: OWN.encode() + b"x" * 200_000,
}
_LIBCLOUD: dict[str, Poison] = {
    "cut": cut(0.8),
    "a zero": price(0.0),
    "below zero": price(-1),
    "a text": price("cheap"),
    "null": price(None),
    "a key twice": swap('"performance1-1": 0.096', '"performance1-1": 0.096, "performance1-1": 0.0096'),
    "no date": json_with(lambda page: page.pop("updated")),
    "a date that is none": json_with(lambda page: page.update(updated="last year")),
    "a date beyond time": json_with(lambda page: page.update(updated=10**30)),
    "tables that are none": json_with(lambda page: page.update(compute=[])),
    "an infinite price": swap("0.096", "Infinity"),
}
_SPARE: dict[str, Poison] = {
    "cut in a row": lambda _: SPARE.encode()[:-12],
    "a zero": swap("0.0066", "0.0"),
    "NaN": swap("0.0066", "nan"),
    "two amounts": swap("cx32,4,8192", "cx22,4,8192"),
    "no vendor": swap("vendor,instance_type", "seller,instance_type"),
    "a database that is none": lambda _: b"SQLite format 3\0" + b"x" * 5000,
    "an empty one": lambda _: b"",
}
POISONED: dict[tuple[str, str], Poison] = {
    (kind, name): poison
    for kind, table in (("aws", _AMAZON), ("azure", _AZURE), ("gcp", _GOOGLE), ("csv", _OURS), ("libcloud", _LIBCLOUD),
                        ("sparecores", _SPARE))
    for name, poison in table.items()
}  # fmt: skip


def poisoned(kind: str, name: str) -> str:
    """What is wrong with the fate of a poisoned list, empty where nothing is; a price that it still tells is wrong."""
    first, *rest = CLEAN[kind]()
    one = fate(kind, [POISONED[kind, name](first), *rest])
    if one.price is not None:
        return f"it still tells a price, {one.price.amount_per_hour}"
    return broken(kind, one)
