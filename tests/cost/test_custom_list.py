"""Lists of the user's own, of libraries, and of others: with real prices as witnesses where they are at hand."""

import csv
import io
import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cost.rows import collected
from tests.cost.test_aws import HEAD
from tests.slices import WHOLE, examples, some

from cloudcmp.app.fetch import take_in
from cloudcmp.cost.lookup import Lookup
from cloudcmp.cost.offering_prices import unpriced_book_offerings
from cloudcmp.cost.price_query import PriceQuery, UnknownPrice
from cloudcmp.cost.sources import custom_list, libcloud, sparecores
from cloudcmp.cost.sources.aws import promises as aws_promises
from cloudcmp.cost.sources.fields import LEAST, MOST, InvalidValue, Unreadable, amount_of, json_of
from cloudcmp.errors import UserMistake
from cloudcmp.model.offering import Price
from cloudcmp.model.price import Item, PriceList, Purchase, Unit
from cloudcmp.model.promise import Promise, Promised
from cloudcmp.store.prices import PriceBook

DATA = Path(os.environ.get("CLOUDCMP_DATA", "nowhere"))


def listed(text: str) -> PriceList:
    """A list of the user's own."""
    return collected(custom_list.read(io.BytesIO(text.encode())), HEAD)


def test_every_column_is_read() -> None:
    (row,) = listed(
        "provider,region,name,amount,currency,unit,item,system,purchase,tenancy,term_months,upfront,tier_from,"
        "tier_until,to,least,sku,starts,plan\n"
        "ours,hall,big,0.5,EUR,GiB,egress,,reserved,dedicated,12,3,10,20,internet,1,S,2026-01-02,two\n"
    ).rows
    assert (row.provider, row.region, row.name, row.amount, row.currency, row.unit) == (
        "ours", "hall", "big", Decimal("0.5"), "EUR", Unit.GIB
    )  # fmt: skip
    assert (row.item, row.purchase, row.tenancy, row.term_months, row.upfront) == (
        Item.EGRESS, Purchase.RESERVED, "dedicated", 12, 3
    )  # fmt: skip
    assert (row.tier_from, row.tier_until, row.to, row.least, row.sku) == (10, 20, "internet", 1, "S")
    assert (row.starts, row.plan) == (date(2026, 1, 2), "two")


def test_json_tells_the_same_as_csv() -> None:
    row = '{"provider": "ours", "name": "small", "amount": "0.02", "currency": "EUR", "unit": "h", "vcpus": 2}'
    text = f'{{"schema": "cloudcmp.prices/1", "as_of": "2026-11-20", "prices": [{row}]}}'
    other = "provider,name,amount,currency,unit,vcpus,as_of\nours,small,0.02,EUR,h,2,2026-11-20\n"
    assert listed(text) == listed(other)
    assert listed(text).published == date(2026, 11, 20)
    assert listed(text).sold[0].vcpus == 2.0


def test_an_unknown_column_is_named_with_the_nearest() -> None:
    with pytest.raises(Unreadable, match="'curency' is not known; did you mean currency"):
        listed("provider,name,amount,currency,unit,curency\nours,a,1,EUR,h,x\n")


@given(st.decimals(min_value=LEAST, max_value=MOST, allow_nan=False, places=9).filter(lambda one: one >= LEAST))
def test_an_amount_is_read_as_it_is_written(amount: Decimal) -> None:
    assert amount_of(f"{amount:f}") == amount
    assert amount_of(amount) == amount


@given(st.text(max_size=20) | st.none() | st.booleans() | st.floats() | st.lists(st.integers()))
def test_whatever_else_is_a_doubt_or_an_amount_above_zero(value: object) -> None:
    with suppress(InvalidValue):
        assert LEAST <= amount_of(value) <= MOST


@given(st.binary(max_size=200))
def test_bytes_are_json_or_are_refused(content: bytes) -> None:
    with suppress(Unreadable):
        json_of(io.BytesIO(content))


# -- real prices


def _real_prices() -> Iterator[dict[str, str]]:
    path = DATA / "vm_prices" / "vm_prices.csv"
    if not path.is_file():
        pytest.skip("no real prices: CLOUDCMP_DATA names no folder with vm_prices")
    with path.open() as file:
        yield from csv.DictReader(file)


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[PriceBook, list[dict[str, str]]]]:
    """A book with 94,481 real prices, as a list of the user's own, and those prices; each day with a tenth of them."""
    rows = list(_real_prices())
    if not WHOLE:
        kept = ("us-east-1", "m5.large")
        rows = [one for at, one in enumerate(rows) if at % 10 == 0 or Decimal(one["usd_per_hour"]) == 0
                or (one["region"], one["instance_type"]) == kept]  # fmt: skip
    folder = tmp_path_factory.mktemp("real")
    path = folder / "real.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("provider", "region", "name", "amount", "currency", "unit", "purchase", "as_of"))
        for one in rows:
            bought = "spot" if one["kind"] == "spot" else "on-demand"
            facts = (one["provider"], one["region"], one["instance_type"], one["usd_per_hour"])
            writer.writerow((*facts, "USD", "h", bought, one["as_of"]))
    before = os.environ.get("XDG_DATA_HOME")
    os.environ["XDG_DATA_HOME"] = str(folder)
    try:
        take_in("csv", [path])
        with PriceBook() as book:
            yield book, rows
    finally:
        os.environ.pop("XDG_DATA_HOME")
        if before is not None:
            os.environ["XDG_DATA_HOME"] = before


def test_real_prices_come_back_and_their_zeros_are_unknown(real: tuple[PriceBook, list[dict[str, str]]]) -> None:
    book, rows = real
    look = Lookup(book, date(2026, 6, 20))
    zeros = [one for one in rows if Decimal(one["usd_per_hour"]) == 0]
    assert len(zeros) == 68
    for one in [*some(zeros, 14, 0), *rows[:: len(rows) // examples(300, 10)]]:
        bought = Purchase.SPOT if one["kind"] == "spot" else Purchase.ON_DEMAND
        found = look.machine(PriceQuery(one["provider"], one["region"], one["instance_type"], purchase=bought))
        if Decimal(one["usd_per_hour"]) == 0:
            assert isinstance(found, UnknownPrice), one
            assert found.why == "a price of zero is unknown, not free"
        else:
            assert isinstance(found, Price), (one, found)
            assert found.amount_per_hour == Decimal(one["usd_per_hour"])


def test_a_real_list_is_as_old_as_its_oldest_price(real: tuple[PriceBook, list[dict[str, str]]]) -> None:
    (list_,) = real[0].lists()
    assert (list_.how, list_.dated) == ("given", date(2026, 6, 18))
    late = Lookup(real[0], date(2026, 11, 22)).machine(PriceQuery("aws", "us-east-1", "m5.large"))
    assert isinstance(late, UnknownPrice)
    assert "157 days old" in late.why


def _bundled() -> PriceList:
    path = libcloud.bundled_file()
    if path is None:
        pytest.skip("apache-libcloud is not installed")
    with path.open("rb") as file:
        return collected(libcloud.read(file), HEAD)


def test_the_bundled_prices_have_their_own_date_and_no_zero() -> None:
    found = _bundled()
    assert found.published is not None
    assert found.published.year >= 2025
    assert all(row.amount > 0 for row in found.rows)
    assert found.doubts
    assert {row.provider for row in found.rows} == {"gcp", "gandi", "rackspace"}


def test_why_amazon_s_bundled_prices_are_left_out() -> None:
    """Of the types that others list too, one in six costs there what a dedicated machine does, or something else."""
    real = {one["instance_type"]: one["usd_per_hour"] for one in _real_prices() if one["provider"] == "aws"}
    path = libcloud.bundled_file()
    assert path is not None
    table = json.loads(path.read_text(), parse_float=Decimal)["compute"]["ec2_linux"]
    both = {name: Decimal(real[name]) / table[name]["us-east-1"] for name in set(real) & set(table)
            if table[name].get("us-east-1")}  # fmt: skip
    off = [name for name, ratio in both.items() if not Decimal("0.98") < ratio < Decimal("1.02")]
    assert len(both) > 500
    assert len(off) > len(both) / 10  # else read them again: 140 of 736 were off


def test_spare_cores_tables_tell_types_and_prices() -> None:
    path = DATA / "sparecores" / "benchmarks_by_instance.csv"
    if not path.is_file():
        pytest.skip("no real data: CLOUDCMP_DATA names no folder with sparecores")
    with path.open("rb") as file:
        found = collected(sparecores.read(file), HEAD)
    sizes = {(one.provider, one.name): (one.vcpus, one.memory_gib) for one in found.sold}
    assert sizes["alicloud", "ecs.c1.small"] == (8.0, 8.0)
    assert len(found.rows) > 500
    assert all(row.amount > 0 for row in found.rows)


def test_spare_cores_servers_have_the_baseline_of_their_network() -> None:
    path = DATA / "sparecores" / "servers.csv"
    if not path.is_file():
        pytest.skip("no real data: CLOUDCMP_DATA names no folder with sparecores")
    with path.open("rb") as file:
        found = collected(sparecores.read(file), HEAD)
    known = {(one.provider, one.name): dict(one.attributes).get("network_bytes_per_s") for one in found.sold}
    assert known["aws", "m7i.large"] == "97625000"
    assert known["gcp", "n2-standard-2"] is None
    assert sum(one is not None for one in known.values()) > 500


@pytest.mark.parametrize(("speed", "attributes"), [("12.5", (("network_bytes_per_s", "1562500000"),)), ("0", ())])
def test_a_spare_cores_database_may_have_the_network(
    speed: str, attributes: tuple[tuple[str, str], ...], tmp_path: Path
) -> None:
    path = tmp_path / "sc.db"
    _spare_cores(path, [])
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("ALTER TABLE server ADD COLUMN network_speed")
        connection.execute("UPDATE server SET network_speed = ?", (float(speed),))
        connection.commit()
    with path.open("rb") as file:
        (sold,) = collected(sparecores.read(file), HEAD).sold
    assert sold.attributes == (("architecture", "x86_64"), *attributes)


def _spare_cores(path: Path, rows: list[tuple[Any, ...]]) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            "CREATE TABLE server (vendor_id, server_id, api_reference, vcpus, memory_amount, cpu_architecture);"
            "CREATE TABLE region (vendor_id, region_id, api_reference);"
            "CREATE TABLE server_price (vendor_id, region_id, server_id, operating_system, allocation, unit, price,"
            " currency, status, observed_at, price_upfront);"
            "INSERT INTO server VALUES ('hcloud', '22', 'cx22', 2, 4096, 'x86_64');"
            "INSERT INTO region VALUES ('hcloud', '1', 'fsn1');"
        )
        connection.executemany("INSERT INTO server_price VALUES (?,?,?,?,?,?,?,?,?,?,?)", rows)
        connection.commit()


def test_spare_cores_database_tells_prices_by_their_names(tmp_path: Path) -> None:
    path = tmp_path / "sc.db"
    usual = ("Linux", "ONDEMAND", "HOUR", 0.0066, "EUR", "ACTIVE", "2026-11-01 10:00:00", 0)
    _spare_cores(path, [("hcloud", "1", "22", *usual), ("hcloud", "1", "22", *usual[:3], 0.0, *usual[4:]),
                        ("hcloud", "1", "22", *usual[:5], "INACTIVE", *usual[6:]),
                        ("hcloud", "1", "22", "SQL Server", *usual[1:]),
                        ("hcloud", "1", "22", "Red Hat Linux", *usual[1:3], 0.0666, *usual[4:])])  # fmt: skip
    with path.open("rb") as file:
        found = collected(sparecores.read(file), HEAD)
    (row, red_hat), (doubt,) = found.rows, found.doubts
    assert (red_hat.system, red_hat.amount) == ("rhel", Decimal("0.0666"))
    assert (row.region, row.name, row.amount, row.currency) == ("fsn1", "cx22", Decimal("0.0066"), "EUR")
    assert doubt.why == "a price of zero is unknown, not free"
    assert found.published == date(2026, 11, 1)
    assert (found.sold[0].vcpus, found.sold[0].memory_gib) == (2.0, 4.0)


def test_promises_of_a_list_have_its_name_and_date(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    head = "vendor,instance_type,vcpus,memory_mib,arch,price_region,usd_per_hour,network_speed"
    (tmp_path / "s.csv").write_text(f"{head}\nhcloud,cx22,2,4096,X86_64,fsn1,0.01,1.5\n")
    now = datetime(2026, 11, 23, 12, tzinfo=UTC).timestamp()
    take_in("sparecores", [tmp_path / "s.csv"], source="a dump", as_of=date(2026, 11, 20), now=now)
    (sold,) = unpriced_book_offerings("hcloud", "fsn1")
    assert sold.promises == (Promise(Promised.NETWORK, 187_500_000.0, None, "a dump", date(2026, 11, 20)),)
    assert sold.attributes == (("architecture", "x86_64"), ("source", "a dump"))


def test_amazons_list_promises_in_words() -> None:
    record = {"Network Performance": "Up to 12500 Megabit", "Dedicated EBS Throughput": "650 Mbps"}
    network, volume = aws_promises(record)
    assert (network.of, network.baseline, network.up_to) == (Promised.NETWORK, None, 1_562_500_000.0)
    assert (volume.of, volume.baseline, volume.up_to) == (Promised.VOLUME_THROUGHPUT, 81_250_000.0, None)
    assert list(aws_promises({"Network Performance": "Moderate", "Dedicated EBS Throughput": "N/A"})) == []


@pytest.mark.parametrize("as_of", ["9999-11-20", "2026-11-26"])
def test_a_list_of_a_day_to_come_is_refused(as_of: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would never look old."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    now = datetime(2026, 11, 23, 12, tzinfo=UTC).timestamp()
    head, row = "provider,name,amount,currency,unit,region,as_of", "aws,m7i.large,0.1,USD,h,us-east-1"
    told = f"it is dated {as_of}, which is still to come; nothing of it was imported"
    (tmp_path / "p.csv").write_text(f"{head}\n{row},{as_of}\n")
    with pytest.raises(UserMistake, match=told):
        take_in("csv", [tmp_path / "p.csv"], now=now)
    (tmp_path / "p.csv").write_text(f"{head}\n{row},2026-11-24\n")
    with pytest.raises(UserMistake, match=told):
        take_in("csv", [tmp_path / "p.csv"], now=now, as_of=date.fromisoformat(as_of))
    assert take_in("csv", [tmp_path / "p.csv"], now=now).rows == 1
