"""The prices of published documents as dated lists, and what their text says of them."""

from datetime import date
from decimal import Decimal

import pytest

from cloudcmp.analysis.published import NO_CURRENCY, Verdict, price_lists, recompute
from cloudcmp.app.plan import plan_text
from cloudcmp.errors import Refused, UserMistake
from cloudcmp.model.offering import Offering, Price
from cloudcmp.model.plan import Candidate
from cloudcmp.model.price import Item, Unit
from cloudcmp.provision import price_to_create
from cloudcmp.published import documents, load

PRICED = [name for name in documents() if load(name).catalogues]
CLOUDCMP, RODAMILANS, DEVAL = (price_lists(load(name)) for name in ("cloudcmp-2010", "rodamilans-2014", "deval-2017"))


def test_table_3_of_cloudcmp() -> None:
    (told,) = CLOUDCMP
    assert (told.how, told.published, told.currency) == ("published", date(2010, 5, 31), "USD")
    assert len(told.rows) == 14
    cores = {one.name: one.vcpus for one in told.sold}
    assert [(row.name, row.amount, cores[row.name]) for row in told.rows if row.provider == "C4"] == [
        ("C4.1", Decimal("0.12"), 1),
        ("C4.2", Decimal("0.24"), 2),
        ("C4.3", Decimal("0.48"), 4),
        ("C4.4", Decimal("0.96"), 8),
    ]
    assert cores["C1.1"] is None  # less than one is no number
    assert [(one.provider, one.name) for one in told.doubts] == [("C3", "default")]


def test_tables_1_and_4_of_rodamilans_each_kind_in_its_own_unit() -> None:
    units = {(row.item, row.unit): [] for told in RODAMILANS for row in told.rows}
    for told in RODAMILANS:
        for row in told.rows:
            units[row.item, row.unit].append((row.name, str(row.amount)))
    assert units == {
        (Item.INSTANCE, Unit.HOUR): [
            ("m1.small", "0.06"), ("hi1.xlarge", "3.10"), ("1GB RAM", "0.06"), ("15 GB RAM", "0.90"),
        ],
        (Item.VOLUME, Unit.GB_MONTH): [
            ("ec2.root", "0.100"), ("ec2.stand", "0.100"), ("ec2.iops", "0.125"),
            ("rack.sata", "0.150"), ("rack.ssd", "0.700"),
        ],
        (Item.IO, Unit.MILLION): [("ec2.root", "0.100"), ("ec2.stand", "0.100")],
        (Item.IOPS, Unit.IOPS_MONTH): [("ec2.iops", "0.100")],
    }  # fmt: skip
    assert [(one.name, one.memory_gib) for one in RODAMILANS[0].sold][1] == ("hi1.xlarge", 60.05)


def test_what_is_printed_as_zero_is_no_price() -> None:
    assert all(row.amount > 0 for told in (*CLOUDCMP, *RODAMILANS, *DEVAL) for row in told.rows)
    assert [one.name for told in RODAMILANS for one in told.doubts] == ["ec2.ssd", "rack.local"]


def test_the_implied_prices_of_deval_say_that_they_are_and_where_they_do_not_agree() -> None:
    assert [told.currency for told in DEVAL] == [NO_CURRENCY] * 3
    assert all("implied by tables" in told.source for told in DEVAL)
    prices = {(row.provider, row.name): row.amount for told in DEVAL for row in told.rows}
    assert len([row for told in DEVAL for row in told.rows]) == 12
    assert prices["Amazon EC2", "t2.micro"] == Decimal("0.073")
    assert prices["Rackspace", "Memory1-30"] == Decimal("0.5492")
    doubts = {(one.provider, one.name): one.why for told in DEVAL for one in told.doubts}
    assert len(doubts) == 11  # two of a provider bear one name
    assert all(why.startswith("implied, between ") for why in doubts.values())
    assert "table 15 implies 0.54769" in doubts["Rackspace", "Memory1-30"]


def test_an_implied_price_gives_back_the_printed_value() -> None:
    document = load("deval-2017")
    charge = next(row.amount for row in DEVAL[0].rows if row.name == "General1-1")
    score = Decimal(document.table("8").column("Multi-threaded score")["Rackspace"])
    value = Decimal(document.table("11").column("Price-per-server performance value")["Rackspace"])
    assert score / charge == pytest.approx(value, rel=Decimal("1e-5"))


@pytest.mark.parametrize("name", PRICED)
def test_every_price_is_dated_named_and_has_a_digest_of_what_was_read(name: str) -> None:
    for told in price_lists(load(name)):
        assert told.published is not None
        assert told.provider == name
        assert len(told.sha256) == 64
        assert told.rows
        assert all(row.provider and row.name for row in told.rows)


@pytest.mark.parametrize("name", PRICED)
def test_nothing_can_be_created_on_a_published_price(name: str) -> None:
    for told in price_lists(load(name)):
        for row in told.rows:
            price = Price(row.amount, told.currency, told.source, told.published)
            candidate = Candidate(0, "c", Offering("aws", "r", row.name, price=price), "aws")
            with pytest.raises(Refused, match="days old"):
                price_to_create(candidate, told.currency, date(2026, 1, 5))


def test_no_study_finds_an_offering_in_a_published_list() -> None:
    text = "schema: 1\nquestion: q\ncandidates: [{provider: C4, region: r, offering: C4.1}]\nprobes: [{probe: fma}]\n"
    with pytest.raises(UserMistake):
        plan_text(text, "s.yaml")


CLAIMS = {
    "cloudcmp-2010": [
        ("only 30% more expensive", "no two do; the nearest, C4 C4.1 and C1 C1.1, are 1.41 times apart"),
        ("about 1000 operations per instance per hour", "1000 operations are 0.83% (C4 get) to 17.3% (C1 query)"),
    ],
    "rodamilans-2014": [
        ("60.5 GBytes of memory", "table 1 prints 60.05"),
        ("630 GBytes of local storage", "table 1 prints 620 (1 HDD)"),
        ("the same costs (US$ 0.60/hour)", "table 1 prints 0.06"),
    ],
}


@pytest.mark.parametrize("name", CLAIMS)
def test_what_the_text_says_and_the_tables_do_not(name: str) -> None:
    against = [one for one in recompute(load(name)).claims if one.verdict is Verdict.DOES_NOT_FOLLOW]
    for quote, found in CLAIMS[name]:
        assert any(quote in one.quote and found in one.found for one in against), quote


def test_prices_that_the_text_calls_proportional_to_the_cores_are() -> None:
    said = [one for one in recompute(load("cloudcmp-2010")).claims if "proportional" in one.quote]
    assert [one.verdict for one in said] == [Verdict.FOLLOWS] * 2
    assert said[0].found == "$ / hr for a core: C1.2 0.17, C1.3 0.17"
