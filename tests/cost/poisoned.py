"""Poisoned price lists: each is refused in whole, or leaves the price that it poisons unknown, in one line.

`POISONED` are those that were thought of, of every kind of list; `mutated` are lists that are changed at random. A list
is judged by what becomes of it in a book of its own: never a price that a clean list does not tell, never a traceback,
always one line that names SKU, region and reason, and nothing in the book where the list was refused.
"""

import gzip
import json
import random
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

from tests.cost.served import said, served
from tests.emulated.wire import Answer, Request

from cloudcmp.cost.asked import Asked, Unknown
from cloudcmp.cost.lookup import Lookup
from cloudcmp.cost.sources.fetchers import KEY
from cloudcmp.cost.sources.web import Web
from cloudcmp.errors import CloudcmpError
from cloudcmp.model.offering import Price
from cloudcmp.pipeline.catalogue import take_in
from cloudcmp.pipeline.fetching import fetch
from cloudcmp.store.prices import PriceBook

TODAY = date(2026, 11, 22)
NOW = datetime(2026, 11, 22, 12, tzinfo=UTC).timestamp()
OWN = (
    "provider,region,name,amount,currency,unit,sku,as_of\n"
    "ours,hall,small,0.02,EUR,h,S1,2026-11-20\n"
    "ours,hall,large,0.08,EUR,h,S2,2026-11-20\n"
)
LIBCLOUD = json.dumps({
    "updated": 1763683200,
    "compute": {
        "ec2_linux": {"m5.large": {"us-east-1": 0.096}, "m5.xlarge": {"us-east-1": 0.192}},
        "gce_instances": {},
    },
})  # fmt: skip
SPARE = (
    "vendor,instance_type,vcpus,memory_mib,arch,price_region,usd_per_hour\n"
    "hcloud,cx22,2,4096,X86_64,fsn1,0.0066\nhcloud,cx32,4,8192,X86_64,fsn1,0.0113\n"
)
# What is asked of each kind of list, its price there, and whatever else it must not be taken for.
ASKED = {
    "aws": (Asked("aws", "eu-central-1", "m7i.large"), Decimal("0.121")),
    "azure": (Asked("azure", "westeurope", "Standard_D2s_v5"), Decimal("0.115")),
    "gcp": (Asked("gcp", "europe-west3", "n2-standard-2"), Decimal("0.125070")),
    "csv": (Asked("ours", "hall", "small"), Decimal("0.02")),
    "libcloud": (Asked("aws", "us-east-1", "m5.large"), Decimal("0.096")),
    "sparecores": (Asked("hcloud", "fsn1", "cx22"), Decimal("0.0066")),
}
CLEAN: dict[str, Callable[[], tuple[bytes, ...]]] = {
    "aws": lambda: (said("aws.csv"),),
    "azure": lambda: (said("azure-1.json"), said("azure-2.json")),
    "gcp": lambda: (said("gcp-1.json"), said("gcp-2.json")),
    "csv": lambda: (OWN.encode(),),
    "libcloud": lambda: (LIBCLOUD.encode(),),
    "sparecores": lambda: (SPARE.encode(),),
}
LINE = re.compile(r"[a-z0-9_-]+/\S[^\n]* (SKU|every SKU)[^\n]*: [^\n]+")

Poison = Callable[[bytes], bytes]


@dataclass(frozen=True)
class Fate:
    """What became of a list: the exit code and the line where it was refused, else the price or why there is none."""

    code: int
    told: str
    price: Price | None = None
    left: int = 0


def fate(kind: str, files: Iterable[bytes], today: date = TODAY) -> Fate:
    """Take a list into a book of its own, and ask it for the one price."""
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for number, content in enumerate(files):
            path = Path(folder) / f"{kind}-{number}"
            path.write_bytes(content)
            paths.append(path)
        book = Path(folder) / "data" / "cloudcmp" / "prices.db"
        try:
            with _data(folder):
                take_in(kind, paths, as_of=TODAY if kind in {"azure", "gcp"} else None, now=NOW)
        except CloudcmpError as error:
            with PriceBook(book) as left:
                return Fate(error.exit_code, str(error), left=len(left.lists()))
        with PriceBook(book) as made:
            return _asked(made, ASKED[kind][0], today)


def _asked(book: PriceBook, asked: Asked, today: date) -> Fate:
    found = Lookup(book, today, "EUR" if asked.provider == "ours" else "USD").machine(asked)
    return Fate(0, found.line) if isinstance(found, Unknown) else Fate(0, "", found)


class _data:  # noqa: N801 - a context manager
    """A folder as the home of the user's data."""

    def __init__(self, folder: str) -> None:
        self._folder = str(Path(folder) / "data")

    def __enter__(self) -> None:
        import os

        self._before = os.environ.get("XDG_DATA_HOME")
        os.environ["XDG_DATA_HOME"] = self._folder

    def __exit__(self, *_: object) -> None:
        import os

        os.environ.pop("XDG_DATA_HOME")
        if self._before is not None:
            os.environ["XDG_DATA_HOME"] = self._before


def broken(kind: str, one: Fate) -> str:
    """What is wrong with a fate, empty where nothing is; a clean price is no poison here."""
    if one.price is not None:
        wanted = ASKED[kind][1]
        return "" if one.price.amount_per_hour == wanted else f"a wrong price, {one.price.amount_per_hour}"
    if one.code not in {0, 2, 3}:
        return f"exit code {one.code}"
    if len(one.told.splitlines()) != 1 or not LINE.search(one.told):
        return f"not one line with SKU, region and reason: {one.told!r}"
    return "the book was changed" if one.left else ""


# -- ways to poison


def swap(old: str, new: str, times: int = -1) -> Poison:
    """One text in place of another; the list must have it."""

    def poison(content: bytes) -> bytes:
        assert old.encode() in content, old
        return content.replace(old.encode(), new.encode(), times)

    return poison


def cut(share: float) -> Poison:
    """The first part only."""
    return lambda content: content[: int(len(content) * share)]


def twice(line: str, **changes: str) -> Poison:
    """The first line that has a text once more, with other texts in it."""

    def poison(content: bytes) -> bytes:
        lines = content.decode().splitlines(keepends=True)
        found = next(one for one in lines if line in one)
        other = found
        for old, new in changes.items():
            other = other.replace(old, new)
        lines.insert(lines.index(found) + 1, other)
        return "".join(lines).encode()

    return poison


def json_with(change: Callable[[Any], None]) -> Poison:
    """A JSON document, changed."""

    def poison(content: bytes) -> bytes:
        document = json.loads(content)
        change(document)
        return json.dumps(document).encode()

    return poison


def _items(field: str, value: object) -> Poison:
    """Azure's first item with another value in a field."""
    return json_with(lambda page: page["Items"][0].__setitem__(field, value))


def _rate(field: str, value: object) -> Poison:
    """Google's first SKU with another value in its rate."""

    def change(page: Any) -> None:
        rate = page["skus"][0]["pricingInfo"][0]["pricingExpression"]["tieredRates"][0]
        (rate["unitPrice"] if field in rate["unitPrice"] else rate)[field] = value

    return json_with(change)


def _sku(change: Callable[[Any], None]) -> Poison:
    return json_with(lambda page: change(page["skus"][0]))


def _first_again(key: str, change: Callable[[Any], None]) -> Poison:
    """A page that has its first thing twice, the second one changed."""

    def poison(page: Any) -> None:
        again = json.loads(json.dumps(page[key][0]))
        change(again)
        page[key].append(again)
        if "Count" in page:
            page["Count"] += 1

    return json_with(poison)


def _price(value: object) -> Poison:
    """libcloud's first price."""
    return json_with(lambda page: page["compute"]["ec2_linux"]["m5.large"].__setitem__("us-east-1", value))


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
    "a zero": _items("retailPrice", 0.0),
    "below zero": _items("retailPrice", -0.115),
    "NaN": swap('"retailPrice": 0.115', '"retailPrice": NaN'),
    "a text": _items("retailPrice", "zero point one"),
    "a truth": _items("retailPrice", True),
    "a list": _items("retailPrice", [0.115]),
    "null": _items("retailPrice", None),
    "missing": json_with(lambda page: page["Items"][0].pop("retailPrice")),
    "huge": _items("retailPrice", 1e15),
    "another unit": _items("unitOfMeasure", "1 GB/Month"),
    "a unit that is a number": _items("unitOfMeasure", 1),
    "another currency": _items("currencyCode", "BRL"),
    "no currency": _items("currencyCode", ""),
    "two amounts": _first_again("Items", lambda one: one.update(retailPrice=0.011, skuId="another")),
    "a doubled row with a bad amount": _first_again("Items", lambda one: one.update(retailPrice="x")),
    "next year": _items("effectiveStartDate", "2027-03-01T00:00:00Z"),
    "no date": _items("effectiveStartDate", "yesterday"),
    "another region": swap('"armRegionName": "westeurope"', '"armRegionName": "westeurope2"'),
    "a region that is a number": _items("armRegionName", 7),
    "a tier in place of a price": _items("tierMinimumUnits", 100),
    "fewer items than it says": json_with(lambda page: page["Items"].pop()),
    "a key twice": swap('"retailPrice": 0.115', '"retailPrice": 0.115, "retailPrice": 0.0115', 1),
    "items that are no list": json_with(lambda page: page.update(Items={})),
    "an item that is no object": json_with(lambda page: page["Items"].__setitem__(0, 5)),
    "HTML": lambda _: b"<html>503</html>",
    "another document": lambda _: b'{"error": {"code": "BadRequest"}}',
    "nested too deeply": lambda _: b"[" * 200_000,
    "not UTF-8": lambda content: content.replace(b"EU West", b"\xc3\x28"),
    "only for development": _items("type", "DevTestConsumption"),
}
_GOOGLE: dict[str, Poison] = {
    "cut": cut(0.5),
    "zero billionths": _rate("nanos", 0),
    "below zero": _rate("nanos", -40711000),
    "more billionths than one": _rate("nanos", 40711000000),
    "parts of billionths": _rate("nanos", 0.5),
    "units that are words": _rate("units", "some"),
    "units and billionths of two signs": _rate("units", "-1"),
    "another currency": _rate("currencyCode", "JPY"),
    "a currency that is none": _rate("currencyCode", "dollars"),
    "another unit": _sku(lambda sku: sku["pricingInfo"][0]["pricingExpression"].update(usageUnit="d")),
    "two rates": _sku(lambda sku: sku["pricingInfo"][0]["pricingExpression"]["tieredRates"].append(
        {"startUsageAmount": 100, "unitPrice": {"currencyCode": "USD", "units": "0", "nanos": 1}})),
    "no rates": _sku(lambda sku: sku["pricingInfo"][0]["pricingExpression"].update(tieredRates=[])),
    "two prices": _sku(lambda sku: sku["pricingInfo"].append(sku["pricingInfo"][0])),
    "no price": _sku(lambda sku: sku.update(pricingInfo=[])),
    "no regions": _sku(lambda sku: sku.update(serviceRegions=[])),
    "another region": _sku(lambda sku: sku.update(serviceRegions=["mars-north1"])),
    "regions that are a text": _sku(lambda sku: sku.update(serviceRegions="europe-west3")),
    "next year": _sku(lambda sku: sku["pricingInfo"][0].update(effectiveTime="2027-11-20T08:00:00Z")),
    "no id": _sku(lambda sku: sku.update(skuId="")),
    "an unknown way to buy": _sku(lambda sku: sku["category"].update(usageType="Barter")),
    "two amounts": _first_again("skus", lambda sku: (sku.update(skuId="CCCC-0001"), sku["pricingInfo"][0][
        "pricingExpression"]["tieredRates"][0]["unitPrice"].update(nanos=1000))),
    "the family is another": _sku(lambda sku: sku.update(description="N9 Instance Core running in Frankfurt")),
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
    "a zero": _price(0.0),
    "below zero": _price(-1),
    "a text": _price("cheap"),
    "null": _price(None),
    "a key twice": swap('"us-east-1": 0.096', '"us-east-1": 0.096, "us-east-1": 0.0096'),
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


# -- ways to answer badly


def _paged(body: Callable[[str], bytes]) -> Callable[[Request], Answer]:
    return lambda request: Answer(body=body(f"http://{request.header('Host')}"))


SERVED: dict[str, Callable[[Request], Answer]] = {
    "pages that go round": _paged(
        lambda host: json.dumps({"Items": [], "NextPageLink": f"{host}/api/retail/prices?round"}).encode()
    ),
    "a page that leads elsewhere": _paged(lambda _: b'{"Items": [], "NextPageLink": "http://127.0.0.2:1/"}'),
    "half of what it says": lambda _: Answer(body=said("azure-2.json"), how="part"),
    "no byte": lambda _: Answer(how="close"),
    "a reset": lambda _: Answer(how="reset"),
    "a gzip bomb": lambda _: Answer(body=_bomb(), headers={"Content-Encoding": "gzip"}),
    "gzip cut short": lambda _: Answer(
        body=gzip.compress(said("azure-2.json"))[:-9], headers={"Content-Encoding": "gzip"}
    ),
    "gzip that is none": lambda _: Answer(body=b"not at all", headers={"Content-Encoding": "gzip"}),
    "silence": lambda _: Answer(body=b"{}", delay_s=0.6),
    "not found": lambda _: Answer(404),
    "not allowed": lambda _: Answer(403),
    "elsewhere": lambda _: Answer(302, headers={"Location": "/api/retail/prices?x"}),
    "always busy": lambda _: Answer(503),
    "a page of HTML": lambda _: Answer(body=b"<html></html>"),
}


@cache
def _bomb() -> bytes:
    return gzip.compress(b"\0" * (70 * 2**20))


def badly_served(name: str) -> str:
    """What is wrong with a fetch whose server answers badly, empty where nothing is."""
    import os

    with tempfile.TemporaryDirectory() as folder, served(SERVED[name]) as address, _data(folder):
        before = {key: os.environ.get(key) for key in ("CLOUDCMP_PRICES_AZURE", KEY)}
        os.environ["CLOUDCMP_PRICES_AZURE"] = address
        try:
            web = Web(idle_s=0.3, sleep=lambda _: None)
            told = [str(one) for one in fetch(["azure"], ["westeurope"], web=web)]
            return f"it was taken: {told}"
        except CloudcmpError as error:
            one = Fate(error.exit_code, str(error))
        finally:
            for key, value in before.items():
                os.environ.pop(key, None)
                if value is not None:
                    os.environ[key] = value
        with PriceBook() as book:
            if book.lists():
                return "the book was changed"
    told_so = len(one.told.splitlines()) == 1 and "azure/westeurope" in one.told and "every SKU" in one.told
    return "" if one.code == 3 and told_so else one.told


# -- at random


def mutated(n: int, seed: int) -> list[str]:
    """What is wrong with the fates of n lists that are changed at random, a line each."""
    wrong = []
    for number, (kind, files) in enumerate(_mutants(n, seed)):
        try:
            one = fate(kind, files)
        except Exception as error:  # a traceback is what must never be
            wrong.append(f"{kind} {number} of seed {seed}: {type(error).__name__}: {error}")
            continue
        # A digit that was changed makes another price, which nobody can tell from a true one; but it is written there.
        if one.price is not None and _written(kind, one.price.amount_per_hour, files):
            continue
        if why := broken(kind, one):
            wrong.append(f"{kind} {number} of seed {seed}: {why}")
    return wrong


def _written(kind: str, amount: Decimal, files: list[bytes]) -> bool:
    """Whether an amount stands in a list, or is the sum of two that do for two processors and eight GiB."""
    text = b"\n".join(files).decode(errors="replace")
    numbers = {Decimal(one) for one in re.findall(r"\d{1,30}(?:\.\d{1,30})?(?:[eE][+-]?\d{1,2})?", text)}
    if kind != "gcp":
        return amount in numbers
    parts = {(one / 10**9).normalize() for one in numbers if one == int(one)} | numbers
    return any((amount - 2 * core) / 8 in parts for core in parts)


def _mutants(n: int, seed: int) -> Iterator[tuple[str, list[bytes]]]:
    draw = random.Random(seed)
    kinds = list(CLEAN)
    for _ in range(n):
        kind = draw.choice(kinds)
        files = list(CLEAN[kind]())
        at = draw.randrange(len(files))
        content = bytearray(files[at])
        for _ in range(draw.choice((1, 1, 2, 5))):
            _mutate(content, draw)
        files[at] = bytes(content)
        yield kind, files


def _mutate(content: bytearray, draw: random.Random) -> None:
    if not content:
        return
    where = draw.randrange(len(content))
    way = draw.randrange(5)
    if way == 0:
        del content[where:]
    elif way == 1:
        content[where] ^= 1 << draw.randrange(8)
    elif way == 2:
        del content[where : where + draw.randrange(1, 200)]
    elif way == 3:
        part = content[where : where + draw.randrange(1, 200)]
        content[where:where] = part
    else:
        content[where:where] = draw.choice(
            (b"0", b"-", b'"', b"{", b"]", b"null", b"NaN", b"\xff", b"\n", b"1e9", b",")
        )
