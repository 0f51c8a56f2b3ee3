"""The trend test against scipy, brute force and planted drift."""

import itertools

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st

from cloudcmp.stats.drift import trend

steady = settings(deadline=None, derandomize=True, max_examples=50)


@pytest.mark.parametrize("n", [3, 4, 6, 12, 30, 50])
def test_without_ties_it_is_kendalls_exact_test_and_theil_sens_slope(n: int) -> None:
    x = np.random.default_rng(n).normal(size=n) + 0.05 * np.arange(n)
    found = trend(x)
    assert found is not None
    assert found.p_value == pytest.approx(scipy.stats.kendalltau(np.arange(n), x, method="exact").pvalue)
    assert found.slope_per_round == pytest.approx(scipy.stats.theilslopes(x).slope)
    assert found.n == n


def test_every_order_of_five_rounds() -> None:
    sizes = {}
    for order in itertools.permutations(range(5)):
        s = sum(int(np.sign(b - a)) for a, b in itertools.combinations(order, 2))
        sizes[order] = abs(s)
    for order, size in sizes.items():
        found = trend([float(v) for v in order])
        assert found is not None
        assert found.p_value == pytest.approx(sum(other >= size for other in sizes.values()) / 120)


def test_a_series_that_only_rises_and_one_that_stands() -> None:
    rising = trend([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    assert rising is not None
    assert (rising.slope_per_round, rising.p_value) == (1.0, pytest.approx(2 / 720))
    level = trend([0.1] * 9)
    assert level is not None
    assert (level.slope_per_round, level.p_value) == (0.0, 1.0)


def test_two_rounds_have_no_trend() -> None:
    assert trend([1.0, 2.0]) is None


@given(st.lists(st.integers(-20, 20), min_size=3, max_size=70))
@steady
def test_turning_the_series_turns_the_slope(x: list[int]) -> None:
    one, back = trend(x), trend(x[::-1])
    assert one is not None
    assert back is not None
    assert (one.slope_per_round, one.p_value) == (-back.slope_per_round, back.p_value)
    assert 0.0 <= one.p_value <= 1.0


def test_planted_drift_is_found_and_noise_rarely_taken_for_it() -> None:
    rng = np.random.default_rng(4)
    noise = [trend(rng.normal(size=20)) for _ in range(1000)]
    assert 0.03 < np.mean([t.p_value < 0.05 for t in noise if t]) < 0.065
    tied = [trend(np.round(rng.normal(size=20))) for _ in range(1000)]
    assert 0.02 < np.mean([t.p_value < 0.05 for t in tied if t]) < 0.065
    drifting = [trend(rng.normal(size=20) + 0.15 * np.arange(20)) for _ in range(200)]
    assert np.mean([t.p_value < 0.05 for t in drifting if t]) > 0.8


def test_a_long_series_is_thinned_for_its_slope_only() -> None:
    x = 3.0 * np.arange(9000) + np.random.default_rng(5).normal(size=9000)
    found = trend(x)
    assert found is not None
    assert found.slope_per_round == pytest.approx(3.0, abs=1e-3)
    assert found.p_value < 1e-6
