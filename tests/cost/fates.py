"""What becomes of a price list in a book of its own: its one price, why there is none, or the line that refused it.

`CLEAN` are small lists of every kind whose price is known, for others to spoil: see poisoned.py, mutated.py and
badly_served.py.
"""

import json
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from tests.cost.served import said

from cloudcmp.app.fetch import take_in
from cloudcmp.cost.lookup import Lookup
from cloudcmp.cost.price_query import PriceQuery, UnknownPrice
from cloudcmp.errors import CloudcmpError
from cloudcmp.model.offering import Price
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
        "rackspace": {"performance1-1": 0.096, "performance1-2": 0.192},
        "gce_instances": {},
    },
})  # fmt: skip
SPARE = (
    "vendor,instance_type,vcpus,memory_mib,arch,price_region,usd_per_hour\n"
    "hcloud,cx22,2,4096,X86_64,fsn1,0.0066\nhcloud,cx32,4,8192,X86_64,fsn1,0.0113\n"
)
# What is asked of each kind of list, its price there, and whatever else it must not be taken for.
ASKED = {
    "aws": (PriceQuery("aws", "eu-central-1", "m7i.large"), Decimal("0.121")),
    "azure": (PriceQuery("azure", "westeurope", "Standard_D2s_v5"), Decimal("0.115")),
    "gcp": (PriceQuery("gcp", "europe-west3", "n2-standard-2"), Decimal("0.125070")),
    "csv": (PriceQuery("ours", "hall", "small"), Decimal("0.02")),
    "libcloud": (PriceQuery("rackspace", "", "performance1-1"), Decimal("0.096")),
    "sparecores": (PriceQuery("hcloud", "fsn1", "cx22"), Decimal("0.0066")),
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
            with own_data(folder):
                take_in(kind, paths, as_of=TODAY if kind in {"azure", "gcp"} else None, now=NOW)
        except CloudcmpError as error:
            with PriceBook(book) as left:
                return Fate(error.exit_code, str(error), left=len(left.lists()))
        with PriceBook(book) as made:
            return _asked(made, ASKED[kind][0], today)


def _asked(book: PriceBook, asked: PriceQuery, today: date) -> Fate:
    found = Lookup(book, today, "EUR" if asked.provider == "ours" else "USD").machine(asked)
    return Fate(0, found.line) if isinstance(found, UnknownPrice) else Fate(0, "", found)


@contextmanager
def own_data(folder: str) -> Iterator[pytest.MonkeyPatch]:
    """A folder as the home of the user's data; what else is set there is as before afterwards, too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_DATA_HOME", str(Path(folder) / "data"))
        yield patch


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
