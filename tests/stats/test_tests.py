"""The tests of a difference against scipy, and the cases without spread."""

import math

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.stats.paired import paired_t

from cloudcmp.stats.tests import TTest, welch_t

steady = settings(deadline=None, derandomize=True, max_examples=50)
numbers = st.floats(-1e6, 1e6, allow_subnormal=False).map(lambda v: round(v, 3))
samples = st.lists(numbers, min_size=2, max_size=30)


@pytest.mark.parametrize("n", [2, 3, 6, 40, 500])
def test_paired_t_is_scipys(n: int) -> None:
    d = np.random.default_rng(n).normal(0.2, 1, n)
    ours, theirs = paired_t(d), scipy.stats.ttest_1samp(d, 0)
    assert ours == TTest(pytest.approx(theirs.statistic), n - 1, pytest.approx(theirs.pvalue), n)


@pytest.mark.parametrize(("n", "m"), [(2, 2), (3, 20), (40, 6), (300, 500)])
def test_welch_t_is_scipys(n: int, m: int) -> None:
    rng = np.random.default_rng(n)
    a, b = rng.normal(0, 1, n), rng.normal(0.3, 4, m)
    ours, theirs = welch_t(a, b), scipy.stats.ttest_ind(a, b, equal_var=False)
    assert ours == TTest(pytest.approx(theirs.statistic), pytest.approx(theirs.df), pytest.approx(theirs.pvalue), n + m)


def test_sleep_data_of_student() -> None:
    # Student 1908, extra hours of sleep, drug 2 less drug 1: t = 4.0621, 9 degrees of freedom, p = 0.002833.
    d = [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4]
    ours = paired_t(d)
    assert ours is not None
    assert ours.statistic == pytest.approx(4.0621, abs=1e-4)
    assert ours.p_value == pytest.approx(0.002833, abs=1e-6)


def test_differences_without_spread() -> None:
    assert paired_t([0.0] * 6) == TTest(0.0, 5, 1.0, 6)
    assert paired_t([0.1] * 6) == TTest(math.inf, 5, 0.0, 6)
    assert paired_t([-0.1] * 6) == TTest(-math.inf, 5, 0.0, 6)
    assert welch_t([0.1] * 3, [0.1] * 4) == TTest(0.0, 5, 1.0, 7)
    assert welch_t([0.1] * 3, [0.2] * 4) == TTest(-math.inf, 5, 0.0, 7)


def test_one_sample_without_spread_leaves_the_others_degrees_of_freedom() -> None:
    b = [1.0, 2.0, 3.5]
    ours = welch_t([5.0] * 8, b)
    assert ours is not None
    assert ours.df == pytest.approx(2)
    assert ours.p_value == pytest.approx(scipy.stats.ttest_1samp(b, 5).pvalue)


def test_too_few_values_give_none() -> None:
    assert paired_t([1.0]) is None
    assert welch_t([1.0], [1.0, 2.0]) is None
    assert welch_t([1.0, 2.0], [1.0]) is None


@given(samples, samples)
@steady
def test_swapping_the_samples_turns_the_sign_only(a: list[float], b: list[float]) -> None:
    one, other = welch_t(a, b), welch_t(b, a)
    assert one is not None
    assert other is not None
    assert one.statistic == -other.statistic
    assert one.p_value == pytest.approx(other.p_value, rel=1e-9)
    assert 0.0 <= one.p_value <= 1.0
    assert one.df >= min(len(a), len(b)) - 1 - 1e-9


@given(samples)
@steady
def test_turning_the_differences_turns_the_sign_only(d: list[float]) -> None:
    turned = [-v for v in d]
    one, other = paired_t(d), paired_t(turned)
    assert one is not None
    assert other is not None
    assert (one.statistic, one.p_value) == (-other.statistic, other.p_value)


@given(samples, st.sampled_from([1e-9, 0.5, 1024.0, 1e12]))
@steady
def test_the_unit_does_not_matter(d: list[float], scale: float) -> None:
    one, other = paired_t(d), paired_t([v * scale for v in d])
    assert one is not None
    assert other is not None
    assert one.p_value == pytest.approx(other.p_value, rel=1e-6, abs=1e-15)
