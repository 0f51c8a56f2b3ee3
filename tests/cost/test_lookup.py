"""The price of one thing, or the one line that says why there is none."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from tests.cost.rows import collected

from cloudcmp.cost.bill import bill
from cloudcmp.cost.lookup import Lookup
from cloudcmp.cost.price_query import PriceQuery, UnknownPrice
from cloudcmp.cost.rates import rates
from cloudcmp.cost.sources import aws
from cloudcmp.model.bill import Use
from cloudcmp.model.offering import Price, Volume
from cloudcmp.model.price import Doubt, Item, PriceList, PriceRow, Purchase, Unit
from cloudcmp.store.prices import PriceBook

TODAY = date(2026, 11, 22)
NOW = datetime(2026, 11, 22, 12, tzinfo=UTC).timestamp()
ROW = PriceRow("aws", "eu", Item.INSTANCE, "large", Decimal("0.1"), "USD", Unit.HOUR, "linux", sku="S1")
LIST = PriceList("aws", "test list", "fetched", NOW, "USD", "a" * 64, ())
NOT_SOLD = "it is not sold in this region by the list of 2026-11-22 (test list)"
TWO = "SKU S1: it is listed at 2 prices: 0.1 USD for a h, 0.2 USD for a h"
FETCH = "cloudcmp fetch aws --region eu"
LICENCE = "no list has the price of windows on shared machines"


@pytest.fixture
def book(tmp_path: Path) -> Iterator[PriceBook]:
    with PriceBook(tmp_path / "prices.db") as made:
        yield made


def put(book: PriceBook, *rows: PriceRow, doubts: tuple[Doubt, ...] = (), **how: object) -> None:
    """A list of these rows; each is another one."""
    told = {"sha256": f"{len(book.lists()):064x}", "rows": rows, "doubts": doubts} | how
    book.put(replace(LIST, **told))  # type: ignore[arg-type]


def price(book: PriceBook, name: str = "large", currency: str = "", **machine_rows: object) -> Price | str:
    """The price of a machine in eu, or why there is none."""
    found = Lookup(book, TODAY, currency).machine(replace(PriceQuery("aws", "eu", name), **machine_rows))  # type: ignore[arg-type]
    return found.line if isinstance(found, UnknownPrice) else found


def test_the_one_price_is_found(book: PriceBook) -> None:
    put(book, ROW)
    found = price(book)
    assert isinstance(found, Price)
    assert (found.amount_per_hour, found.currency, found.as_of) == (Decimal("0.1"), "USD", TODAY)
    assert (found.source, found.how, found.sku, found.list) == ("test list", "fetched", "S1", "0" * 12)


def test_a_list_that_nobody_can_fetch_is_named_as_a_file(book: PriceBook) -> None:
    why = price(book, provider="vultr")
    assert str(why).endswith("no price list is at hand: write price: into the study, or name a list: cloudcmp fetch "
                        "--from FILE --as csv")  # fmt: skip


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ([replace(ROW, amount=Decimal("0.2")), ROW], TWO),
        ([replace(ROW, currency="EUR")], "SKU S1: its price is in EUR, not in USD"),
        ([replace(ROW, unit=Unit.GIB)], "SKU S1: GiB is no unit that it is rented by"),
        ([replace(ROW, starts=date(2027, 1, 1))], "SKU S1: its price holds from 2027-01-01 on, after today"),
        ([replace(ROW, system="windows")], "SKU unknown: it is listed only as windows on-demand shared"),
        ([replace(ROW, purchase=Purchase.SPOT)], "SKU unknown: no list at hand has on-demand prices there"),
        ([replace(ROW, tenancy="dedicated")], "SKU unknown: it is listed only as linux on-demand dedicated"),
        ([replace(ROW, name="other")], f"SKU unknown: {NOT_SOLD}"),
        ([replace(ROW, region="us")], f"SKU unknown: no price list at hand covers it there: {FETCH}"),
        ([], f"SKU unknown: no price list is at hand: {FETCH}"),
        ([replace(ROW, tier_from=Decimal(100))], "SKU S1: its price holds from 100 on only"),
        ([replace(ROW, tier_until=Decimal(100))], "SKU S1: its price holds up to 100 only"),
        ([replace(ROW, upfront=Decimal(5))], "SKU S1: 5 USD more are paid upfront"),
        ([replace(ROW, amount=Decimal(0), upfront=Decimal(5))], "SKU S1: its hourly price is zero"),
    ],
)  # fmt: skip
def test_why_a_price_is_unknown(book: PriceBook, rows: list[PriceRow], why: str) -> None:
    put(book, *rows)
    assert price(book, currency="USD") == f"aws/eu large, {why}"


def test_identical_rows_are_one(book: PriceBook) -> None:
    put(book, ROW, ROW, replace(ROW, sku="S2"))
    assert isinstance(price(book), Price)


def test_the_later_start_of_one_sku_ends_the_earlier_one(book: PriceBook) -> None:
    put(book, replace(ROW, starts=date(2026, 1, 1)), replace(ROW, starts=date(2026, 6, 1), amount=Decimal("0.3")))
    found = price(book)
    assert isinstance(found, Price)
    assert found.amount_per_hour == Decimal("0.3")


def test_tomorrow_s_price_does_not_hold_today(book: PriceBook) -> None:
    old, new = replace(ROW, starts=date(2026, 1, 1)), replace(ROW, starts=date(2026, 11, 23), amount=Decimal("0.05"))
    put(book, old, new)
    found = price(book)
    assert isinstance(found, Price)
    assert found.amount_per_hour == Decimal("0.1")


def test_a_doubt_about_the_very_thing_makes_it_unknown(book: PriceBook) -> None:
    put(book, ROW, doubts=(Doubt("aws", "eu", "S9", "large", "odd", Item.INSTANCE, "linux"),))
    assert price(book) == "aws/eu large, SKU S9: odd"


def test_a_doubt_about_another_system_does_not(book: PriceBook) -> None:
    put(book, ROW, doubts=(Doubt("aws", "eu", "S9", "large", "odd", Item.INSTANCE, "windows"),))
    assert isinstance(price(book), Price)
    assert price(book, system="windows") == "aws/eu large, SKU S9: odd"


@pytest.mark.parametrize(
    ("age_days", "why"),
    [(30, None), (31, "its price is 31 days old"), (-1, None), (-3, "its list is dated 2026-11-25, after today")],
)
def test_a_price_is_of_these_days(book: PriceBook, age_days: int, why: str | None) -> None:
    put(book, ROW, fetched_at=NOW - age_days * 86400)
    found = price(book)
    assert isinstance(found, Price) if why is None else why in str(found)


@pytest.mark.parametrize(
    ("published", "why"),
    [
        (date(2026, 6, 1), None),
        (date(2025, 11, 1), "386 days old"),
        (date(2027, 1, 1), "its list is dated 2027-01-01, after today"),
    ],
)
def test_a_fetched_list_that_is_an_old_copy_is_not_of_today(book: PriceBook, published: date, why: str | None) -> None:
    put(book, ROW, published=published)
    found = price(book)
    if why is None:
        assert isinstance(found, Price)
        assert found.as_of == TODAY
    else:
        assert why in str(found)


def test_no_older_list_stands_in_for_one_that_is_too_old(book: PriceBook) -> None:
    put(book, ROW, fetched_at=NOW - 60 * 86400)
    put(book, replace(ROW, amount=Decimal("0.2")), fetched_at=NOW - 40 * 86400)
    put(book, replace(ROW, amount=Decimal("0.3")), how="bundled", published=date(2020, 1, 1))
    assert "40 days old" in str(price(book))


def test_a_recorded_list_has_its_own_date_or_none(book: PriceBook) -> None:
    put(book, ROW, how="recorded")
    assert price(book) == "aws/eu large, SKU S1: its list has no date"
    put(book, ROW, how="recorded", published=date(2026, 11, 1))
    found = price(book)
    assert isinstance(found, Price)
    assert found.as_of == date(2026, 11, 1)


def test_what_is_bundled_is_shown_as_such(book: PriceBook) -> None:
    put(book, ROW, how="bundled", published=date(2020, 1, 1))
    found = price(book)
    assert isinstance(found, Price)
    assert (found.how, found.as_of) == ("bundled", date(2020, 1, 1))


def test_the_users_own_word_goes_first_where_it_has_any(book: PriceBook) -> None:
    put(book, replace(ROW, amount=Decimal("0.05")), how="given", fetched_at=NOW - 86400)
    put(book, ROW, replace(ROW, name="small"))
    own, listed = price(book), price(book, "small")
    assert isinstance(own, Price)
    assert isinstance(listed, Price)
    assert (own.amount_per_hour, listed.amount_per_hour) == (Decimal("0.05"), Decimal("0.1"))


def test_google_machines_are_the_sum_of_their_parts(book: PriceBook) -> None:
    core = PriceRow("gcp", "eu", Item.VCPU, "n2", Decimal("0.03"), "USD", Unit.HOUR, sku="C")
    ram = replace(core, item=Item.MEMORY, amount=Decimal("0.004"), unit=Unit.GIB_HOUR, sku="R")
    custom = [replace(one, name="n2 custom", amount=one.amount * 2) for one in (core, ram)]
    more = replace(ram, name="n2 custom extended", amount=Decimal("0.01"))
    put(book, core, ram, *custom, more)

    def told(name: str, **machine_rows: object) -> Decimal | str:
        found = Lookup(book, TODAY).machine(replace(PriceQuery("gcp", "eu", name), **machine_rows))  # type: ignore[arg-type]
        return found.why if isinstance(found, UnknownPrice) else found.amount_per_hour

    assert told("n2-standard-4") == 4 * Decimal("0.03") + 16 * Decimal("0.004")
    assert told("n2-custom-4-8192") == 4 * Decimal("0.06") + 8 * Decimal("0.008")
    assert told("n2-custom-2-20480-ext") == 2 * Decimal("0.06") + 16 * Decimal("0.008") + 4 * Decimal("0.01")
    assert told("n2-standard-4", system="windows") == LICENCE
    assert told("n2-custom-2-20480") == "its name does not show its billed processors and memory"
    assert told("c3-standard-4") == NOT_SOLD


@pytest.fixture
def amazon(book: PriceBook) -> Lookup:
    """A look into the answer of Amazon that is kept here."""
    with (Path(__file__).parent / "answers" / "aws.csv").open("rb") as file:
        book.put(collected(aws.read(file), LIST))
    return Lookup(book, TODAY)


@pytest.mark.parametrize(
    ("volume", "month"),
    [
        (Volume("gp3", 100 * 2**30), "9.52"),
        (Volume("gp3", 100 * 2**30, 3000), "9.52"),
        (Volume("gp3", 100 * 2**30, 6000), "27.52"),
        (Volume("gp3", 1), "0.0952"),
        (Volume("io2", 100 * 2**30, 40000), "2947.70"),  # 14.9 + 32000 x 0.078 + 8000 x 0.0546
        (Volume("io2", 100 * 2**30), "it is billed by its rate, which is not given: write iops"),
        (Volume("standard", 100 * 2**30), "it is billed by the operation as well"),
        (Volume("gp9", 2**30), NOT_SOLD),
        (Volume("gp3"), "its size is unknown"),
    ],
)
def test_volumes_cost_their_size_and_their_rate(amazon: Lookup, volume: Volume, month: str) -> None:
    found = amazon.volume("aws", "eu-central-1", volume)
    if isinstance(found, UnknownPrice):
        assert found.why == month
    else:
        assert found.amount_per_hour * 730 == pytest.approx(Decimal(month), abs=Decimal("1e-9"))


def test_an_address_costs_its_hours(amazon: Lookup) -> None:
    found = amazon.address("aws", "eu-central-1")
    assert isinstance(found, Price)
    assert found.amount_per_hour == Decimal("0.005")


def test_a_disk_that_is_sold_by_its_size_costs_the_next_larger_one(book: PriceBook) -> None:
    row = PriceRow("azure", "eu", Item.VOLUME, "Premium_LRS", Decimal("7.30"), "USD", Unit.MONTH)
    put(book, replace(row, tier_from=Decimal(0), tier_until=Decimal(32)),
        replace(row, tier_from=Decimal(32), tier_until=Decimal(64), amount=Decimal("14.60")))  # fmt: skip
    for gib, hour in ((32, "0.01"), (33, "0.02"), (64, "0.02")):
        found = Lookup(book, TODAY).volume("azure", "eu", Volume("Premium_LRS", gib * 2**30))
        assert isinstance(found, Price)
        assert found.amount_per_hour == Decimal(hour)
    found = Lookup(book, TODAY).volume("azure", "eu", Volume("Premium_LRS", 65 * 2**30))
    assert isinstance(found, UnknownPrice)
    listed = "there are those for above 0 up to 32 GiB, above 32 up to 64 GiB"
    assert found.why == f"no disk of its size is listed: {listed}"


def test_one_size_of_a_disk_in_the_list_prices_just_what_it_is_the_next_larger_one_of(book: PriceBook) -> None:
    row = PriceRow("azure", "eu", Item.VOLUME, "Premium_LRS", Decimal("14.60"), "USD", Unit.MONTH)
    put(book, replace(row, tier_from=Decimal(32), tier_until=Decimal(64)))
    look = Lookup(book, TODAY)
    for gib, known in ((32, False), (33, True), (64, True), (65, False)):
        size = gib * 2**30
        found = look.volume("azure", "eu", Volume("Premium_LRS", size))
        use = Use("azure", "eu", Item.VOLUME, "Premium_LRS", size=Decimal(size), periods_s=(Decimal(730 * 3600),))
        rows = book.rows(book.lists("azure")[0], "azure", "eu", Item.VOLUME)
        rate_of = rates([replace(LIST, provider="azure", rows=rows)], TODAY)
        total = bill([use], rate_of).total
        assert (isinstance(found, Price), total is not None) == (known, known)
        if known:
            assert total is not None
            assert total.amount == Decimal("14.60")
        else:
            assert rate_of(use).why == "no disk of its size is listed: there are those for above 32 up to 64 GiB"


DISK = PriceRow("aws", "eu", Item.VOLUME, "fast", Decimal("0.1"), "USD", Unit.GIB_MONTH, sku="V")


@pytest.mark.parametrize("item", [Item.IOPS, Item.THROUGHPUT, Item.IO])
def test_a_rate_whose_line_is_in_doubt_is_not_no_rate(book: PriceBook, item: Item) -> None:
    put(book, DISK, doubts=(Doubt("aws", "eu", "P", "other", "its price is zero", item),))
    assert isinstance(Lookup(book, TODAY).volume("aws", "eu", Volume("fast", 2**30)), Price)
    put(book, DISK, doubts=(Doubt("aws", "eu", "P", "fast", "its price is zero", item),), fetched_at=NOW + 1)
    for rate in (None, 3000):
        found = Lookup(book, TODAY).volume("aws", "eu", Volume("fast", 2**30, rate))
        assert isinstance(found, UnknownPrice)
        assert (found.why, found.sku) == ("its price is zero", "P")


def test_a_rate_in_doubt_in_a_list_of_its_own_counts_too(book: PriceBook) -> None:
    put(book, DISK)
    put(book, doubts=(Doubt("aws", "eu", "P", "fast", "its price is zero", Item.IOPS),), fetched_at=NOW + 1)
    found = Lookup(book, TODAY).volume("aws", "eu", Volume("fast", 2**30))
    assert isinstance(found, UnknownPrice)
    assert found.why == "its price is zero"


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"tier_until": Decimal(100)}, "its price holds up to 100 only"),
        ({"tier_from": Decimal(1000)}, "its price holds from 1000 on only"),
        ({"upfront": Decimal(50)}, "50 USD more are paid upfront"),
        ({"tier_until": Decimal(500)}, ""),
    ],
)
def test_a_volume_is_within_the_tier_of_its_price(book: PriceBook, more: dict[str, Decimal], why: str) -> None:
    put(book, replace(DISK, **more))  # type: ignore[arg-type]
    found = Lookup(book, TODAY).volume("aws", "eu", Volume("fast", 500 * 2**30))
    assert (found.why if isinstance(found, UnknownPrice) else "") == why


CORE = PriceRow("gcp", "eu", Item.VCPU, "n2", Decimal("0.03"), "USD", Unit.HOUR, sku="C")
RAM = replace(CORE, item=Item.MEMORY, amount=Decimal("0.004"), unit=Unit.GIB_HOUR, sku="R")
OWN = replace(CORE, item=Item.INSTANCE, name="n2-standard-4", amount=Decimal("0.5"), system="linux", sku="S1")


@pytest.mark.parametrize(
    ("rows", "doubts", "age_days", "why"),
    [
        ((OWN, replace(OWN, amount=Decimal("0.6"))), (), 0, "it is listed at 2 prices"),
        ((), (Doubt("gcp", "eu", "", OWN.name, "no amount", Item.INSTANCE),), 0, "no amount"),
        ((OWN,), (), 60, "its price is 60 days old"),
        ((replace(OWN, name="n2-standard-8"),), (), 60, ""),
    ],
)
def test_the_users_own_word_is_never_made_up_of_parts(
    book: PriceBook, rows: tuple[PriceRow, ...], doubts: tuple[Doubt, ...], age_days: int, why: str
) -> None:
    put(book, CORE, RAM)
    put(book, *rows, doubts=doubts, how="given", fetched_at=NOW - age_days * 86400)
    found = Lookup(book, TODAY).machine(PriceQuery("gcp", "eu", OWN.name))
    assert isinstance(found, UnknownPrice) == bool(why)
    assert why in (found.why if isinstance(found, UnknownPrice) else "")


def test_a_sum_is_no_surer_and_no_younger_than_its_parts(book: PriceBook) -> None:
    put(book, CORE, how="given", published=date(2026, 11, 1))
    put(book, RAM, how="bundled", source="old list", published=date(2026, 11, 5))
    found = Lookup(book, TODAY).machine(PriceQuery("gcp", "eu", "n2-standard-4"))
    assert isinstance(found, Price)
    assert (found.how, found.as_of, found.source) == ("bundled", date(2026, 11, 1), "old list")


HELD = replace(ROW, purchase=Purchase.RESERVED, term_months=12, plan="none")


def test_commitments_are_looked_up_by_the_same_rules(book: PriceBook) -> None:
    def told() -> list[tuple[int, str, Decimal]]:
        rows = Lookup(book, TODAY, "USD").commitments(PriceQuery("aws", "eu", "large", purchase=Purchase.RESERVED))
        return [(row.term_months, row.plan, row.amount) for row in rows]

    longer, paid = replace(HELD, term_months=36), replace(HELD, plan="all", amount=Decimal(0), upfront=Decimal(500))
    later = replace(HELD, amount=Decimal("0.01"), starts=date(2027, 6, 1))
    put(book, HELD, later, longer, replace(longer, amount=Decimal("0.02")), paid, replace(HELD, currency="EUR"))
    assert told() == [(12, "all", Decimal(0)), (12, "none", Decimal("0.1"))]  # two prices for 36 months are none
    put(book, replace(HELD, name="other"), how="given")  # one that has it not is passed over
    assert len(told()) == 2
    doubt = Doubt("aws", "eu", "S9", "large", "odd", Item.INSTANCE, "linux", Purchase.RESERVED)
    put(book, HELD, doubts=(doubt,), fetched_at=NOW + 1)
    assert told() == []
    put(book, HELD, fetched_at=NOW - 60 * 86400 + 2, how="given")  # the user's own goes first, and is too old
    assert told() == []
