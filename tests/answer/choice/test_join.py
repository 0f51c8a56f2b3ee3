"""Markets joined: what belongs to one offering, and what stays apart."""

import math
from dataclasses import replace

import numpy as np
import pytest

from cloudcmp.answer.choice.join import joined
from cloudcmp.answer.choice.prices import without_odd_prices
from cloudcmp.errors import UserMistake
from cloudcmp.model.market import COST, Market, Numbers, OfferKey, Texts


def prices(of: dict[OfferKey, float], currency: str = "USD") -> Market:
    return Market(tuple(of), {COST: Numbers(COST, np.array(list(of.values())), "1/h")}, currency)


def speeds(of: dict[OfferKey, float]) -> Market:
    return Market(tuple(of), {"speed": Numbers("speed", np.array(list(of.values())), is_measured=True)})


def known(market: Market, name: str) -> dict[OfferKey, float]:
    column = market.columns[name]
    assert isinstance(column, Numbers)
    return {key: value for key, value in zip(market.keys, column.value.tolist(), strict=True) if not math.isnan(value)}


NORTH, SOUTH = OfferKey("cloud", "north", "type"), OfferKey("cloud", "south", "type")
NOWHERE, OTHER = OfferKey("cloud", "", "type"), OfferKey("cloud", "north", "other")


def test_a_measurement_serves_every_region_and_says_so() -> None:
    whole = joined([speeds({NORTH: 5.0}), prices({NORTH: 1.0, SOUTH: 2.0, OTHER: 3.0})])
    assert known(whole, "speed") == {NORTH: 5.0, SOUTH: 5.0}
    assert known(whole, COST) == {NORTH: 1.0, SOUTH: 2.0, OTHER: 3.0}
    column = whole.columns["speed"]
    assert isinstance(column, Numbers)
    assert column.elsewhere is not None
    assert dict(zip(whole.keys, column.elsewhere.tolist(), strict=True))[SOUTH]


def test_a_measurement_of_no_region_is_that_of_each() -> None:
    whole = joined([speeds({NOWHERE: 5.0}), prices({NORTH: 1.0, SOUTH: 2.0})])
    assert set(whole.keys) == {NORTH, SOUTH}
    assert known(whole, "speed") == {NORTH: 5.0, SOUTH: 5.0}


def test_measurements_of_two_regions_stay_in_theirs() -> None:
    third = OfferKey("cloud", "west", "type")
    whole = joined([speeds({NORTH: 5.0, SOUTH: 6.0}), prices({NORTH: 1.0, SOUTH: 2.0, third: 3.0})])
    assert known(whole, "speed") == {NORTH: 5.0, SOUTH: 6.0}


def test_a_price_stays_in_its_region() -> None:
    assert known(joined([prices({NORTH: 1.0}), speeds({NORTH: 5.0, SOUTH: 6.0})]), COST) == {NORTH: 1.0}


def test_the_first_source_that_knows_a_value_counts() -> None:
    whole = joined([prices({NORTH: 1.0, SOUTH: math.nan}), prices({NORTH: 9.0, SOUTH: 2.0})])
    assert known(whole, COST) == {NORTH: 1.0, SOUTH: 2.0}


def test_two_currencies_are_refused() -> None:
    with pytest.raises(UserMistake, match="USD and EUR"):
        joined([prices({NORTH: 1.0}), prices({NORTH: 1.0}, "EUR")])


def test_rounds_of_two_studies_are_not_the_same_moments() -> None:
    a = speeds({NORTH: 5.0})
    column = a.columns["speed"]
    assert isinstance(column, Numbers)
    a = replace(a, columns={"speed": replace(column, launches=np.array([[1.0, 2.0]]))})
    b = Market((OTHER,), {"speed": replace(column, launches=np.array([[7.0, 8.0, 9.0]]))})
    whole = joined([a, b]).columns["speed"]
    assert isinstance(whole, Numbers)
    assert whole.launches is not None
    nan = math.nan
    np.testing.assert_array_equal(whole.launches, [[1, 2, nan, nan, nan], [nan, nan, 7, 8, 9]])


def test_texts_are_joined_like_numbers() -> None:
    arch = Market((NOWHERE,), {"arch": Texts("arch", ("arm",))})
    whole = joined([arch, prices({NORTH: 1.0, OTHER: 2.0})]).columns["arch"]
    assert isinstance(whole, Texts)
    assert whole.value == ("arm", "")


def test_a_price_far_below_that_of_other_regions_is_unknown_and_named() -> None:
    keys = {OfferKey("cloud", f"r{at}", "type"): price for at, price in enumerate((1.0, 1.1, 0.9, 0.3))}
    found = without_odd_prices(prices(keys))
    assert len(known(found, COST)) == 3
    assert "1 prices are below half" in found.notes[0]
    assert "cloud/r3/type at 0.3 USD/h" in found.notes[0]


def test_few_regions_judge_no_price() -> None:
    keys = {OfferKey("cloud", f"r{at}", "type"): price for at, price in enumerate((1.0, 1.1, 0.1))}
    assert without_odd_prices(prices(keys)).notes == ()
