"""A time from few measurements: factors, the choice of columns, and intervals."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize

from cloudcmp.stats import nonnegative
from cloudcmp.stats.nonnegative import choose, explain, fit, interval, predicted, spread_of

SIMULATED = 150


def _drawn(seed: int, points: int, spread: float) -> tuple[np.ndarray, np.ndarray]:
    """Times that follow column 0 with a planted spread, beside three columns that say nothing of them."""
    rng = np.random.default_rng(seed)
    columns = np.exp(rng.normal(0, 0.3, (points, 4)))
    return 7.0 * columns[:, 0] * np.exp(rng.normal(0, spread, points)), columns


def test_factors_are_those_of_another_solver() -> None:
    rng = np.random.default_rng(1)
    columns = np.exp(rng.normal(0, 0.3, (12, 3)))
    times = columns @ np.array([2.0, 0.0, 5.0]) * np.exp(rng.normal(0, 0.05, 12))
    other = optimize.lsq_linear(columns / times[:, None], np.ones(12), bounds=(0, np.inf))
    assert fit(times, columns, (0, 1, 2)) == pytest.approx(other.x, abs=1e-6)


def test_one_factor_is_the_geometric_mean_of_the_ratios() -> None:
    assert fit(np.array([2.0, 8.0]), np.array([[1.0], [1.0]]), (0,)) == pytest.approx((4.0,))


@given(st.integers(0, 10**6), st.floats(1e-3, 1e3))
def test_a_prediction_scales_with_the_times(seed: int, scale: float) -> None:
    times, columns = _drawn(seed, 5, 0.1)
    found, scaled = explain(times, columns), explain(times * scale, columns)
    assert found.columns == scaled.columns
    first = predicted(columns, found.columns, found.factors)
    assert predicted(columns, scaled.columns, scaled.factors) == pytest.approx(first * scale)
    assert min(found.factors) >= 0


def test_what_is_known_beforehand_is_kept_with_two_points() -> None:
    times, columns = np.array([10.0, 13.0]), np.array([[1.0, 1.0], [1.2, 1.3]])
    assert choose(times, columns) == (0,)


def test_the_column_that_explains_the_times_is_found() -> None:
    rng = np.random.default_rng(5)
    columns = np.exp(rng.normal(0, 0.5, (6, 5)))
    assert choose(3.0 * columns[:, 2], columns) == (2,)


def test_two_columns_need_six_points() -> None:
    rng = np.random.default_rng(6)
    columns = np.exp(rng.normal(0, 0.8, (6, 3)))
    times = columns @ np.array([3.0, 0.0, 3.0])
    assert set(choose(times, columns)) == {0, 2}
    assert len(choose(times[:5], columns[:5])) == 1


def test_a_single_point_has_no_error_and_chooses_nothing() -> None:
    found = explain(np.array([3.0]), np.array([[1.0, 2.0]]))
    assert (found.columns, found.errors) == ((0,), ())


@pytest.mark.parametrize("points", [2, 4, 9])
def test_nine_of_ten_intervals_cover_at_the_spread_that_is_assumed(points: int) -> None:
    inside = []
    for seed in range(SIMULATED):
        times, columns = _drawn(seed, points + 6, nonnegative.PRIOR_ERROR)
        found = explain(times[:points], columns[:points])
        low, high = interval(times[:points], columns[:points], found, columns[points:], 0.9)
        inside += ((low <= times[points:]) & (times[points:] <= high)).tolist()
    # The six points of a set share its model: the standard error is about 2 percentage points.
    assert 0.84 <= np.mean(inside) <= 0.96


def test_the_jackknife_plus_is_that_of_its_definition() -> None:
    """Nine points at 90 %: the least and the greatest of the predictions without one point, each with its error."""
    times, columns = _drawn(3, 9, 0.1)
    new = np.array([[1.5, 1.0, 1.0, 1.0]])
    found = explain(times, columns[:, :1])
    low, high = interval(times, columns[:, :1], found, new[:, :1], 0.9)
    ends = []
    for at in range(9):
        rest = np.arange(9) != at
        factor = math.exp(float(np.log(times[rest] / columns[rest, 0]).mean()))
        error = abs(math.log(times[at] / (factor * columns[at, 0])))
        ends.append((math.log(factor * 1.5) - error, math.log(factor * 1.5) + error))
    assert low[0] == pytest.approx(math.exp(min(one for one, _ in ends)))
    assert high[0] == pytest.approx(math.exp(max(one for _, one in ends)))


def test_the_spread_is_that_of_many_errors() -> None:
    errors = np.random.default_rng(7).normal(0, 0.3, 4000).tolist()
    assert spread_of(errors) == pytest.approx(0.3, rel=0.03)
