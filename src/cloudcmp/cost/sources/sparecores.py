"""Prices of several clouds that Spare Cores collects (https://sparecores.com, CC BY-SA 4.0), as SQLite or CSV.

Of the SQLite file (package `sparecores-data`) the tables `server` and `server_price` are read; a CSV table has servers
without prices, or servers with a price in a region (`price_region`, `usd_per_hour`). The prices are second-hand: they
are shown, but nothing is rented at them.
"""

import io
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import quote

from cloudcmp.cost.sources import fields
from cloudcmp.model.price import Item, PriceEntry, PriceRow, Purchase, TypeFacts, Unit
from cloudcmp.model.promise import Promised, as_attributes, promise_of
from cloudcmp.model.untrusted_text import one_line

_PURCHASES = {"ONDEMAND": Purchase.ON_DEMAND, "SPOT": Purchase.SPOT}
_GUESTS = {"windows": ("windows",), "rhel": ("rhel", "red hat"), "suse": ("suse", "sles"),
           "linux": ("linux", "ubuntu", "debian")}  # fmt: skip
_UNITS = {"HOUR": Unit.HOUR, "MONTH": Unit.MONTH}
_SQLITE = b"SQLite format 3\0"
_SERVERS = "SELECT vendor_id, server_id, api_reference, vcpus, memory_amount, cpu_architecture{} FROM server"
_SPEED = "network_speed"
"""The column of the baseline of a server's network in Gbit/s (R), which not every file has."""
_BYTES_PER_S = 1e9 / 8
_PRICES = """SELECT p.vendor_id, coalesce(r.api_reference, p.region_id), coalesce(s.api_reference, p.server_id),
    p.operating_system, p.allocation, p.unit, p.price, p.currency, p.status, p.observed_at, p.price_upfront
    FROM server_price p LEFT JOIN region r ON r.vendor_id = p.vendor_id AND r.region_id = p.region_id
    LEFT JOIN server s ON s.vendor_id = p.vendor_id AND s.server_id = p.server_id"""


def read(file: BinaryIO) -> Iterator[PriceEntry]:
    """Yields the entries of such a file; raises Unreadable if it is another one."""
    rest = file if isinstance(file, io.BufferedReader) else io.BufferedReader(io.BytesIO(file.read()))
    if rest.peek(16)[:16] == _SQLITE:
        yield from _database(Path(str(rest.name)))
        return
    for row in fields.records_of(fields.lines_of(rest), ("vcpus",)):
        yield from _server(row)


def _server(row: Mapping[str, str]) -> Iterator[PriceEntry]:
    """Yields a server of a CSV row, and its price if it has one."""
    provider = one_line(row.get("vendor") or row.get("vendor_id") or "")
    name = one_line(row.get("instance_type") or row.get("api_reference") or "")
    if not provider or not name:
        raise fields.Unreadable("its head has no vendor or no instance type")
    region = one_line(row.get("price_region") or "")
    yield from _type_facts(provider, region, name, row["vcpus"], row.get("memory_mib") or row.get("memory_amount"),
                     row.get("arch") or row.get("cpu_architecture"), row.get(_SPEED))  # fmt: skip
    if region:
        try:
            amount = fields.amount_of(row.get("usd_per_hour"))
            yield PriceRow(provider, region, Item.INSTANCE, name, amount, "USD", Unit.HOUR, "linux")
        except fields.InvalidValue as error:
            yield fields.doubt(provider, region, "", name, error, Item.INSTANCE, "linux", Purchase.ON_DEMAND)


def _type_facts(
    provider: str, region: str, name: str, vcpus: object, memory_mib: object, architecture: object, speed: object
) -> Iterator[PriceEntry]:
    def known(value: object) -> float | None:
        try:
            number = float(fields.number_of(str(value)))
        except fields.InvalidValue:
            return None
        return number if 0 < number < 1e9 else None

    memory = known(memory_mib)
    attributes = {"architecture": one_line(architecture).lower()} if architecture else {}
    attributes |= as_attributes(promise_of(Promised.NETWORK, speed, None, "", factor=_BYTES_PER_S))
    yield TypeFacts(
        provider, region, name, known(vcpus), memory / 1024 if memory else None, None, tuple(attributes.items())
    )


def _database(path: Path) -> Iterator[PriceEntry]:
    uri = f"file:{quote(str(path.absolute()))}?mode=ro&immutable=1"
    try:
        with closing(sqlite3.connect(uri, uri=True)) as connection:
            connection.execute("PRAGMA trusted_schema = OFF")  # the file is untrusted
            known = {str(column[1]) for column in connection.execute("PRAGMA table_info(server)")}
            query = _SERVERS.format(f", {_SPEED}" if _SPEED in known else ", NULL")
            for vendor, id, reference, *facts in connection.execute(query):
                yield from _type_facts(one_line(vendor), "", one_line(reference or id), *facts)
            for row in connection.execute(_PRICES):
                yield from _price(row)
    except sqlite3.Error as error:
        raise fields.Unreadable(f"its tables cannot be read ({one_line(error)})") from None


def _price(row: tuple[Any, ...]) -> Iterator[PriceEntry]:
    vendor, region, name, system, allocation, unit, price, currency, status, observed, upfront = row
    if one_line(status or "ACTIVE").upper() != "ACTIVE":
        return
    provider = one_line(vendor)
    purchase = _PURCHASES.get(one_line(allocation).upper())
    if purchase is None:
        return
    words = one_line(system or "linux").lower()
    guest = next((one for one, names in _GUESTS.items() if any(name in words for name in names)), "")
    if not guest:
        return  # a system that a study cannot name
    try:
        if one_line(unit).upper() not in _UNITS:
            raise fields.InvalidValue(f"its unit {one_line(unit)!r} is not known")
        if upfront and fields.number_of(str(upfront)):
            raise fields.InvalidValue("part of it is paid upfront")
        amount = fields.amount_of(repr(price) if isinstance(price, float) else price)
        if observed:
            yield fields.day_of(str(observed))
        yield PriceRow(provider, one_line(region), Item.INSTANCE, one_line(name), amount, fields.currency_of(currency),
                       _UNITS[one_line(unit).upper()], guest, purchase)  # fmt: skip
    except fields.InvalidValue as error:
        yield fields.doubt(provider, one_line(region), "", one_line(name), error, Item.INSTANCE, guest, purchase)
