"""Credits at the boundaries of tiers, in every way of counting, until when, and of a month to come."""

from datetime import date
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cloudcmp.cost.credits.engine import credit_of, percent_of
from cloudcmp.cost.credits.tables import credit_table, credit_tables
from cloudcmp.errors import UserMistake
from cloudcmp.model.credits import CreditTable, Downtime, Spans
from cloudcmp.units import Money, parse_money

MAY = 1777593600.0
"""The first of May 2026, 00:00 UTC; a month of 31 days."""
DAY = 86400.0
TABLES = credit_tables()
steady = settings(deadline=None, derandomize=True, max_examples=60)


def test_an_outage_that_lasts_to_the_end_of_a_month_is_claimed_with_that_month() -> None:
    found = credit_of(credit_table("aws-ec2-region"), _down((30 * DAY, 31 * DAY)), None)
    assert str(found.periods[0].claim_until) == "2026-07-31"


def test_a_month_without_a_sample_is_not_one_without_an_outage() -> None:
    spans = ((MAY, MAY + 28 * DAY), (MAY + 63 * DAY, MAY + 64 * DAY))
    hole = (MAY + 28 * DAY, MAY + 63 * DAY)
    down = Downtime("shop", MAY, MAY + 64 * DAY - 60, spans, (), (), (hole,))
    found = credit_of(credit_table("aws-ec2-region"), down, parse_money("1200 USD"))
    assert found.unseen == ((MAY + 31 * DAY, MAY + 61 * DAY),)
    assert [one.start for one in found.periods] == [MAY, MAY + 61 * DAY]
    assert all(one.watched > 0 for one in found.periods)


def _down(*spans: tuple[float, float], start: float = MAY, days: float = 31.0) -> Downtime:
    """A watch of some days that saw these outages, in seconds from its start."""
    some: Spans = tuple((start + a, start + b) for a, b in spans)
    return Downtime("shop", start, start + days * DAY - 60, ((start, start + days * DAY),), some, some, some)


@pytest.mark.parametrize("table", TABLES, ids=lambda one: one.name)
def test_the_tiers_of_a_table_follow_each_other_from_nothing_to_the_commitment(table: CreditTable) -> None:
    if table.step_s is not None:
        assert table.tiers == ()
        return
    assert table.tiers[0].upper == table.commitment
    assert table.tiers[-1].lower == 0
    for higher, lower in zip(table.tiers, table.tiers[1:], strict=False):
        assert higher.lower == lower.upper
        assert higher.percent < lower.percent


@pytest.mark.parametrize("table", [one for one in TABLES if one.tiers], ids=lambda one: one.name)
def test_the_lower_end_of_a_tier_is_included_and_the_upper_one_is_not(table: CreditTable) -> None:
    tiny = Fraction(1, 10**9)
    assert percent_of(table, Fraction(table.commitment), Fraction(0)) == 0
    for tier in table.tiers:
        assert percent_of(table, Fraction(tier.lower), Fraction(0)) == tier.percent
        assert percent_of(table, Fraction(tier.upper) - tiny, Fraction(0)) == tier.percent
        assert percent_of(table, Fraction(tier.upper), Fraction(0)) < tier.percent


@steady
@given(st.sampled_from(TABLES), st.integers(0, 5 * 1440), st.integers(0, 5 * 1440))
def test_more_downtime_never_pays_less_and_never_more_than_the_bill(table: CreditTable, a: int, b: int) -> None:
    less, more = sorted((a, b))
    bill = Money(Decimal(1000), "USD")
    cases = [credit_of(table, _down((0.0, 60.0 * one), days=5), bill).periods[-1].likely for one in (less, more)]
    assert cases[0].percent <= cases[1].percent <= 100
    assert cases[0].money is not None
    assert cases[1].money is not None
    assert cases[0].money <= cases[1].money <= bill


def _percent(name: str, *spans: tuple[float, float]) -> float:
    return credit_of(credit_table(name), _down(*spans), None).periods[0].likely.percent


def test_a_month_of_99_99_percent_allows_268_seconds() -> None:
    # 31 days * 86,400 s * 0.0001 = 267.84 s
    assert _percent("aws-ec2-region", (1000, 1267)) == 0
    assert _percent("aws-ec2-region", (1000, 1268)) == 10
    assert _percent("aws-ec2-region", (0, 0.01 * 31 * DAY)) == 10
    assert _percent("aws-ec2-region", (0, 0.01 * 31 * DAY + 1)) == 30
    assert _percent("aws-ec2-region", (0, 0.05 * 31 * DAY)) == 30
    assert _percent("aws-ec2-region", (0, 0.05 * 31 * DAY + 1)) == 100


def test_a_credit_that_is_not_above_the_least_is_not_paid_and_not_claimed() -> None:
    table = credit_table("aws-ec2-region")
    small, large = (credit_of(table, _down((0, 3600)), parse_money(bill)).periods[0] for bill in ("10 USD", "11 USD"))
    assert (small.likely.percent, small.likely.money, small.claim_until) == (10, Money(Decimal(0), "USD"), None)
    assert large.likely.money == Money(Decimal("1.1"), "USD")
    assert large.claim_until is not None


def test_google_counts_whole_minutes_of_each_outage() -> None:
    assert _percent("google-ce-zones", *((at * 1000.0, at * 1000.0 + 59) for at in range(40))) == 0
    assert _percent("google-ce-zones", *((at * 1000.0, at * 1000.0 + 60) for at in range(5))) == 10


def test_an_hour_that_is_down_for_more_than_six_minutes_is_not_charged() -> None:
    bill = parse_money("744 USD")  # one dollar an hour in May
    table = credit_table("aws-ec2-instance")
    exactly = credit_of(table, _down((3600.0, 3960.0)), bill).periods[0].likely
    assert (exactly.free_hours, exactly.money) == (0, Money(Decimal(0), "USD"))
    longer = credit_of(table, _down((3600.0, 3961.0)), bill).periods[0].likely
    assert longer.free_hours == 1
    assert longer.money == Money(Decimal(1), "USD")
    across = credit_of(table, _down((3300.0, 4000.0)), bill).periods[0].likely  # 300 s and 400 s of two hours
    assert across.free_hours == 1
    split = credit_of(table, _down((3600.0, 3900.0), (5000.0, 5100.0)), bill).periods[0].likely  # added up
    assert split.free_hours == 1


def test_the_rule_of_2008_counts_whole_periods_of_five_minutes_in_a_year() -> None:
    # 0.05 % of 365 days are 52.56 periods of 5 minutes.
    assert _percent("aws-ec2-2008", (0, 52 * 300)) == 0
    assert _percent("aws-ec2-2008", (0, 53 * 300)) == 10
    assert _percent("aws-ec2-2008", (100, 100 + 53 * 300)) == 0  # touches 54, fills 52
    found = credit_of(credit_table("aws-ec2-2008"), _down((0, 53 * 300)), parse_money("1200 USD"))
    assert found.periods[0].likely.money == Money(Decimal(120), "USD")


def test_rackspace_paid_five_percent_for_each_half_hour() -> None:
    assert [_percent("rackspace-2010", (0, seconds)) for seconds in (1799, 1800, 3600, 36000, 10 * DAY)] == [
        0, 5, 10, 100, 100,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "until"),
    [
        ("aws-ec2-region", date(2026, 7, 31)),
        ("azure-vm-zones", date(2026, 7, 31)),
        ("google-ce-zones", date(2026, 7, 30)),  # 60 days after May
        ("rackspace-2010", date(2026, 6, 2)),  # 30 days after the third of May, as which the outage ends
        ("aws-ec2-2008", date(2026, 6, 12)),  # 30 working days after that Sunday
    ],
)
def test_until_when_a_credit_must_be_claimed(name: str, until: date) -> None:
    found = credit_of(credit_table(name), _down((DAY, 2 * DAY)), None)
    assert found.periods[0].claim_until == until


def test_a_credit_of_one_dollar_is_not_paid() -> None:
    found = [credit_of(credit_table("aws-ec2-region"), _down((0.0, 600.0)), parse_money(bill)) for bill in
             ("10 USD", "10.01 USD")]  # fmt: skip
    assert [one.periods[0].likely.money for one in found] == [Money(Decimal(0), "USD"), Money(Decimal("1.001"), "USD")]


def test_without_a_bill_there_is_no_money() -> None:
    found = credit_of(credit_table("azure-vm-set"), _down((0.0, 9000.0)), None)
    assert found.periods[0].likely.money is None
    assert found.expected is not None
    assert found.expected.money is None


def test_each_month_is_by_itself() -> None:
    found = credit_of(credit_table("aws-ec2-region"), _down((40 * DAY, 40 * DAY + 600), days=61), None)
    assert [one.likely.percent for one in found.periods] == [0, 10]
    assert [round(one.watched, 6) for one in found.periods] == [1, 1]
    assert found.periods[0].claim_until is None


def test_the_expected_credit_is_that_of_months_drawn_from_the_days() -> None:
    spans = [(day * DAY, day * DAY + 400.0) for day in (2, 9, 17)]
    found = credit_of(credit_table("aws-ec2-region"), _down(*spans), parse_money("1000 USD"), seed=3).expected
    assert found is not None
    # A credit needs one or more of the three days among 30 draws from 31.
    chance = 1 - (28 / 31) ** 30
    assert dict(found.chances)[10.0] == pytest.approx(chance, abs=0.02)
    assert found.percent == pytest.approx(10 * chance, abs=0.2)
    assert float(found.money.amount if found.money else 0) == pytest.approx(1000 * found.percent / 100)
    assert sum(chance for _, chance in found.chances) == pytest.approx(1.0)


def test_five_days_are_too_few_for_a_month_to_come() -> None:
    assert credit_of(credit_table("aws-ec2-region"), _down(days=5), None).expected is None


def test_an_unknown_table_is_named_with_its_neighbour() -> None:
    with pytest.raises(UserMistake, match=r"no credit table 'aws-ec2-regoin' is known; .*aws-ec2-region"):
        credit_table("aws-ec2-regoin")


def test_every_table_says_where_it_is_from_and_what_to_bring() -> None:
    assert len({one.name for one in TABLES}) == len(TABLES)
    for one in TABLES:
        assert one.source
        assert one.text_of
        assert one.bring
        assert np.isfinite(float(one.commitment))
