"""Means, quantiles and shares of values in clusters, against scipy, numpy and planted clusters."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as witness

from cloudcmp.stats.clusters import cluster_mean, quantile_interval, share_bounds, weighted_quantile

VALUES = st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=30)
_SLIGHT = 1e-6


@given(VALUES)
def test_single_values_give_the_one_sample_t_test(values: list[float]) -> None:
    found = cluster_mean(values, np.ones(len(values)), np.arange(len(values)))
    assert found is not None
    if np.std(values) < _SLIGHT * max(1.0, np.abs(values).max()):
        return
    other = witness.ttest_1samp(values, 0.0)
    assert found.df == other.df
    assert found.p_value() == pytest.approx(other.pvalue, rel=1e-6, abs=1e-12)
    ours, theirs = found.interval(), other.confidence_interval(0.95)
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), rel=1e-6, abs=1e-6)
    lower = witness.ttest_1samp(values, -5.0, alternative="greater").pvalue
    upper = witness.ttest_1samp(values, 5.0, alternative="less").pvalue
    assert found.p_within(5.0) == pytest.approx(max(lower, upper), rel=1e-6, abs=1e-12)


@given(VALUES, st.integers(2, 4), st.floats(0.1, 1e6))
def test_copies_inside_a_cluster_and_units_of_weight_change_nothing(
    values: list[float], times: int, unit: float
) -> None:
    once = cluster_mean(values, np.ones(len(values)), np.arange(len(values)))
    copied = cluster_mean(
        np.repeat(values, times), np.full(len(values) * times, unit), np.repeat(np.arange(len(values)), times)
    )
    assert once is not None
    assert copied is not None
    assert (copied.mean, copied.error) == pytest.approx((once.mean, once.error), rel=1e-6, abs=1e-6)
    assert (copied.df, copied.n) == (once.df, once.n)


def test_one_cluster_tells_nothing_and_equal_values_have_no_error() -> None:
    assert cluster_mean([1.0, 2.0], [1.0, 1.0], [7, 7]) is None
    assert quantile_interval([1.0] * 5, [1.0] * 5, range(5), 0.5, seed=1) is None
    same = cluster_mean([3.0] * 4, [1.0] * 4, range(4))
    assert same is not None
    assert (same.error, same.p_value(), same.p_within(4.0), same.p_within(2.0)) == (0.0, 0.0, 0.0, 1.0)
    zero = cluster_mean([0.0] * 4, [1.0] * 4, range(4))
    assert zero is not None
    assert zero.p_value() == 1.0


def test_intervals_hold_what_clusters_share_and_those_of_single_values_do_not() -> None:
    random = np.random.default_rng(5)
    clusters = np.repeat(np.arange(15), 6)
    held = np.zeros(2)
    for _ in range(400):
        values = random.normal(size=15)[clusters] + random.normal(size=90)
        for at, code in enumerate((clusters, np.arange(90))):
            found = cluster_mean(values, np.ones(90), code)
            assert found is not None
            interval = found.interval()
            held[at] += interval.low <= 0.0 <= interval.high
    assert held[0] / 400 > 0.92
    assert held[1] / 400 < 0.85


@given(st.lists(st.tuples(st.floats(-1e6, 1e6), st.floats(0.1, 1e3)), min_size=1, max_size=30), st.floats(0.01, 0.99))
def test_a_weighted_quantile_is_numpys_inverted_cdf(pairs: list[tuple[float, float]], p: float) -> None:
    values, weights = map(np.array, zip(*pairs, strict=True))
    ours = weighted_quantile(values, weights, p)
    theirs = np.quantile(values, p, weights=weights, method="inverted_cdf")
    at = np.cumsum(weights[np.argsort(values, kind="stable")]) / weights.sum()
    if np.abs(at - p).min() > 1e-9:  # at a step, rounding decides
        assert ours == theirs


@given(st.lists(st.floats(1.0, 100.0), min_size=6, max_size=40), st.integers(0, 3))
def test_shares_rise_and_lie_in_their_bounds(values: list[float], seed: int) -> None:
    limits = np.linspace(0.0, 101.0, 7)
    share, low, high = share_bounds(values, np.ones(len(values)), range(len(values)), limits, seed=seed)
    assert (share[0], share[-1]) == (0.0, 1.0)
    assert (np.diff(share) >= 0).all()
    assert (low <= share + 0.35).all()
    assert (high >= share - 0.35).all()
    exact = witness.binomtest(0, len(values)).proportion_ci(0.95, "exact")
    assert (low[0], high[0]) == pytest.approx((exact.low, exact.high))
    assert (low[-1], high[-1]) == pytest.approx((1 - exact.high, 1.0))


def test_the_interval_of_a_median_is_about_that_of_order_statistics() -> None:
    values = np.arange(1.0, 102.0)
    found = quantile_interval(values, np.ones(101), range(101), 0.5, seed=1)
    assert found is not None
    ranks = witness.binom.ppf([0.025, 0.975], 101, 0.5)
    assert abs(found.low - ranks[0]) <= 3
    assert abs(found.high - ranks[1]) <= 3
    wide = quantile_interval(values, np.ones(101), np.arange(101) // 5, 0.5, seed=1)
    assert wide is not None
    assert wide.high - wide.low > found.high - found.low
