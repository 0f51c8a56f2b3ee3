"""What long use makes cheaper by itself: of each machine's own hours, and of none that a commitment covers."""

import gzip
import itertools
import os
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloudcmp.cost.account_pricing import break_even, describe
from cloudcmp.cost.bill import bill
from cloudcmp.cost.metering import Sustained, sustained_hours
from cloudcmp.cost.rates import hourly_rate
from cloudcmp.cost.rules import shares_of, sustained
from cloudcmp.model.bill import Rate, Use
from cloudcmp.model.offering import Billing, Price
from cloudcmp.model.price import Item, PriceRow, Purchase, Unit
from cloudcmp.model.terms import NO_TERMS, Commitment, Terms
from cloudcmp.units import Money

HOUR = Decimal("0.1")
ROW = PriceRow("gcp", "eu", Item.INSTANCE, "n1-standard-2", HOUR, "USD", Unit.HOUR)
THIRTY = tuple(map(Decimal, ("1", "0.8", "0.6", "0.4")))


def rate_of(use: Use) -> Rate:
    """Ten cents an hour, by the second, and cheaper by itself."""
    return Rate((ROW,), Billing(60.0, 1.0), monthly=sustained(use))


def ran(hours: object, count: int = 1, times: int = 1) -> Use:
    """Machines that ran so long each."""
    seconds = Decimal(str(hours)) * 3600
    return Use("gcp", "eu", Item.INSTANCE, ROW.name, count=count, times=times, periods_s=(seconds,))


def total(*uses: Use, terms: Terms = NO_TERMS) -> Decimal:
    """What they cost together in a month of 730 hours."""
    found = bill(uses, rate_of, terms)
    assert found.total is not None, found.unknown
    return found.total.amount


def test_machines_at_once_are_not_one_that_ran_all_month() -> None:
    assert total(ran(73, count=10)) == 73  # each for a tenth of the month: nothing is taken off
    assert total(ran(73, times=10)) == 730 * HOUR * Decimal("0.7")  # one after the other: 30 % are
    assert total(ran(730, count=10)) == 7300 * HOUR * Decimal("0.7")


@given(st.lists(st.tuples(st.integers(1, 8), st.integers(0, 240)), min_size=1, max_size=4))
def test_each_of_those_at_once_has_hours_of_its_own(uses: list[tuple[int, int]]) -> None:
    """Counted machine by machine: the first of each use goes on where the first of the one before it ended."""
    lives = [sum(hours for count, hours in uses if count > number) for number in range(8)]
    paid = sum(sustained_hours(Decimal(life), 730, THIRTY) for life in lives)
    counted = Sustained()
    assert sum(counted.add(Decimal(hours), count, 730, THIRTY) for count, hours in uses) == pytest.approx(paid)
    some = [ran(hours, count) for count, hours in uses if hours]
    if some:
        assert total(*some) == pytest.approx(paid * HOUR, abs=Decimal("0.000001"))


def committed(hourly: str, count: int = 1) -> Terms:
    """Terms with a commitment of that machine for a year."""
    return Terms(commitments=(Commitment("gcp", ROW.name, Purchase.RESERVED, 12, Money(Decimal(hourly), "USD"),
                                         count=count),))  # fmt: skip


def test_hours_of_a_commitment_are_not_made_cheaper_again() -> None:
    assert total(ran(730), terms=committed("0.063")) == 730 * Decimal("0.063")
    assert total(ran(730, count=2), terms=committed("0.063")) == 730 * (Decimal("0.063") + HOUR * Decimal("0.7"))


@given(st.decimals("0.001", "0.12", places=4), st.integers(0, 730))
def test_a_commitment_is_set_against_what_long_use_costs(hourly: Decimal, used: int) -> None:
    own = committed(str(hourly)).commitments[0]
    found = break_even(own, HOUR, shares_of("gcp", ROW.name)).a_month
    on_demand = sustained_hours(Decimal(used), 730, THIRTY) * HOUR
    if found is None:
        assert hourly * 730 >= on_demand
    elif used != found:
        assert (used > found) == (on_demand > hourly * 730)


@pytest.mark.parametrize(("source", "shares"), [("a list", THIRTY), ("study file", ()), ("imported", ())])
def test_a_price_that_people_tell_stands_as_it_is(source: str, shares: tuple[Decimal, ...]) -> None:
    assert hourly_rate(Price(HOUR, "USD", source), ran(1)).monthly == shares


def test_in_words() -> None:
    own = committed("0.063").commitments[0]
    assert describe(own, HOUR, THIRTY) == (
        "reserved for 12 months: 0.063 USD/h if it runs all the time; cheaper than 0.1 USD/h, less for long use, "
        "on demand from 602 of 730 hours a month on (82 %)"
    )
    dear = replace(own, hourly=Money(Decimal("0.08"), "USD"))
    assert describe(dear, HOUR, THIRTY).endswith("and never cheaper than 0.1 USD/h, less for long use, on demand")
    assert describe(dear, HOUR).endswith("on demand from 584 of 730 hours a month on (80 %)")


def test_whose_machines_are_cheaper_for_long_use() -> None:
    assert shares_of("gcp", "custom-2-4096") == shares_of("gcp", "n1-standard-1") == THIRTY
    assert shares_of("aws", "n1-standard-1") == shares_of("gcp", "e2-standard-2") == ()


def test_a_whole_month_costs_what_others_reckon_for_every_type() -> None:
    """Of a price list that others made of Google's catalogue: each type's hour and month, of one region."""
    path = Path(os.environ.get("CLOUDCMP_DATA", "nowhere")) / "gcp_pricing" / "pricing.yml.gz"
    if not path.is_file():
        pytest.skip("no real prices: CLOUDCMP_DATA names no folder with gcp_pricing")
    name, region, hour, tried = "", "", Decimal(0), 0
    with gzip.open(path, "rt") as lines:
        for line in itertools.takewhile(lambda one: not one.startswith("  license:"), lines):
            depth, (key, _, value) = len(line) - len(line.lstrip()), line.strip().partition(": ")
            name, region = key[:-1] if depth == 4 else name, key[:-1] if depth == 8 else region
            if region == "us-central1" and depth == 10 and key in {"hour", "month"}:
                hour = Decimal(value) if key == "hour" else hour
                shares = shares_of("gcp", name)
                if key == "month" and hour:
                    ours = sustained_hours(Decimal(730), 730, shares) * hour if shares else 730 * hour
                    assert Decimal(value) == pytest.approx(ours, rel=Decimal("0.0005")), name
                    tried, hour = tried + 1, Decimal(0)
    assert tried > 400
