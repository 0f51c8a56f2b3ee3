"""Tables with one row for each offering: names of columns, prices in doubt, and what is no such table."""

import math
from pathlib import Path

import pytest

from cloudcmp.errors import UserMistake
from cloudcmp.model.market import COST, Market, Numbers, OfferKey, Texts
from cloudcmp.model.price import Purchase
from cloudcmp.store.offer_table import is_offer_table, read_offers


def read(tmp_path: Path, text: str, purchase: Purchase = Purchase.ON_DEMAND) -> Market:
    path = tmp_path / "table.csv"
    path.write_text(text, encoding="utf-8")
    return read_offers(path, purchase)


def values(market: Market, name: str) -> list[float]:
    column = market.columns[name]
    assert isinstance(column, Numbers)
    return column.value.tolist()


TABLE = """vendor,instance_type,price_region,usd_per_hour,memory_mib,arch,stressng_1,stressng_date,status
aws,m7i.large,us-east-1,0.1,8192,X86_64,2900,2025-03-01,ACTIVE
aws,m7g.large,us-east-1,0.08,8192,ARM64,2100.5,2024-01-02,ACTIVE
aws,old.large,us-east-1,0.01,8192,X86_64,9999,2024-01-02,INACTIVE
"""


def test_columns_are_known_by_their_usual_names(tmp_path: Path) -> None:
    sold = read(tmp_path, TABLE)
    assert sold.keys == (OfferKey("aws", "us-east-1", "m7i.large"), OfferKey("aws", "us-east-1", "m7g.large"))
    assert sold.currency == "USD"
    assert values(sold, COST) == [0.1, 0.08]
    assert values(sold, "memory_gib") == [8, 8]
    assert sold.columns["arch"] == Texts("arch", ("X86_64", "ARM64"), "table.csv")
    speed = sold.columns["stressng_1"]
    assert isinstance(speed, Numbers)
    assert speed.is_measured
    assert speed.day is not None
    assert speed.day.tolist() == [739311.0, 738887.0]  # 2025-03-01 and 2024-01-02
    assert sold.notes == ("table.csv: 1 offerings are inactive and left out",)


def test_a_free_or_negative_price_is_unknown(tmp_path: Path) -> None:
    sold = read(tmp_path, "offering,price_eur_per_hour\na,0.0\nb,-1\nc,0.5\nd,\n")
    assert [math.isnan(one) for one in values(sold, COST)] == [True, True, False, True]
    assert sold.currency == "EUR"
    assert sold.notes == ("table.csv: 2 prices are zero or no number: they count as unknown, not as free",)


def test_two_prices_of_one_offering_are_in_doubt(tmp_path: Path) -> None:
    sold = read(tmp_path, "offering,region,usd_per_hour\na,n,1\na,n,2\nb,n,3\nb,n,3\n")
    assert math.isnan(values(sold, COST)[0])
    assert values(sold, COST)[1] == 3
    assert any("1 offerings have two prices" in one for one in sold.notes)
    assert any("2 rows repeat" in one for one in sold.notes)


@pytest.mark.parametrize(("purchase", "price"), [(Purchase.ON_DEMAND, 1.0), (Purchase.SPOT, 0.3)])
def test_only_prices_of_the_way_to_buy_count(tmp_path: Path, purchase: Purchase, price: float) -> None:
    sold = read(tmp_path, "provider,offering,usd_per_hour,kind\nx,a,1,ondemand\nx,a,0.3,spot\n", purchase)
    assert values(sold, COST) == [price]


def test_a_column_with_any_word_is_a_text(tmp_path: Path) -> None:
    sold = read(tmp_path, "offering,latency,speed\na,12 ms,5\nb,3,\n")
    assert isinstance(sold.columns["latency"], Texts)
    assert values(sold, "speed")[0] == 5
    assert math.isnan(values(sold, "speed")[1])


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("speed,price\n1,2\n", "no column names the offering"),
        ("offering,speed\n", "no rows"),
        ("offering,usd_per_hour,eur_per_hour\na,1,1\n", "two columns of prices"),
        ("offering,kind,usd_per_hour\na,spot,1\n", "no row names an offering"),
        ("offering,Speed,speed\na,1,1\n", "but for upper case"),
        ("offering,speed\na,1,2\n", "3 cells in a row, and 2 columns"),
    ],
)
def test_what_is_no_such_table_is_told_in_one_line(tmp_path: Path, text: str, what: str) -> None:
    with pytest.raises(UserMistake, match=what) as raised:
        read(tmp_path, text)
    assert all("\n" not in one.line() for one in raised.value.faults)


def test_a_tidy_table_is_another_kind(tmp_path: Path) -> None:
    path = tmp_path / "tidy.csv"
    path.write_text("offering,metric,unit,value\na,speed,op/s,1\n", encoding="utf-8")
    assert not is_offer_table(path)
    path.write_text(TABLE, encoding="utf-8")
    assert is_offer_table(path)


def offers(tmp_path: Path, text: str) -> str:
    path = tmp_path / "offers.csv"
    path.write_text(text, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("words", "bought"),
    [
        (("OnDemand", "reserved-3y"), {"a"}),
        (("on_demand", "Preemptible"), {"a"}),
        (("pay as you go", "spot"), {"a"}),
        (("", "Spot"), {"a"}),
    ],
)
def test_ways_to_buy_have_many_spellings(tmp_path: Path, words: tuple[str, str], bought: set[str]) -> None:
    path = offers(tmp_path, f"offering,kind,usd_per_hour\na,{words[0]},0.10\nb,{words[1]},0.03\n")
    assert {one.name for one in read_offers(Path(path)).keys} == bought


def test_an_unknown_way_to_buy_is_a_mistake_and_another_kind_is_none(tmp_path: Path) -> None:
    path = offers(tmp_path, "offering,kind,usd_per_hour\na,ondemand,0.10\nb,haggled,0.03\n")
    with pytest.raises(UserMistake, match="'haggled' in the column 'kind' is no known way to buy"):
        read_offers(Path(path))
    path = offers(tmp_path, "offering,kind,usd_per_hour\na,vm,0.10\nb,container,0.03\n")
    assert len(read_offers(Path(path)).keys) == 2


def test_prices_that_do_not_say_how_they_are_bought_are_of_machines_on_demand(tmp_path: Path) -> None:
    path = Path(offers(tmp_path, "offering,usd_per_hour,speed\na,0.10,5\n"))
    assert COST in read_offers(path).columns
    spot = read_offers(path, Purchase.SPOT)
    assert (COST in spot.columns, spot.currency) == (False, "")
    assert "do not say that they are spot ones" in spot.notes[0]


def test_a_number_is_a_measurement_unless_its_name_is_that_of_a_fact(tmp_path: Path) -> None:
    names = (
        "vcpus",
        "memory_gib",
        "lscpu_cpus",
        "max_mhz",
        "storage_gb",
        "speed",
        "cpu_score",
        "openssl_sha256_16k_bps",
    )
    path = offers(tmp_path, f"offering,{','.join(names)}\na,{','.join('12345678')}\n")
    columns = read_offers(Path(path)).columns
    assert {name for name in names if getattr(columns[name], "is_measured", None)} == {
        "speed", "cpu_score", "openssl_sha256_16k_bps",
    }  # fmt: skip


def test_columns_may_be_separated_by_semicolons(tmp_path: Path) -> None:
    path = Path(offers(tmp_path, "MACHINE_TYPE;CPU;COREMARK_SCORE\nn2-standard-2 ;Ice Lake ;34735 \n"))
    assert is_offer_table(path)
    assert values(read_offers(path), "coremark_score") == [34735.0]
