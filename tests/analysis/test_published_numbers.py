"""The rounding of printed figures and its propagation, by properties that do not depend on any document."""

from decimal import ROUND_HALF_EVEN, Decimal

import numpy as np
import pytest
import scipy
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from cloudcmp.analysis.published.number import (
    Number,
    along,
    cov_of,
    like,
    pooled_median_bounds,
    read,
    rounding,
    welch_p_of,
)
from cloudcmp.analysis.published.relations import agreement, common
from cloudcmp.stats.describe import cov, geometric_mean, median

_SLACK = 1e-9
figures = st.decimals(min_value=1, max_value=10_000, places=4, allow_nan=False)


def _printed(value: Decimal, places: int) -> str:
    return str(value.quantize(Decimal(1).scaleb(-places), rounding=ROUND_HALF_EVEN))


def _number(value: Decimal, places: int = 2) -> Number:
    number = read(_printed(value, places))
    assert number is not None
    return number


@pytest.mark.parametrize(
    ("text", "value", "half"),
    [
        ("1309", 1309.0, 0.5),
        ("9.00%", 9.0, 0.005),
        ("2.418E-09", 2.418e-9, 0.0005e-9),
        ("1.75GB", 1.75, 0.005),
        ("1.3Gbps", 1300.0, 50.0),
        ("Less than 500Mbps", 500.0, 0.5),
        ("0.0", 0.0, 0.05),
    ],
)
def test_a_cell_is_read_with_the_rounding_of_its_last_place(text: str, value: float, half: float):
    number = read(text)
    assert number is not None
    assert number.value == pytest.approx(value)
    assert number.high - number.value == pytest.approx(half)
    assert number.value - number.low == pytest.approx(half)


@pytest.mark.parametrize("text", ["", "t2.micro", "GCE Vs Azure", "12 of 13", "1,300"])
def test_a_cell_without_a_figure_is_none(text: str):
    assert read(text) is None
    assert rounding(text) is None


@given(value=figures, places=st.integers(0, 4))
def test_what_was_rounded_lies_within_the_range_of_what_was_printed(value: Decimal, places: int):
    number = _number(value, places)
    assert number.low - _SLACK <= float(value) <= number.high + _SLACK


@given(values=st.lists(figures, min_size=1, max_size=6), places=st.integers(0, 3))
def test_a_median_of_rounded_inputs_always_follows(values: list[Decimal], places: int):
    """Print the inputs and the true median: whatever the rounding, the check must not call that a slip."""
    true = Decimal(float(np.median([float(v) for v in values])))
    found = along(median, [_number(v, places) for v in values])
    assert _number(true, places).meets(found)
    assert found.low <= found.value <= found.high


@given(values=st.lists(figures, min_size=1, max_size=6), off=st.integers(2, 50))
def test_a_median_off_by_more_than_both_roundings_never_follows(values: list[Decimal], off: int):
    found = along(median, [_number(v) for v in values])
    wrong = _number(Decimal(repr(found.value)) + Decimal(off) / 100 + Decimal("0.006"))
    assert not wrong.meets(found)


@given(values=st.lists(figures, min_size=2, max_size=5), places=st.integers(0, 3))
def test_the_range_of_a_cov_holds_that_of_the_unrounded_values(values: list[Decimal], places: int):
    numbers = [_number(v, places) for v in values]
    assume(all(n.low > 0.0 for n in numbers))
    true = cov([float(v) for v in values])
    found = cov_of(numbers)
    assert true is not None
    assert found.low - _SLACK <= true <= found.high + _SLACK


@given(values=st.lists(figures, min_size=2, max_size=8))
def test_the_range_of_a_geometric_mean_holds_that_of_the_unrounded_values(values: list[Decimal]):
    true = geometric_mean([float(v) for v in values])
    found = along(geometric_mean, [_number(v, 1) for v in values])
    assert true is not None
    assert found.low - _SLACK <= true <= found.high + _SLACK


@settings(max_examples=40)
@given(seed=st.integers(0, 10_000), shift=st.floats(0.0, 50.0))
def test_the_range_of_a_welch_p_holds_that_of_the_unrounded_values(seed: int, shift: float):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(1000.0, 20.0, 4), rng.normal(1000.0 + shift, 30.0, 4)
    true = float(scipy.stats.ttest_ind(a, b, equal_var=False).pvalue)
    assume(true < 0.95)  # near 1 the means cross within the rounding, where p is not monotone
    found = welch_p_of([_number(Decimal(x)) for x in a], [_number(Decimal(x)) for x in b])
    assert found.low * (1 - _SLACK) <= true <= found.high * (1 + _SLACK)
    assert found.high / found.low < 1.1


@given(
    groups=st.lists(st.lists(st.floats(0.0, 1e4), min_size=3, max_size=3), min_size=1, max_size=5),
)
def test_the_median_of_a_pool_lies_within_the_bounds_that_group_medians_set(groups: list[list[float]]):
    medians = [Number(m, m, m) for m in (float(np.median(group)) for group in groups)]
    low, high = pooled_median_bounds(medians, 3)
    assert low - _SLACK <= float(np.median(np.concatenate(groups))) <= high + _SLACK


@given(groups=st.lists(st.lists(st.floats(0.0, 1e4), min_size=7, max_size=7), min_size=4, max_size=4))
def test_the_bounds_hold_for_groups_of_seven(groups: list[list[float]]):
    medians = [Number(m, m, m) for m in (float(np.median(group)) for group in groups)]
    low, high = pooled_median_bounds(medians, 7)
    assert low - _SLACK <= float(np.median(np.concatenate(groups))) <= high + _SLACK


def test_the_bounds_of_a_pool_are_reached():
    """Three values a group, four groups: the sixth can be as high as the third median and the seventh as the fourth."""
    groups = [[0.0, 1.0, 9.0], [0.0, 2.0, 9.0], [3.0, 3.0, 9.0], [4.0, 4.0, 9.0]]
    medians = [Number(m, m, m) for m in (1.0, 2.0, 3.0, 4.0)]
    assert pooled_median_bounds(medians, 3) == (1.5, 3.5)
    assert float(np.median(np.concatenate(groups))) == 3.5


@given(score=figures, price=st.decimals(min_value="0.01", max_value=5, places=3, allow_nan=False))
def test_the_price_behind_a_rounded_value_is_within_what_it_implies(score: Decimal, price: Decimal):
    implied = _number(score).over(_number(score / price))
    assert implied.low - _SLACK <= float(price) <= implied.high + _SLACK


def test_a_quotient_of_what_may_be_nothing_is_refused():
    with pytest.raises(ValueError, match="positive"):
        Number(1.0, 1.0, 1.0).over(Number(0.0, -0.5, 0.5))


def test_prices_agree_when_most_of_them_share_something():
    a, b, c = Number(1.0, 0.9, 1.1), Number(1.05, 1.0, 1.2), Number(2.0, 1.9, 2.1)
    assert agreement([a, b, c]) == (0, 1)
    assert agreement([c, a, b]) == (1, 2)
    assert agreement([a, c]) == ()
    shared = common([a, b])
    assert shared is not None
    assert (shared.low, shared.high) == (1.0, 1.1)
    assert common([]) is None


@pytest.mark.parametrize(
    ("text", "value", "shown"),
    [
        ("919.19", 625.575, "625.575"),
        ("11.68%", 11.684, "11.684"),
        ("2.418E-09", 2.4176e-9, "2.4176E-09"),
        ("0.01%", 0.0000403, "4e-05"),
        ("1309", 1309.04, "1309.0"),
        ("", 0.54919, "0.5492"),
    ],
)
def test_a_recomputed_figure_is_shown_like_the_printed_one_with_a_place_more(text: str, value: float, shown: str):
    assert like(text, value) == shown
