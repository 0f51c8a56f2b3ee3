"""Costs by other prices: today's, and those of another way of buying."""

import time
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from cloudcmp.app.other_prices import at_todays_prices, bought, under_terms
from cloudcmp.app.plan import quoted
from cloudcmp.cost import describe_terms
from cloudcmp.cost import offering_prices as catalogue
from cloudcmp.model.plan import Plan
from cloudcmp.model.price import How, Item, PriceList, PriceRow, Purchase, Unit
from cloudcmp.store.prices import PriceBook
from tests.plan.clouds import planned

TERMS = "terms: {commitments: [{provider: aws, offering: small, term: 1 year, upfront: 43.8 USD, hourly: 0.005 USD/h}]}"


@pytest.fixture
def book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A price book of today with one machine in four ways."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    row = PriceRow("aws", "eu", Item.INSTANCE, "small", Decimal("0.03"), "USD", Unit.HOUR, "linux", sku="A")
    dear = replace(
        row, purchase=Purchase.RESERVED, amount=Decimal("0.02"), term_months=12, plan="none upfront", sku="B"
    )
    cheap = replace(dear, amount=Decimal("0.001"), upfront=Decimal("87.6"), plan="part upfront", sku="C")
    spot = replace(row, purchase=Purchase.SPOT, amount=Decimal("0.008"), sku="D")
    with PriceBook() as one:
        one.put(PriceList("aws", "a list", How.FETCHED.value, time.time(), "USD", "ab" * 32, (row, dear, cheap, spot)))


def priced(plan: Plan) -> list[Decimal | None]:
    return [one.offering.price.amount_per_hour if one.offering.price else None for one in plan.candidates]


@pytest.fixture
def plan() -> Plan:
    return planned("[{provider: aws, region: eu, offering: small}, {provider: aws, region: eu, offering: large}]")


def test_each_way_of_buying_has_its_price_and_says_so(book: None, plan: Plan) -> None:
    on_demand, spot, reserved = (bought(plan, one) for one in (Purchase.ON_DEMAND, Purchase.SPOT, Purchase.RESERVED))
    assert priced(on_demand)[0] == Decimal("0.03")
    assert priced(spot) == [Decimal("0.008"), None]
    assert priced(reserved) == [Decimal("0.011"), None]  # 0.001, and 87.6 over 8760 hours
    today = time.strftime("%Y-%m-%d", time.gmtime())
    assert f"aws/eu/small: spot: 0.008 USD/h (a list), the price of {today}, which changes" in spot.quote.notes
    assert any(note.startswith("aws/eu/large: spot: no price is known (") for note in spot.quote.notes)
    assert any("cheaper than 0.03 USD/h on demand from 268 of 730 hours a month on (37 %)" in note
               for note in reserved.quote.notes)  # fmt: skip


def test_the_study_s_own_commitment_goes_before_a_list(book: None) -> None:
    own = planned("[{provider: aws, region: eu, offering: small, price: 0.02 USD/h}]", rest=TERMS)
    found = bought(own, Purchase.RESERVED)
    assert priced(found) == [Decimal("0.01")]
    assert "from 365 of 730 hours a month on (50 %)" in found.quote.notes[-1]
    dear = planned("[{provider: aws, region: eu, offering: small, price: 0.01 USD/h}]", rest=TERMS)
    assert bought(dear, Purchase.RESERVED).quote.notes[-1].endswith("never cheaper than 0.01 USD/h on demand")


def test_without_a_book_nothing_is_guessed(plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert priced(bought(plan, Purchase.SPOT)) == [None, None]
    assert priced(bought(plan, Purchase.RESERVED)) == [None, None]


@pytest.mark.parametrize(("said", "hour"), [(("os", "windows"), "0.07"), (("tenancy", "dedicated"), "0.04")])
def test_other_prices_are_for_the_machine_as_it_is_asked_for(book: None, said: tuple[str, str], hour: str) -> None:
    row = PriceRow("aws", "eu", Item.INSTANCE, "small", Decimal("0.03"), "USD", Unit.HOUR, "linux", sku="A")
    rows = (row, replace(row, system="windows", amount=Decimal("0.07"), sku="W"),
            replace(row, tenancy="dedicated", amount=Decimal("0.04"), sku="D"))  # fmt: skip
    with PriceBook() as one:
        one.put(PriceList("aws", "a list", How.FETCHED.value, time.time() + 1, "USD", "cd" * 32, rows))
    plain = planned("[{provider: aws, region: eu, offering: small}]")
    bare = replace(plain.candidates[0], options=(said,))
    candidate, lines = catalogue.price(replace(bare, offering=replace(bare.offering, price=None)))
    assert lines == ()
    plan = replace(plain, candidates=(candidate,))
    assert priced(plan) == priced(at_todays_prices(plan)) == priced(bought(plan, Purchase.ON_DEMAND)) == [Decimal(hour)]
    key, value = said
    for terms, told in (
        (TERMS, "reserved: no price is known"),
        (TERMS.replace("}]}", f", {key}: {value}}}]}}"), "0.010 "),
    ):
        own = replace(plan, terms=planned("[{provider: aws, region: eu, offering: small}]", rest=terms).terms)
        assert told in bought(own, Purchase.RESERVED).quote.notes[-1]  # a commitment is of one system and tenancy
    assert f"{Decimal(hour)} USD/h on demand" in bought(own, Purchase.RESERVED).quote.notes[-1]


def test_reprice_takes_today_s_list_and_leaves_the_study_s_own(book: None, plan: Plan) -> None:
    assert priced(at_todays_prices(plan)) == [Decimal("0.03"), None]
    own = planned("[{provider: aws, region: eu, offering: small, price: 0.5 USD/h}]")
    assert priced(at_todays_prices(own)) == [Decimal("0.5")]


DISCOUNT = "terms: {discounts: [{share: 30 %, provider: aws, item: instance}]}"


def with_terms(plan: Plan, terms: str) -> Plan:
    return replace(plan, terms=planned(rest=terms).terms)


def test_other_terms_change_the_hour_and_the_quote_s_own_sum_and_say_so(book: None) -> None:
    plan = quoted(planned("[{provider: aws, region: eu, offering: small, price: 0.02 USD/h}]"))
    found = under_terms(with_terms(plan, DISCOUNT), "own.yml")
    assert priced(found) == [Decimal("0.014")]
    assert found.quote.expected_cost == plan.quote.expected_cost
    assert plan.quote.expected_cost is not None
    assert found.quote.with_terms is not None
    assert found.quote.with_terms.amount < plan.quote.expected_cost.amount
    assert found.quote.notes[-2:] == (
        "costs use the terms of own.yml, not the study's own",
        "aws/eu/small: 0.019 USD/h under your terms, 0.025 USD/h without: 30 % off aws instance",  # with its address
    )
    assert under_terms(with_terms(plan, TERMS), "own.yml").candidates[0].offering.price is not None


def test_a_way_of_buying_that_is_asked_for_is_covered_by_no_commitment_beside(book: None) -> None:
    plan = with_terms(planned("[{provider: aws, region: eu, offering: small, price: 0.02 USD/h}]"), TERMS)
    assert priced(under_terms(plan, "own.yml")) == [Decimal("0.01")]
    assert priced(under_terms(bought(plan, Purchase.ON_DEMAND), "own.yml", Purchase.ON_DEMAND)) == [Decimal("0.02")]
    assert priced(under_terms(bought(plan, Purchase.RESERVED), "own.yml", Purchase.RESERVED)) == [Decimal("0.01")]


def test_a_quote_of_other_prices_than_now_has_no_sum_under_other_terms(book: None) -> None:
    plan = with_terms(planned("[{provider: aws, region: eu, offering: small, price: 0.02 USD/h}]"), DISCOUNT)
    dear = planned("[{provider: aws, region: eu, offering: small, price: 0.03 USD/h}]")
    found = under_terms(replace(plan, quote=dear.quote), "own.yml")
    assert found.quote.with_terms is None
    assert describe_terms(found) == "with your terms: unknown (prices have changed since it was planned)"
