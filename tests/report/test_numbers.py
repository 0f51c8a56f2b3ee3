"""Numbers as people read them."""

import math

from hypothesis import given
from hypothesis import strategies as st

from cloudcmp.model.result import Bounds, Comparison, Verdict
from cloudcmp.report import numbers
from cloudcmp.report.numbers import Scale


def test_one_unit_serves_all_candidates_of_a_cell() -> None:
    scale = Scale.of([8.1e3, 1.7e4, 4.1e4], "op/s")
    assert (scale.factor, scale.unit) == (1e3, "kop/s")
    assert [scale.quantity(one) for one in (8.1e3, 4.1e4, None, math.nan)] == ["8.10 kop/s", "41.0 kop/s", "–", "–"]


def test_a_cell_without_values_has_a_unit_all_the_same() -> None:
    assert Scale.of([], "s").quantity(None) == "–"
    assert Scale.of([0.0, 0.0], "ratio").quantity(0.0) == "0 %"


@given(st.floats(allow_nan=True, allow_infinity=True) | st.none())
def test_nothing_that_is_not_finite_is_ever_shown(value: float | None) -> None:
    shown = [
        Scale(1.0, "s").quantity(value),
        numbers.ratio(value),
        numbers.signed(value, "s"),
        numbers.probability(value),
        numbers.share(value),
        numbers.plain(value),
    ]
    assert not any(word in text for text in shown for word in ("nan", "inf", "None"))


def test_effects_turn_with_the_pair() -> None:
    plain = Comparison("x", 0, 1, 6, True, False, 1.25, None, None, 0.01, 0.02, None, None, None, 1.04, Verdict.BETTER)
    assert numbers.effect(plain, "s") == "+25.0 %"
    assert numbers.effect(plain, "s", turned=True) == "-20.0 %"
    assert numbers.detectable(plain, "s") == "4.0 %"
    by_difference = Comparison("x", 0, 1, 6, True, True, -0.004, Bounds(-0.005, -0.003), None, 0.01, 0.02, None, None,
                               None, 0.001, Verdict.BETTER)  # fmt: skip
    assert numbers.effect(by_difference, "ratio") == "-0.400 points"
    assert numbers.effect(by_difference, "ratio", turned=True) == "+0.400 points"
    assert numbers.effect_bounds(by_difference, by_difference.bounds, "ratio") == "-0.500 points to -0.300 points"


def test_large_ratios_are_factors_and_small_p_values_are_no_zero() -> None:
    assert numbers.ratio(12.0) == "×12.0"
    assert numbers.ratio(0.2) == "×0.200"
    assert numbers.probability(1e-9) == "< 0.001"


def test_both_ends_of_an_interval_are_written_as_their_effect_is() -> None:
    unknown = (None,) * 8
    one = Comparison("x", 0, 1, 6, True, False, 0.52, Bounds(0.48, 0.55), *unknown)
    assert numbers.effect(one, "s") == "-48.0 %"
    assert numbers.effect_bounds(one, one.bounds, "s") == "-52.0 % to -45.0 %"
    assert numbers.ratio(0.99999) == "0.0 %"
