"""Who is asked what is sold, how those that are not are told, and sizes that only another list knows."""

import sys
import time
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from cloudcmp.app import concurrent
from cloudcmp.app.list_ import inventory
from cloudcmp.app.offerings.search import SORTS, Filters, filters, search
from cloudcmp.errors import BadCredentials, NoCredentials, UserMistake
from cloudcmp.model.inventory import PricedOffering, ProviderOfferings
from cloudcmp.model.offering import Offering
from cloudcmp.model.price import Doubt, Item, PriceList, PriceRow, Purchase, TypeFacts, Unit
from cloudcmp.provider.credential_signs import signs_of
from cloudcmp.report import list_tables, offerings
from cloudcmp.store.prices import PriceBook

NOW = time.time()
TODAY = datetime.fromtimestamp(NOW, UTC).date()


def row(name: str, purchase: Purchase = Purchase.ON_DEMAND, amount: str = "0.1", **more: object) -> PriceRow:
    plain = PriceRow("aws", "us-east-1", Item.INSTANCE, name, Decimal(amount), "USD", Unit.HOUR, "linux", purchase)
    return replace(plain, **more)  # type: ignore[arg-type]


def put(
    digest: str, rows: tuple[PriceRow, ...], sold: tuple[TypeFacts, ...] = (), doubts: tuple[Doubt, ...] = ()
) -> None:
    with PriceBook() as book:
        head = PriceList("aws", "a list", "fetched", NOW + int(digest), "USD", digest * 64, rows, published=TODAY)
        book.put(replace(head, sold=sold, doubts=doubts))


def sales(wanted: Filters, **how: Any) -> tuple[tuple[PricedOffering, ...], int, tuple[str, ...]]:
    """What a search finds: the offerings, how many there are, and a line for what it leaves out."""
    found = search(wanted, **how)
    return found.offerings, found.count, tuple(offerings.left_out_lines(found))


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An empty home, and a cloud that is never asked."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(concurrent, "signs_of", lambda *_: False)


def test_without_a_sign_of_credentials_nobody_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(name: str) -> None:
        raise AssertionError(f"{name} was made")

    monkeypatch.setattr(concurrent, "make", never)
    told = concurrent.offerings_by_provider(["gcp", "openstack"])
    assert offerings.unavailable_lines(told) == ("left out, no credentials: gcp, openstack; see: cloudcmp check",)


def test_each_table_asks_once_and_tells_whom_it_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    def answers(names: list[str], region: str | None, say: concurrent.Say) -> dict[str, ProviderOfferings]:
        say("asking")
        return {name: ProviderOfferings(why="no", no_credentials=True) for name in names}

    monkeypatch.setattr(concurrent, "offerings_by_provider", answers)
    first: list[str] = []
    second: list[str] = []
    for kind, said in (("offerings", first), ("prices", second), ("providers", second)):
        left_out = list_tables.notes(inventory(kind, None, said.append))
        assert bool(left_out) == (kind != "providers")
    assert (first, second) == (["asking"], ["asking"] * 2)


def test_they_are_asked_at_once_and_whoever_is_slow_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    class Slow:
        def offerings(self, region: str | None) -> tuple[Offering, ...]:
            time.sleep(0.3)
            return (Offering("slow", region or "", "one", None, None, None),)

    monkeypatch.setattr(concurrent, "signs_of", lambda *_: True)
    monkeypatch.setattr(concurrent, "make", lambda _: Slow())
    monkeypatch.setattr(concurrent, "TELL_AFTER_S", 0.01)
    said: list[str] = []
    begun = time.monotonic()
    told = concurrent.offerings_by_provider(["a", "b", "c", "d"], "x", said.append)
    assert time.monotonic() - begun < 1.1  # one after the other: 1.2 s
    assert said == ["waiting for the offerings of a, b, c, d"]
    assert all(len(one.offerings) == 1 for one in told.values())


def test_expired_credentials_and_other_faults_have_a_line_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    faults = {
        "a": NoCredentials.at("a", "none", ""),
        "b": BadCredentials.at("b", "they are expired", "renew them"),
        "c": UserMistake.at("c", "no endpoint is named", "name one"),
        "d": NoCredentials.at("d", "none", ""),
    }

    def make(name: str) -> None:
        raise faults[name]

    monkeypatch.setattr(concurrent, "signs_of", lambda *_: True)
    monkeypatch.setattr(concurrent, "make", make)
    assert offerings.unavailable_lines(concurrent.offerings_by_provider(faults)) == (
        "left out, no credentials: a, d; see: cloudcmp check",
        "b is left out: they are expired; renew them",
        "c is left out: no endpoint is named; name one",
    )


def test_openstack_is_asked_where_there_is_a_sign_of_it(tmp_path: Path) -> None:
    assert not signs_of("ec2", {}, tmp_path)
    assert signs_of("openstack", {"OS_AUTH_URL": "x"}, tmp_path)
    (tmp_path / ".config/openstack").mkdir(parents=True)
    assert signs_of("rackspace", {}, tmp_path)


def test_offerings_of_unknown_size_are_counted_and_not_lost_in_silence() -> None:
    put("1", (row("a.one"), row("b.two")))
    found, _, lines = sales(filters(provider="aws", region="us-east-1", vcpus="2"))
    assert found == ()
    assert lines[0] == "2 offerings of unknown size were left out"


def test_a_size_is_taken_from_another_list_where_that_is_sure() -> None:
    put(
        "1",
        (row("a.one"), row("b.two")),
        (TypeFacts("aws", "us-east-1", "a.one", 2.0, 8.0), TypeFacts("aws", "us-east-1", "b.two", 2.0)),
    )
    put("2", (row("a.one"), row("b.two")), (TypeFacts("aws", "us-east-1", "b.two", 4.0),))
    put("3", (row("a.one"), row("b.two")))
    found, _, lines = sales(filters(provider="aws", region="us-east-1", vcpus="2"))
    assert [(one.offering.name, one.offering.vcpus, one.offering.memory_gib) for one in found] == [("a.one", 2.0, 8.0)]
    assert lines[0] == "1 offerings of unknown size were left out"  # two lists differ


def test_reservations_are_shown_with_their_term_and_what_is_paid_first() -> None:
    year = row("a.one", Purchase.RESERVED, "0.05", term_months=12, plan="no upfront")
    three = row("a.one", Purchase.RESERVED, "0", term_months=36, upfront=Decimal("262.8"), plan="all upfront")
    put("1", (row("a.one"), year, three))
    wanted = filters(provider="aws", purchase="reserved", sort="price")
    found, *_ = sales(wanted)
    assert [(one.term_months, one.upfront, one.price and one.price.amount_per_hour) for one in found] == [
        (36, Decimal("262.8"), Decimal("0.01")),  # 262.8 / (36 x 730)
        (12, Decimal(0), Decimal("0.05")),
    ]
    columns, rows = offerings.table("prices", search(wanted))
    assert columns[-1] == "term, upfront"
    assert rows[0][-1].startswith("36 months, 262.8")
    assert [one["term_months"] for one in offerings.records(search(wanted))] == [36, 12]


def test_a_reservation_in_doubt_or_of_an_old_list_has_no_price() -> None:
    year = row("a.one", Purchase.RESERVED, "0.05", term_months=12)
    put("1", (row("a.one"), year), doubts=(Doubt("aws", "us-east-1", "S", "a.one", "two lines differ"),))
    (one,), *_ = sales(filters(provider="aws", purchase="reserved"))
    assert one.price is None
    assert "two lines differ" in one.why


def test_what_is_not_sold_reserved_is_left_out_and_counted() -> None:
    year = row("a.one", Purchase.RESERVED, "0.05", term_months=12)
    free = replace(year, name="c.zero", amount=Decimal(0), sku="Z")
    put("1", (row("a.one"), row("b.two"), row("c.zero"), row("d.four"), year, replace(year, term_months=36), free))
    wanted = filters(provider="aws", purchase="reserved")
    found, count, lines = sales(wanted)
    assert [(one.offering.name, one.price is None) for one in found] == [
        ("a.one", False), ("a.one", False), ("c.zero", True),
    ]  # fmt: skip
    assert (
        "no reservation price that applies today" in found[-1].why
    )  # zero is unknown, which is not the same as not sold
    assert (count, lines[0]) == (3, "2 offerings are not sold reserved with linux")
    each, count, lines = sales(wanted, each_once=True)
    assert ([one.offering.name for one in each], count) == (["a.one"], 1)
    assert lines[1] == "1 offerings were left out: no price reserved with linux is known"


def test_a_list_of_the_user_s_own_does_not_say_what_is_not_sold() -> None:
    year = row("a.one", Purchase.RESERVED, "0.05", term_months=12)
    rows = (row("x.own"), replace(year, name="x.own"))
    own = PriceList("aws", "ours", "given", NOW, "USD", "9" * 64, rows, published=TODAY)
    with PriceBook() as book:
        book.put(own)
    put("1", (row("a.one"), row("b.two")))
    found, *_ = sales(filters(provider="aws", purchase="reserved"))
    unknown = {one.offering.name: one.why for one in found if one.price is None}
    assert set(unknown) == {"a.one", "b.two"}
    assert "no known list has a reservation of it" in unknown["a.one"]
    put("2", (row("a.one"), row("b.two"), year))
    found, _, lines = sales(filters(provider="aws", purchase="reserved"))
    assert {one.offering.name for one in found if one.price} == {"a.one", "x.own"}
    assert lines[0] == "1 offerings are not sold reserved with linux"


@pytest.mark.parametrize("words", [{"purchase": "reserved"}, {"purchase": "spot"}, {"system": "windows"}])
def test_planted_prices_are_of_one_way_to_buy(words: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(concurrent, "signs_of", lambda name, *_: name == "simulated")
    some, *_ = sales(filters(provider="simulated"))
    assert some
    assert all(one.price for one in some)
    for most in (0, 50):
        found, count, lines = sales(filters(provider="simulated", **words), most=most)  # type: ignore[arg-type]
        assert (found, count) == ((), 0)
        assert lines[0].startswith(f"{len(some)} offerings are not sold")


@pytest.mark.parametrize("sort", SORTS)
@pytest.mark.parametrize("more", [{}, {"purchase": "spot"}, {"purchase": "reserved"}, {"max_price": "0.3 USD/h"}])
def test_the_first_are_the_first_of_all(sort: str, more: dict[str, str]) -> None:
    names = [f"{kind}.{size}" for kind in "cab" for size in ("xl", "l", "m")]
    rows = [row(name, way, f"0.{number + 1}", term_months=12 if way is Purchase.RESERVED else 0)
            for number, name in enumerate(names)
            for way in (Purchase.ON_DEMAND, Purchase.SPOT, Purchase.RESERVED)]  # fmt: skip
    sold = [
        TypeFacts("aws", "us-east-1", name, float(number % 4), float(number % 3)) for number, name in enumerate(names)
    ]
    put("1", tuple(rows), tuple(sold))
    wanted = filters(provider="aws", sort=sort, **more)  # type: ignore[arg-type]
    whole, count, _ = sales(wanted)
    assert count == len(whole) > 2
    for most in (1, 2, len(whole), 100):
        assert sales(wanted, most=most)[:2] == (whole[:most], count)


def test_prices_are_looked_up_of_what_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    put("1", tuple(row(f"a.{number:03}") for number in range(200)))
    looked: list[str | None] = []
    rows = PriceBook.rows

    def counted(book: PriceBook, *what: object) -> tuple[PriceRow, ...]:
        looked.append(str(what[4]) if len(what) > 4 else None)
        return rows(book, *what)  # type: ignore[arg-type]

    monkeypatch.setattr(PriceBook, "rows", counted)
    found, count, _ = sales(filters(provider="aws", region="us-east-1"), most=3)
    assert (len(found), count) == (3, 200)
    assert set(looked) == {"a.000", "a.001", "a.002"}


@pytest.mark.parametrize(("words", "said"), [
    ({"sort": "love"}, "known are name, region, vcpus, memory, price"),
    ({"pattern": "["}, "has a [ without its ]"),
    ({"purchase": "bogus"}, "known are on-demand, spot, reserved"),
])  # fmt: skip
def test_words_that_are_none_are_told_in_a_line(words: dict[str, str], said: str) -> None:
    with pytest.raises(UserMistake) as told:
        filters(**words)  # type: ignore[arg-type]
    assert said in str(told.value)
    assert "see '" not in str(told.value)


@pytest.mark.parametrize("pattern", ["m7[ai].*", "m7[!ai].*", "[]]x", "m*"])
def test_whole_patterns_are_taken(pattern: str) -> None:
    assert filters(pattern=pattern).pattern == pattern


def test_a_cloud_that_is_left_out_loads_no_library() -> None:
    before = set(sys.modules)
    concurrent.offerings_by_provider(["gcp", "azure", "openstack"])
    assert not {one.split(".")[0] for one in set(sys.modules) - before} & {"google", "azure", "openstack"}
