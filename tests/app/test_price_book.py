"""Studies are quoted by the price book, without an account; nothing is rented at prices that are old by nature."""

import json
import time
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from cloudcmp.app import plan as planning
from cloudcmp.app.fetch import take_in
from cloudcmp.app.offerings.search import filters, search
from cloudcmp.cli.entry import main
from cloudcmp.cost import offering_prices as catalogue
from cloudcmp.errors import Refused
from cloudcmp.model.offering import Offering, Price, Volume
from cloudcmp.model.plan import Candidate, Plan
from cloudcmp.model.price import Item, PriceList, PriceRow, Purchase, Unit
from cloudcmp.provision.prices import price_to_create
from cloudcmp.store.plan_rows import prices_of
from cloudcmp.store.prices import PriceBook
from tests.cli.command import cloudcmp
from tests.cost.served import ANSWERS

STUDY = """\
schema: 1
question: Which of two?
candidates:
  - {{provider: aws, region: eu-central-1, offering: m7i.large{more}}}
probes: [{{probe: fma}}]
launches: 1
budget: 5 USD
"""


@pytest.fixture(autouse=True)
def amazon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A book with Amazon's list of today, and no account."""
    for name in ("AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_ENDPOINT_URL"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": "/none", "HOME": str(tmp_path),
                        "AWS_SHARED_CREDENTIALS_FILE": "/none", "XDG_DATA_HOME": str(tmp_path)}.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    take_in("aws", [ANSWERS / "aws.csv"], as_of=datetime.now(UTC).date())


def planned(tmp_path: Path, more: str = "") -> Plan:
    """The plan of a study on Amazon."""
    path = tmp_path / "study.yaml"
    path.write_text(STUDY.format(more=more))
    return planning.plan_file(path, on=None, short=False, seed=None)[0]


@pytest.mark.parametrize(
    ("more", "hour"),
    [
        ("", "0.121"),
        (", os: windows", "0.213"),
        (", tenancy: dedicated", "0.1281"),
        (", market: spot", "0.121"),
        (", price: 0.05 USD/h", "0.05"),
    ],
)
def test_a_machine_has_the_price_of_how_it_is_asked_for(tmp_path: Path, more: str, hour: str) -> None:
    probes = planned(tmp_path, more) if "windows" not in more else None
    if probes is None:  # no agent runs on Windows: only what the machine costs is asked
        sold = Offering("aws", "eu-central-1", "m7i.large")
        found, _ = catalogue.price(Candidate(0, "x", sold, "aws", options=(("os", "windows"),)))
        price = found.offering.price
    else:
        price = probes.candidates[0].offering.price
    assert price is not None
    assert price.amount_per_hour == Decimal(hour)


def test_the_price_says_where_it_is_from(tmp_path: Path) -> None:
    price = planned(tmp_path).candidates[0].offering.price
    assert price is not None
    assert (price.how, price.sku, len(price.list)) == ("recorded", "LNXSHARED0000001", 12)
    assert price.as_of == datetime.now(UTC).date()


def test_a_volume_has_the_price_of_its_size_and_rate(tmp_path: Path) -> None:
    (candidate,) = planned(tmp_path, ", volume: {type: gp3, size: 100 GiB, iops: 6000}").candidates
    assert candidate.volume is not None
    assert candidate.volume.price is not None
    assert candidate.volume.price.amount_per_hour * 730 == pytest.approx(Decimal("27.52"), abs=Decimal("1e-9"))


def test_why_a_price_is_unknown_is_a_note_of_the_plan(tmp_path: Path) -> None:
    notes = planned(tmp_path, ", volume: {type: standard, size: 100 GiB}").quote.notes
    told = (
        "price unknown: aws/eu-central-1 standard 100 GiB, SKU VOLSTD0000000001: it is billed by the operation as well"
    )
    assert told in notes


def test_an_offering_that_the_region_does_not_sell_is_a_mistake(tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(STUDY.format(more="").replace("m7i.large", "m7i.largest"))
    said = cloudcmp("plan", tmp_path / "study.yaml")
    assert said.code == 2
    assert "unknown offering 'm7i.largest' in aws/eu-central-1" in said.err


@pytest.mark.parametrize("how", ["bundled", "published"])
def test_p13_nothing_is_rented_at_a_price_that_is_old_by_nature(how: str) -> None:
    today = date(2026, 11, 22)
    price = Price(Decimal("0.1"), "USD", "a library", today, how)
    sold = Candidate(0, "x", Offering("aws", "eu", "large", price=price), "aws")
    with pytest.raises(Refused, match="old by nature"):
        price_to_create(sold, "USD", today)
    fetched = replace(sold, offering=replace(sold.offering, price=replace(price, how="fetched")))
    assert price_to_create(fetched, "USD", today).per_hour == Decimal("0.1")


def test_a_list_of_last_month_leaves_the_price_unknown() -> None:
    sold = Candidate(0, "x", Offering("aws", "eu-central-1", "m7i.large"), "aws")
    found, lines = catalogue.price(sold, today=datetime.now(UTC).date() + timedelta(days=31))
    assert found.offering.price is None
    assert "31 days old" in lines[0]


def test_a_study_keeps_the_prices_of_machines_and_volumes(tmp_path: Path) -> None:
    plan = planned(tmp_path, ", volume: {type: gp3, size: 100 GiB}")
    kept = [(thing[2], price.sku) for thing, price in prices_of(plan)]
    assert kept == [("m7i.large", "LNXSHARED0000001"), ("gp3 100 GiB", "VOLGP30000000001")]


def test_prices_are_filtered_and_sorted() -> None:
    wanted = filters(provider="aws", vcpus="2-4", max_price="0.25 USD/h", sort="price")
    found = search(wanted).offerings
    assert [(one.offering.name, one.price.amount_per_hour) for one in found if one.price] == [
        ("m7i.large", Decimal("0.121")), ("m7i.xlarge", Decimal("0.242"))
    ]  # fmt: skip
    assert [one.offering.name for one in search(replace(wanted, pattern="*.xl*")).offerings] == ["m7i.xlarge"]
    windows = search(filters(provider="aws", system="windows", pattern="m7i.*arge")).offerings
    assert [(one.offering.name, one.why.partition(": ")[2]) for one in windows] == [
        ("m7i.large", ""), ("m7i.xlarge", "it is listed only as linux on-demand shared")
    ]  # fmt: skip


@pytest.mark.parametrize(
    "words",
    [
        ("--vcpus", "four"), ("--vcpus", "8-4"), ("--sort", "colour"), ("--os", "beos"), ("--purchase", "barter"),
        ("--max-price", "1 USD"), ("--provider", "awz"), ("--limit", "-1"),
    ],
)  # fmt: skip
def test_wrong_filters_are_told_in_one_line(
    words: tuple[str, str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _typed(monkeypatch, "list", "prices", *words) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_a_list_fits_a_terminal_and_is_data(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ("list", "prices", "--provider", "aws", "--region", "eu-central-1")
    monkeypatch.setenv("COLUMNS", "80")
    assert _typed(monkeypatch, *asked, "--limit", "2") == 0
    told = capsys.readouterr()
    assert max(map(len, told.out.splitlines())) <= 80
    assert "1 more: add a filter" in told.err
    assert _typed(monkeypatch, *asked, "--json") == 0
    rows: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["data"]["rows"]
    assert [(row["offering"], row["amount_per_hour"], row["sku"]) for row in rows][:1] == [
        ("m7i.large", "0.121", "LNXSHARED0000001")
    ]
    assert _typed(monkeypatch, *asked, "--csv") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("provider,region,offering,")
    assert len(lines) == 4


def test_a_fetched_file_is_told(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert _typed(monkeypatch, "fetch", "--from", str(ANSWERS / "aws.json"), "--as", "aws", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    (taken,) = document["data"]
    assert (taken["kind"], taken["how"], taken["dated"], taken["unknown"]) == ("aws", "recorded", "2026-11-20", 1)
    assert document["warnings"] == [
        "aws/eu-central-1 m7i.zero, SKU LNXZERO000000001: a price of zero is unknown, not free"
    ]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("fetch",), 2),
        (("fetch", "--from", "/none"), 2),
        (("fetch", "--from", "/none", "--as", "aws"), 2),
        (("fetch", "--from", __file__, "--as", "aws"), 2),
        (("fetch", "--from", __file__, "--as", "excel"), 2),
        (("fetch", "--from", __file__, "--as", "aws", "--as-of", "today"), 2),
        (("fetch", "aws", "--as-of", "2026-11-20"), 2),
        (("fetch", "aws"), 2),
    ],
)
def test_mistakes_of_fetch_are_one_line(
    words: tuple[str, ...], code: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _typed(monkeypatch, *words) == code
    assert len(capsys.readouterr().err.splitlines()) == 1


def _typed(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    import sys

    monkeypatch.setattr(sys, "argv", ["cloudcmp", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)


def test_volumes_of_other_types_stay_without_a_price() -> None:
    sold = Offering("aws", "eu-central-1", "m7i.large")
    found, lines = catalogue.price(Candidate(0, "x", sold, "aws", Volume("st1", 2**40)))
    assert found.offering.price is not None
    assert found.volume is not None
    assert found.volume.price is None
    assert len(lines) == 1


def test_a_later_list_of_commitments_hides_nothing_that_is_sold() -> None:
    """Amazon's savings plans are a list of their own, fetched last: neither sizes nor all types are in it."""
    before = catalogue.book_offerings("aws", "eu-central-1")
    row = PriceRow("aws", "eu-central-1", Item.INSTANCE, "m7i.large", Decimal("0.09"), "USD", Unit.HOUR, "linux",
                   Purchase.SAVINGS, term_months=12, plan="computesavingsplans no upfront")  # fmt: skip
    with PriceBook() as book:
        book.put(PriceList("aws", "plans", "fetched", time.time() + 60, "USD", "ef" * 32, (row,)))
    assert catalogue.book_offerings("aws", "eu-central-1") == before
    assert {"m7i.large", "m7i.xlarge"} <= {one.name for one in before if one.vcpus}
