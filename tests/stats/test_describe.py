"""Estimates against exact tables, scipy and numpy, and what must hold for every sample."""

import itertools
import math

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st

from cloudcmp.stats.describe import (
    Interval,
    cov,
    geometric_mean,
    mean,
    median,
    median_interval,
    quantile_interval,
    quantile_ranks,
    quantiles,
    sd,
    summary,
    t_interval,
)

steady = settings(deadline=None, derandomize=True, max_examples=50)
numbers = st.floats(-1e6, 1e6, allow_subnormal=False).map(lambda v: round(v, 6))
samples = st.lists(numbers, min_size=1, max_size=40)


@pytest.mark.parametrize(
    ("n", "low", "high", "percent"),
    [(6, 1, 6, 96.9), (9, 2, 8, 96.1), (10, 2, 9, 97.9), (20, 6, 15, 95.9), (30, 10, 21, 95.7), (50, 18, 33, 96.7),
     (200, 86, 115, 96.0)],
)  # fmt: skip
def test_median_ranks_are_those_of_the_exact_table(n: int, low: int, high: int, percent: float) -> None:
    assert quantile_ranks(n, 0.5) == (low, high)
    assert round(100 * (1 - 2 * scipy.stats.binom.cdf(low - 1, n, 0.5)), 1) == percent
    x = np.random.default_rng(n).permutation(n) + 1.0
    assert median_interval(x) == Interval(low, high)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_five_values_have_no_95_percent_interval_of_the_median(n: int) -> None:
    assert median_interval(np.arange(n)) is None


def test_five_values_have_a_90_percent_interval_of_the_median() -> None:
    assert median_interval([5, 1, 4, 2, 3], confidence=0.9) == Interval(1, 5)
    # 1 - 2/2^5 is reached exactly, not only up to a rounding of the binomial tail.
    assert median_interval([5, 1, 4, 2, 3], confidence=0.9375) == Interval(1, 5)


def test_ranks_agree_with_scipys_quantile_test_where_both_are_defined() -> None:
    rng = np.random.default_rng(1)
    for n, p, confidence in itertools.product((6, 17, 80, 400), (0.5, 0.9, 0.25), (0.9, 0.95, 0.99)):
        x = rng.normal(size=n)
        theirs = scipy.stats.quantile_test(x, q=0, p=p).confidence_interval(confidence)
        ours = quantile_interval(x, p, confidence)
        if ours is None:
            assert math.isnan(theirs.low) or math.isnan(theirs.high)
        else:
            assert (ours.low, ours.high) == (theirs.low, theirs.high)


@pytest.mark.parametrize(("p", "fewest"), [(0.95, 72), (0.99, 368)])
def test_an_upper_percentile_needs_as_many_values_as_its_tail_says(p: float, fewest: int) -> None:
    assert quantile_ranks(fewest - 1, p) is None
    ranks = quantile_ranks(fewest, p)
    assert ranks is not None
    assert ranks[1] == fewest


def test_ranks_of_ten_million_values_are_near_the_normal_approximation() -> None:
    ranks = quantile_ranks(10**7, 0.5)
    assert ranks is not None
    assert abs(ranks[0] - (5e6 - 1.959964 * math.sqrt(10**7) / 2)) < 3


def test_known_values() -> None:
    x = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]
    assert (median(x), mean(x)) == (4.5, 5.0)
    assert sd(x) == pytest.approx(math.sqrt(32 / 7))
    assert cov(x) == pytest.approx(math.sqrt(32 / 7) / 5)
    assert quantiles([10, 20, 30, 40], (0.95, 0.0)) == pytest.approx((38.5, 10.0))  # h = 3 x 0.95 = 2.85
    assert geometric_mean([1, 10, 100]) == pytest.approx(10)


def test_t_interval_is_students_table_value_and_scipys() -> None:
    # t(0.975, 9) = 2.262157 (any printed table); mean 5.5, sd 3.02765, n 10.
    assert t_interval(range(1, 11)) == Interval(pytest.approx(3.334149, abs=1e-6), pytest.approx(7.665851, abs=1e-6))
    x = np.random.default_rng(2).lognormal(size=13)
    theirs = scipy.stats.ttest_1samp(x, 0).confidence_interval(0.9)
    assert t_interval(x, 0.9) == Interval(pytest.approx(theirs.low), pytest.approx(theirs.high))


def test_what_one_value_cannot_tell_is_none() -> None:
    assert sd([3.0]) is None
    assert cov([3.0]) is None
    assert t_interval([3.0]) is None
    assert quantile_interval([3.0], 0.9) is None


def test_undefined_is_none_and_not_nan_or_zero() -> None:
    assert cov([-1.0, 1.0]) is None
    assert geometric_mean([0.0, 1.0]) is None
    assert geometric_mean([-1.0, -1.0]) is None


def test_equal_values_have_no_spread_whatever_their_rounding() -> None:
    x = [0.1] * 7
    assert mean(x) == 0.1
    assert sd(x) == 0.0
    assert cov(x) == 0.0
    assert geometric_mean(x) == 0.1
    assert t_interval(x) == Interval(0.1, 0.1)


@given(samples, st.floats(0, 1))
@steady
def test_centres_and_quantiles_stay_within_the_values(x: list[float], p: float) -> None:
    for centre in (mean(x), median(x), quantiles(x, (p,))[0]):
        assert min(x) <= centre <= max(x)


@given(samples, st.floats(0, 1), st.floats(0, 1))
@steady
def test_quantiles_rise_with_p(x: list[float], p: float, q: float) -> None:
    low, high = quantiles(x, sorted((p, q)))
    assert low <= high


@given(samples, st.sampled_from([0.5, 2.0, 1024.0]), st.integers(-1000, 1000))
@steady
def test_scale_and_shift_carry_over(x: list[float], scale: float, shift: int) -> None:
    moved = [v * scale + shift for v in x]
    close = {"rel": 1e-9, "abs": 1e-6}
    assert median(moved) == pytest.approx(median(x) * scale + shift, **close)
    assert mean(moved) == pytest.approx(mean(x) * scale + shift, **close)
    before, after = sd(x), sd(moved)
    if before is None or after is None:
        assert len(x) == 1
        return
    assert after == pytest.approx(before * scale, **close)
    for interval in (t_interval, median_interval):
        one, other = interval(x), interval(moved)
        if one is None or other is None:
            assert interval is median_interval
            assert len(x) < 6
        else:
            assert (other.low, other.high) == (
                pytest.approx(one.low * scale + shift, **close),
                pytest.approx(one.high * scale + shift, **close),
            )


@given(samples)
@steady
def test_the_order_of_values_does_not_matter(x: list[float]) -> None:
    assert median(x) == median(x[::-1])
    assert median_interval(x) == median_interval(sorted(x))


@given(st.integers(1, 3000), st.floats(0.01, 0.99), st.floats(0.5, 0.999))
@steady
def test_ranks_are_as_close_together_as_the_confidence_allows(n: int, p: float, confidence: float) -> None:
    tail = (1 - confidence) / 2
    counts = scipy.stats.binom(n, p)
    ranks = quantile_ranks(n, p, confidence)
    if ranks is None:
        assert counts.cdf(0) > tail * (1 - 1e-9) or counts.sf(n - 1) > tail * (1 - 1e-9)
        return
    low, high = ranks
    assert 1 <= low <= high <= n
    assert counts.cdf(low - 1) <= tail * (1 + 1e-9) < counts.cdf(low) * (1 + 1e-8)
    assert counts.sf(high - 1) <= tail * (1 + 1e-9) < counts.sf(high - 2) * (1 + 1e-8)


@given(samples, st.lists(st.floats(0.0, 1.0), max_size=3))
@settings(parent=steady, max_examples=200)
def test_a_summary_is_what_each_function_says_to_the_last_bit(x: list[float], p: list[float]) -> None:
    found, shares = summary(x, [0.05, 0.5, 0.95, *p]), (0.05, 0.5, 0.95, *p)
    assert (found.median, found.mean, found.cov) == (median(x), mean(x), cov(x))
    assert (found.median_interval, found.t_interval) == (median_interval(x), t_interval(x))
    assert found.quantiles == quantiles(x, shares)


@pytest.mark.parametrize("x", [[], [1.0, math.nan], [math.inf]])
def test_a_summary_needs_finite_values(x: list[float]) -> None:
    with pytest.raises(ValueError, match=r"^summary: "):
        summary(x, ())
