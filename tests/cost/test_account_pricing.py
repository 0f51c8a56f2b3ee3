"""An hour's price under an account's own terms: the same sum as a bill of that hour."""

from dataclasses import replace
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st
from tests.plan.clouds import planned

from cloudcmp.cost.account_pricing import apply_terms
from cloudcmp.cost.bill import bill
from cloudcmp.cost.rates import hourly_rate as rate_given
from cloudcmp.model.bill import Use
from cloudcmp.model.offering import Billing, Price
from cloudcmp.model.plan import Candidate, unit_cost
from cloudcmp.model.price import Item, Purchase
from cloudcmp.model.terms import Commitment, Credit, Discount, Support, Terms
from cloudcmp.units import Money

HOUR = (Decimal(3600),)
NO_STEPS = Billing(0.0, 0.0)
ADDRESS = Price(Decimal("0.005"), "USD", "a public IPv4 address")
BESIDE = replace(ADDRESS, amount_per_hour=Decimal("0.006"), source="a public IPv4 address; root 8 GiB, a list")
TERMS = Terms(discounts=(Discount(Decimal("0.3"), "aws"),))


def candidate(hour: str = "0.2", count: int = 1) -> Candidate:
    """A machine of AWS at this price."""
    text = f"[{{provider: aws, region: eu, offering: large, count: {count}, price: {hour} USD/h}}]"
    return planned(text).candidates[0]


def term(hourly: str, currency: str = "USD", count: int = 1) -> Commitment:
    """A year of it."""
    return Commitment("aws", "large", Purchase.RESERVED, 12, Money(Decimal(hourly), currency), count=count)


def under_terms(one: Candidate, terms: Terms, purchase: Purchase = Purchase.ON_DEMAND) -> tuple[Decimal | None, str]:
    found, line = apply_terms(one, terms, Billing(beside=ADDRESS), purchase)
    return unit_cost(found), line


def test_a_discount_is_taken_off_what_it_is_of_and_nothing_else() -> None:
    one = replace(candidate(), beside=BESIDE)
    assert under_terms(one, TERMS) == (
        Decimal("0.1442"), "aws/eu/large: 0.1442 USD/h under your terms, 0.206 USD/h without: 30 % off aws"
    )  # fmt: skip
    half = Decimal("0.5")
    each = {Item.INSTANCE: "0.106", Item.ADDRESS: "0.2035", Item.VOLUME: "0.2055", Item.EGRESS: "0.206"}
    for item, amount in each.items():
        assert under_terms(one, Terms(discounts=(Discount(half, "", item.value),)))[0] == Decimal(amount), item
    price, line = under_terms(one, Terms(discounts=(Discount(half, "gcp"),)))
    assert price == Decimal("0.206")
    assert line == "aws/eu/large: 0.206 USD/h: your terms do not apply to it"


def test_a_commitment_takes_its_machines_off_the_list_and_discounts_are_of_what_is_left() -> None:
    terms = replace(TERMS, commitments=(term("0.1"),))
    price, line = under_terms(candidate(), terms)
    assert price == Decimal("0.07")
    assert "cheaper than 0.2 USD/h on demand from 365 of 730 hours a month on (50 %)" in line
    assert under_terms(candidate(), terms, Purchase.SPOT)[0] == Decimal("0.14")
    two, line = under_terms(candidate(count=2), terms)
    assert two == Decimal("0.105")  # one at 0.1, the other at 0.2, and 30 % off both
    assert "(for 1 of 2 machines)" in line


def test_what_is_not_known_is_unknown_and_says_why() -> None:
    for terms, why in (
        (Terms(discounts=(Discount(Decimal(1)),)), "100 % off everything: that leaves nothing to pay"),
        (Terms(commitments=(term("0.1", "EUR"),)), "it is in EUR, the bill in USD"),
        (replace(TERMS, currency="EUR"), "its price is in USD, your terms are in EUR"),
    ):
        price, line = under_terms(candidate(), terms)
        assert price is None
        assert why in line
    bare = candidate()
    nothing = replace(bare, offering=replace(bare.offering, price=None))
    assert under_terms(nothing, TERMS) == (None, "aws/eu/large: no price is known, so none under your terms")


def test_each_of_several_commitments_is_told_with_its_machines() -> None:
    price, line = under_terms(candidate(count=4), Terms(commitments=(term("0.1"), term("0.05", count=2))))
    assert price == (Decimal("0.1") + 2 * Decimal("0.05") + Decimal("0.2")) / 4
    assert "0.1 USD/h if it runs all the time" in line
    assert "0.05 USD/h if it runs all the time" in line
    assert "(for 1 of 4 machines)" in line
    assert "(for 2 of 4 machines)" in line


def test_credits_and_support_are_in_no_hour() -> None:
    terms = Terms(
        credits=(Credit(Money(Decimal(100), "USD")),), support=(Support("aws", Money(Decimal(100), "USD"), ()),)
    )
    assert under_terms(candidate(), terms)[0] == Decimal("0.2")


@given(
    st.decimals("0.001", 50, places=4), st.integers(1, 5), st.integers(1, 5),
    st.lists(st.decimals(0, "0.9", places=3), max_size=3), st.none() | st.decimals("0.001", 50, places=4),
)  # fmt: skip
def test_it_is_what_a_bill_of_an_hour_says(
    hour: Decimal, count: int, covered: int, shares: list[Decimal], paid: Decimal | None
) -> None:
    one = candidate(str(hour), count)
    terms = Terms(tuple(map(Discount, shares)), commitments=() if paid is None else (term(str(paid), count=covered),))
    use = Use("aws", "eu", Item.INSTANCE, "large", count=count, periods_s=HOUR)
    price = one.offering.price
    assert price is not None
    total = bill([use], lambda asked: rate_given(price, asked, NO_STEPS), terms).total
    found = under_terms(one, terms)[0]
    assert total is not None
    assert found is not None
    assert abs(found * count - total.amount) <= Decimal("1e-8")
