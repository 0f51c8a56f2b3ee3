"""Means, quantiles and shares of values in clusters, against scipy, numpy and planted clusters."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as witness

from cloudcmp.stats.clusters import cluster_mean, effective_clusters, quantile_interval, share_bounds, weighted_quantile

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


@given(st.lists(st.floats(1.0, 100.0), min_size=6, max_size=40), st.integers(1, 3))
def test_shares_have_the_exact_interval_of_as_many_tries_as_clusters(values: list[float], copies: int) -> None:
    limits = np.linspace(0.0, 101.0, 7)
    clusters = np.repeat(np.arange(len(values)), copies)
    share, low, high = share_bounds(np.repeat(values, copies), np.ones(len(clusters)), clusters, limits)
    assert (share[0], share[-1]) == (0.0, 1.0)
    assert (np.diff(share) >= 0).all()
    for at, limit in enumerate(limits):
        exact = witness.binomtest(sum(one <= limit for one in values), len(values)).proportion_ci(0.95, "exact")
        assert (low[at], high[at]) == pytest.approx((exact.low, exact.high), abs=1e-6)


def test_a_share_near_one_is_not_surer_than_its_tries() -> None:
    """39 of 40: draws of whole clusters would find all 40 often, and at least 37 nearly always."""
    _, low, high = share_bounds([1.0] * 39 + [9.0], np.ones(40), range(40), [5.0])
    assert (float(low[0]), float(high[0])) == pytest.approx((0.868, 0.999), abs=1e-3)


def test_a_cluster_with_all_the_weight_is_one_cluster() -> None:
    weight = np.array([5e7, *[1e5] * 7])
    assert effective_clusters(weight, range(8)) == pytest.approx(1.03, abs=0.01)
    assert effective_clusters(np.ones(8), range(8)) == 8.0
    assert effective_clusters([1.0, 1.0, 2.0], [0, 0, 1]) == 2.0
    found = cluster_mean([-0.1, *np.linspace(-1.0, 1.2, 7)], weight, range(8))
    assert found is not None
    assert found.p_value() > 0.05
    assert quantile_interval(range(8), weight, range(8), 0.5, seed=1) is None
    assert np.isnan(share_bounds(range(8), weight, range(8), [3.0])[1]).all()


def test_the_mean_of_uneven_weights_has_an_interval_that_holds() -> None:
    random = np.random.default_rng(7)
    held = 0
    for _ in range(600):
        weight = random.lognormal(0.0, 1.0, 25)
        found = cluster_mean(random.normal(size=25), weight, range(25))
        assert found is not None
        interval = found.interval()
        held += interval.low <= 0.0 <= interval.high
    assert held / 600 > 0.93


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
