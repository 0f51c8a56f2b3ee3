"""Prices that clouds tell themselves: money as it was written, or unknown, never free."""

from datetime import date
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from cloudcmp.provider.longtail.prices import amount_of, hourly, monthly

TODAY = date(2026, 11, 22)
POSITIVE = st.decimals(min_value="0.000001", max_value="10000", places=6)
ANYTHING = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.lists(st.integers(), max_size=2)
)


@given(POSITIVE)
def test_an_amount_is_taken_as_it_was_written(amount):
    assert hourly(str(amount), "a list", TODAY, "USD").amount_per_hour == amount
    assert hourly(float(amount), "a list", TODAY, "USD").amount_per_hour == Decimal(str(float(amount)))


@given(ANYTHING)
def test_whatever_stands_there_a_price_is_above_zero_or_unknown(said):
    for price in (hourly(said, "a list", TODAY, "USD"), monthly(said, 672, "a list", TODAY, "USD")):
        assert price is None or (price.amount_per_hour > 0 and price.currency == "USD" and price.as_of == TODAY)
    if isinstance(said, bool) or said == 0:
        assert amount_of(said) is None


@given(POSITIVE, st.integers(1, 1000))
def test_an_hour_of_a_month_is_never_told_cheaper_than_it_is(amount, hours):
    price = monthly(str(amount), hours, "a list", TODAY, "USD").amount_per_hour
    assert price * hours >= amount
    assert price - amount / hours < Decimal("0.000002")
