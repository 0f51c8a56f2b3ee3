"""Power against published sample sizes, simulation, and itself turned round."""

import math

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st

from cloudcmp.stats.power import detectable_log_difference, needed_n

steady = settings(deadline=None, derandomize=True, max_examples=40)


@pytest.mark.parametrize(("effect", "n"), [(0.2, 199), (0.5, 34), (0.8, 15), (1.0, 10)])
def test_pairs_for_cohens_effects_are_those_of_the_printed_tables(effect: float, n: int) -> None:
    # Two-sided one-sample t test, alpha 0.05, power 0.80, as sample-size programs print it.
    assert needed_n(1.0, effect) == n


def test_detectable_difference_at_six_launches() -> None:
    # Noncentral t, 5 degrees of freedom: 80 % power needs 1.4345 standard deviations; the normal shortcut says 1.144.
    found = detectable_log_difference(0.05, 6)
    assert found == pytest.approx(1.4345 * 0.05, rel=1e-3)


@pytest.mark.parametrize(
    ("n", "alpha", "power"), [(2, 0.05, 0.8), (3, 0.001, 0.5), (6, 0.05 / 30, 0.8), (40, 0.05, 0.95)]
)
def test_a_simulated_paired_t_finds_it_as_often_as_promised(n: int, alpha: float, power: float) -> None:
    found = detectable_log_difference(0.07, n, alpha, power)
    assert found is not None
    d = np.random.default_rng(n).normal(found, 0.07, (40_000, n))
    t = d.mean(axis=1) / d.std(axis=1, ddof=1) * math.sqrt(n)
    share = (2 * scipy.stats.t.sf(np.abs(t), n - 1) < alpha).mean()
    assert share == pytest.approx(power, abs=0.01)


@pytest.mark.parametrize("n", [6, 12, 100])
def test_power_is_that_of_scipys_noncentral_t(n: int) -> None:
    found = detectable_log_difference(1.0, n, 0.01, 0.9)
    assert found is not None
    critical, shift = scipy.stats.t.ppf(0.995, n - 1), found * math.sqrt(n)
    reached = scipy.stats.nct.sf(critical, n - 1, shift) + scipy.stats.nct.cdf(-critical, n - 1, shift)
    assert reached == pytest.approx(0.9, abs=1e-8)


@given(st.floats(0.001, 1), st.integers(2, 500), st.floats(1e-6, 0.2), st.floats(0.3, 0.99))
@steady
def test_the_pairs_needed_for_what_is_detectable_are_those_there_were(
    sd: float, n: int, alpha: float, power: float
) -> None:
    found = detectable_log_difference(sd, n, alpha, power)
    assert found is not None
    assert found > 0
    assert needed_n(sd, found * (1 + 1e-9), alpha, power) == n
    assert needed_n(sd, -found * (1 + 1e-9), alpha, power) == n
    more = detectable_log_difference(sd, n + 1, alpha, power)
    assert more is not None
    assert more < found
    assert detectable_log_difference(2 * sd, n, alpha, power) == pytest.approx(2 * found)


@pytest.mark.parametrize("n", [10**5, 10**7, 10**9, 10**12])
def test_very_many_pairs_come_to_the_normal_value(n: int) -> None:
    normal = (scipy.stats.norm.ppf(0.975) + scipy.stats.norm.ppf(0.8)) / math.sqrt(n)
    assert detectable_log_difference(1.0, n) == pytest.approx(normal, rel=1e-4)


def test_extreme_designs_stay_finite() -> None:
    assert needed_n(1e-9, 100.0) == 2
    assert needed_n(1.0, 1e-6) == pytest.approx(7.849e12, rel=1e-3)
    assert detectable_log_difference(1.0, 2, 1e-6, 0.99) == pytest.approx(1.1595e6, rel=1e-3)


def test_what_is_not_defined_is_none() -> None:
    assert detectable_log_difference(0.05, 1) is None
    assert detectable_log_difference(0.0, 6) is None
    assert needed_n(0.0, 0.1) is None
    assert needed_n(0.1, 0.0) is None


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((-0.1, 0.1), "is not a spread"),
        ((math.nan, 0.1), "is not a spread"),
        ((0.1, math.nan), "finite difference"),
        ((0.1, 0.1, 0.0), "alpha"),
        ((0.1, 0.1, 0.05, 1.0), "power"),
        ((0.1, 0.1, 0.5, 0.4), "not above alpha"),
        ((1.0, 1e-9), "over 10\\^14 pairs"),
    ],
)
def test_a_design_that_makes_no_sense_is_refused(arguments: tuple[float, ...], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        needed_n(*arguments)
