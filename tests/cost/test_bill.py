"""What holds of every bill, whatever was used and at whatever price."""

from dataclasses import replace
from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cost.rows import SECOND, at, row, tiers, use

from cloudcmp.cost.bill import bill
from cloudcmp.cost.metering import graduated, paid_s, sustained_hours
from cloudcmp.cost.rates import rates
from cloudcmp.model.bill import Bill, Rate
from cloudcmp.model.offering import Billing
from cloudcmp.model.price import Item, PriceList, Purchase, Unit
from cloudcmp.model.terms import Commitment, Credit, Discount, Support, SupportTier, Terms
from cloudcmp.units import Money

SECONDS = st.decimals(0, 10**7, places=3)
CLOCKS = st.sampled_from([(60.0, 1.0), (60.0, 60.0), (600.0, 60.0), (3600.0, 3600.0), (60.0, 3600.0), (0.0, 0.0)])
CENT = Decimal("0.000001")


def total(found: Bill) -> Decimal:
    assert found.total is not None, found.unknown
    return found.total.amount


@given(SECONDS, SECONDS, CLOCKS)
def test_paid_time_is_monotone_and_never_below_what_was_used(
    a: Decimal, b: Decimal, clock: tuple[float, float]
) -> None:
    billing = Billing(*clock)
    low, high = sorted((a, b))
    assert paid_s(low, billing) <= paid_s(high, billing)
    assert max(low, Decimal(repr(billing.minimum_s))) <= paid_s(low, billing)
    assert paid_s(low, billing) - low <= Decimal(repr(max(clock)))


@given(SECONDS, SECONDS, CLOCKS)
def test_a_life_in_two_periods_is_dearer_by_a_start_at_most(a: Decimal, b: Decimal, clock: tuple[float, float]) -> None:
    billing = Billing(*clock)
    apart, whole = paid_s(a, billing) + paid_s(b, billing), paid_s(a + b, billing)
    assert apart <= whole + Decimal(repr(billing.anew_s))
    if a + b >= Decimal(repr(max(clock))):
        assert apart <= paid_s(a + b + Decimal(repr(billing.anew_s)), billing)
    if billing.minimum_s >= billing.step_s:  # else a step that is longer than the minimum may be saved
        assert whole <= apart


@given(SECONDS, CLOCKS)
def test_the_exact_clock_and_the_guard_s_agree(a: Decimal, clock: tuple[float, float]) -> None:
    billing = Billing(*clock)
    assert float(paid_s(a, billing)) == pytest.approx(billing.paid_s(float(a)), abs=1e-3)


STEPS = (("0", "100"), ("0.09", "10000"), ("0.085", "50000"), ("0.05", None))
GB = st.integers(0, 10**6)


@given(GB, GB)
def test_tiers_are_continuous_and_monotone(a: int, b: int) -> None:
    cost = [total(bill([use(Item.EGRESS, size=one * 10**9)], at(tiers(*STEPS)))) for one in sorted((a, b))]
    assert 0 <= cost[1] - cost[0] <= Decimal(abs(a - b)) * Decimal("0.09")


@given(GB, GB)
def test_a_month_in_two_uses_costs_what_it_costs_in_one(a: int, b: int) -> None:
    parts = [use(Item.EGRESS, size=a * 10**9), use(Item.EGRESS, size=b * 10**9)]
    whole = use(Item.EGRESS, size=(a + b) * 10**9)
    assert total(bill(parts, at(tiers(*STEPS)))) == total(bill([whole], at(tiers(*STEPS))))


@given(GB, GB)
def test_the_worst_case_holds_wherever_in_the_month_s_tiers_it_begins(before: int, more: int) -> None:
    rows = tiers(*STEPS)
    there = sum(part.quantity * part.row.amount for part in graduated(Decimal(more), Decimal(before), rows))
    assert there <= total(bill([use(Item.EGRESS, size=more * 10**9)], at(rows), worst=True))


@given(st.integers(0, 64000), st.integers(1, 10**6))
def test_tiers_of_provisioned_iops_are_each_volume_s(iops: int, seconds: int) -> None:
    rows = tiers(("0.065", "32000"), ("0.0455", None), unit=Unit.IOPS_MONTH, item=Item.IOPS)
    two = total(bill([use(Item.IOPS, seconds, iops, count=2)], at(rows)))
    assert two == pytest.approx(2 * total(bill([use(Item.IOPS, seconds, iops)], at(rows))), abs=CENT)
    first = min(iops, 32000)
    month = Decimal(max(seconds, 60)) / (730 * 3600)
    assert two == pytest.approx(
        2 * month * (first * Decimal("0.065") + (iops - first) * Decimal("0.0455")), abs=CENT
    )  # fmt: skip


@given(st.integers(1, 10**13), st.integers(1, 4 * 10**6), st.integers(1, 1000))
def test_a_volume_is_billed_for_its_least_size(size: int, seconds: int, least: int) -> None:
    rate = at(row("0.1", Unit.GB_MONTH, Item.VOLUME, least=Decimal(least)))
    smallest = total(bill([use(Item.VOLUME, seconds, least * 10**9)], rate))
    assert total(bill([use(Item.VOLUME, seconds, size)], rate)) >= smallest


@given(st.integers(0, 3000), st.integers(3000, 16000))
def test_what_is_included_is_free_for_each_volume(within: int, beyond: int) -> None:
    rate = at(row("0.005", Unit.IOPS_MONTH, Item.IOPS), included=Decimal(3000))
    assert total(bill([use(Item.IOPS, 3600, within, count=9)], rate)) == 0
    month = Decimal(3600) / (730 * 3600)
    expected = 9 * (beyond - 3000) * month * Decimal("0.005")
    assert total(bill([use(Item.IOPS, 3600, beyond, count=9)], rate)) == pytest.approx(expected, abs=CENT)


@given(SECONDS, st.integers(1, 50), st.integers(1, 50), CLOCKS)
def test_n_at_once_cost_what_n_after_one_another_do(
    a: Decimal, count: int, times: int, clock: tuple[float, float]
) -> None:
    rate = at(row("0.3"), Billing(*clock))
    one = total(bill([use(seconds=a)], rate, month_h=10**6))
    assert total(bill([use(seconds=a, count=count, times=times)], rate)) == pytest.approx(
        one * count * times, abs=CENT
    )  # fmt: skip


@given(SECONDS, SECONDS)
def test_sustained_use_is_monotone_and_takes_thirty_percent_at_most(a: Decimal, b: Decimal) -> None:
    shares = tuple(map(Decimal, ("1", "0.8", "0.6", "0.4")))
    low, high = sorted((a / 3600, b / 3600))
    assert sustained_hours(low, 730, shares) <= sustained_hours(high, 730, shares)
    assert high * Decimal("0.7") - CENT <= sustained_hours(high, 730, shares) <= high + CENT


@given(SECONDS, st.sampled_from(list(Unit)))
def test_the_worst_case_is_never_below_the_bill(seconds: Decimal, unit: Unit) -> None:
    timed = unit not in {Unit.MILLION, Unit.GB, Unit.GIB, Unit.RATIO}
    one = use(Item.VOLUME if timed else Item.EGRESS, seconds if timed else (), 10**11)
    rate = at(row("0.123", unit), monthly=(Decimal(1), Decimal("0.5")))
    plain, worst = bill([one], rate), bill([one], rate, worst=True)
    assert (plain.total is None) == (worst.total is None) == (unit is Unit.RATIO)
    if plain.total and worst.total:
        assert worst.total.amount >= plain.total.amount


UNKNOWN = {
    "zero": Rate((row("0"),)),
    "missing": Rate(),
    "negative": Rate((row("-1"),)),
    "not a number": Rate((row("NaN"),)),
    "another currency": Rate((replace(row("1"), currency="EUR"),)),
    "a gap between tiers": Rate((row("1", tier_until=Decimal(5)), row("2", tier_from=Decimal(6)))),
    "tiers that overlap": Rate((row("1", tier_until=Decimal(7)), row("2", tier_from=Decimal(6)))),
    "tiers with an end": Rate((row("1", tier_until=Decimal(7)),)),
    "a unit without time": Rate((row("1", Unit.GB),)),
    "said to be ambiguous": Rate(why="it is listed at 2 prices, 1 to 2"),
    "too old": Rate((row("1"),), dated=date(2025, 1, 1)),
}


@pytest.mark.parametrize("case", UNKNOWN)
def test_what_is_not_known_makes_its_line_and_the_total_unknown_by_name(case: str) -> None:
    def rate_of(one: object) -> Rate:
        return UNKNOWN[case] if one is odd else Rate((row("1"),), SECOND)

    fine, odd = use(seconds=3600), replace(use(seconds=3600), name="odd")
    found = bill([fine, odd], rate_of, on=date(2026, 1, 1))
    assert (found.listed, found.total) == (None, None)
    assert [one.amount for one in found.lines] == [Money(Decimal(1), "USD"), None]
    assert found.unknown[0].startswith("instance odd, aws/eu: ")
    assert len(found.unknown) == 1


def test_an_account_in_another_currency_has_no_known_bill() -> None:
    found = bill([use(seconds=3600)], at(row("1")), Terms(currency="EUR"))
    assert found.unknown == ("instance x, aws/eu: its price is in USD, the others are in EUR",)


def test_terms_follow_the_list_in_their_order() -> None:
    usd = lambda amount: Money(Decimal(amount), "USD")  # noqa: E731
    terms = Terms(
        discounts=(Discount(Decimal("0.5"), "aws"),),
        credits=(Credit(usd(10), date(2026, 6, 30)),),
        support=(Support("aws", usd(1), (SupportTier(Decimal("0.1")),)),),
    )
    uses = [use(seconds=3600 * 100)]
    found = bill(uses, at(row("1")), terms, on=date(2026, 6, 30))
    assert found.listed == usd(100)
    assert [(one.item, one.amount) for one in found.own] == [
        ("discount", usd(-50)), ("support, aws", usd(10)), ("credit", usd(-10))
    ]  # fmt: skip
    assert found.total == usd(50)
    assert bill(uses, at(row("1")), terms, on=date(2026, 7, 1)).total == usd(60)
    assert bill(uses, at(row("1")), terms, worst=True).total == usd(110)


@given(SECONDS, st.decimals(0, 1, places=3), st.integers(0, 10**6))
def test_a_credit_never_makes_a_bill_less_than_nothing(a: Decimal, share: Decimal, given_money: int) -> None:
    terms = Terms((Discount(share),), (Credit(Money(Decimal(given_money), "USD")), Credit(Money(Decimal(7), "USD"))))
    found = bill([use(seconds=a)], at(row("0.9")), terms)
    assert found.listed is not None
    assert 0 <= total(found) <= found.listed.amount


def test_a_commitment_covers_its_machines_and_no_more() -> None:
    own = Commitment("aws", "x", Purchase.RESERVED, 12, Money(Decimal("0.5"), "USD"), Decimal(8760), count=2)
    found = bill([use(seconds=36000, count=3)], at(row("2")), Terms(commitments=(own,)))
    assert found.listed == Money(Decimal(60), "USD")
    assert total(found) == 20 + 20 * Decimal("1.5")  # 0.5 an hour, and 8760 over 8760 hours
    euro = replace(own, hourly=Money(Decimal(1), "EUR"))
    other = bill([use(seconds=36000)], at(row("2")), Terms(commitments=(euro,)))
    assert other.unknown == ("reserved, instance x, aws/eu: it is in EUR, the bill in USD",)


@given(st.decimals(0, 10**6, places=2), st.decimals(0, 10**6, places=2), st.integers(0, 10**5))
def test_support_is_monotone_and_never_below_its_minimum(a: Decimal, b: Decimal, spend: int) -> None:
    tiers_ = (SupportTier(Decimal("0.1"), Decimal(10**4)), SupportTier(Decimal("0.07"), Decimal(8 * 10**4)),
              SupportTier(Decimal("0.03")))  # fmt: skip
    plan = Terms(support=(Support("aws", Money(Decimal(100), "USD"), tiers_, Decimal(spend)),))
    low, high = (total(bill([use(Item.REQUEST, size=one)], at(row("1000000", Unit.MILLION)), plan)) - one
                 for one in sorted((a, b)))  # fmt: skip
    assert 0 <= low <= high + Decimal("1e-9")
    if not spend:
        assert low >= 100


def listed(*rows: object, **more: object) -> PriceList:
    fields = {"published": date(2026, 1, 1)} | more
    return PriceList("aws", "a list", "recorded", 0.0, "USD", "", tuple(rows), **fields)  # type: ignore[arg-type]


def test_rates_come_from_the_row_that_fits() -> None:
    today = date(2026, 1, 5)
    one = use(seconds=3600)
    known = rates([listed(row("1"), replace(row("2"), region="us"), replace(row("3"), purchase=Purchase.SPOT))], today)
    assert total(bill([one], known)) == 1
    assert total(bill([replace(one, region="us")], known)) == 2
    assert total(bill([replace(one, purchase=Purchase.SPOT)], known)) == 3
    assert known(replace(one, region="mars")).why == "no price is known for it"
    twice = rates([listed(row("1"), row("2"))], today)
    assert twice(one).why == "it is listed at 2 prices, 1 to 2"
    later = rates([listed(row("1", starts=date(2026, 2, 1)))], today)
    assert not later(one).rows
    newer = rates([listed(row("1")), listed(row("5"), published=date(2026, 1, 4))], today)
    assert total(bill([one], newer)) == 5


def test_credits_of_one_provider_pay_no_other_ones_bill() -> None:
    usd = lambda amount: Money(Decimal(amount), "USD")  # noqa: E731
    uses = [replace(use(seconds=36000), provider=name) for name in ("aws", "gcp")]
    one = Credit(usd(10), provider="aws")

    def paid(*credits: Credit, support: tuple[Support, ...] = ()) -> list[Money | None]:
        found = bill(uses, at(row("1")), Terms(credits=credits, support=support))
        assert found.total is not None
        return [line.amount for line in found.own if line.item == "credit"]

    assert paid(one, one) == [usd(-10), usd(0)]
    assert paid(one, Credit(usd(15))) == [usd(-10), usd(-10)]
    assert paid(Credit(usd(15)), one, Credit(usd(99), provider="gcp")) == [usd(-15), usd(0), usd(-5)]
    with_support = (Support("aws", usd(7), ()),)  # which is that provider's too
    assert paid(one, one, one, support=with_support) == [usd(-10), usd(-7), usd(0)]
