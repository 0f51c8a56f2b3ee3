"""When a commitment pays."""

from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from cloudcmp.cost.account_pricing import break_even, describe
from cloudcmp.model.price import Purchase
from cloudcmp.model.terms import Commitment
from cloudcmp.units import Money

MONEY = st.decimals("0.0001", 10, places=4)
TERMS = st.sampled_from([1, 12, 36])


def own(hourly: Decimal, upfront: Decimal = Decimal(0), months: int = 12) -> Commitment:
    return Commitment("aws", "x", Purchase.RESERVED, months, Money(hourly, "USD"), upfront)


@given(MONEY, st.decimals(0, 10**5, places=2), TERMS, MONEY, st.integers(0, 730))
def test_beyond_the_break_even_it_is_cheaper_and_below_it_is_not(
    hourly: Decimal, upfront: Decimal, months: int, per_hour: Decimal, used: int
) -> None:
    """Counted month by month, hour by hour of the term."""
    one = own(hourly, upfront, months)
    committed = upfront + sum(hourly * 730 for _ in range(months))
    on_demand = sum(per_hour * used for _ in range(months))
    found = break_even(one, per_hour)
    if found.a_month is None:
        assert committed >= on_demand  # used all the time it is no cheaper either
        assert committed >= per_hour * 730 * months
    else:
        assert (used > found.a_month) == (on_demand > committed)
        assert 0 <= found.a_month <= 730
        assert found.of_term == found.a_month * months or abs(found.of_term - found.a_month * months) < Decimal("1e-20")


@given(MONEY, MONEY, MONEY, TERMS)
def test_a_dearer_commitment_pays_later(a: Decimal, b: Decimal, per_hour: Decimal, months: int) -> None:
    low, high = (break_even(own(one, months=months), per_hour).a_month for one in sorted((a, b)))
    assert high is None or (low is not None and low <= high)


def test_in_words() -> None:
    cheap = own(Decimal("0.05"), Decimal("87.6"))
    assert describe(cheap, Decimal("0.10")) == (
        "reserved for 12 months: 0.06 USD/h if it runs all the time; cheaper than 0.1 USD/h on demand from "
        "438 of 730 hours a month on (60 %)"
    )
    assert describe(cheap, Decimal("0.06")).endswith("and never cheaper than 0.06 USD/h on demand")
    assert break_even(cheap, Decimal(0)).of_term is None
