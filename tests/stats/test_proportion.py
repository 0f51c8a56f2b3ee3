"""Shares of launches: the exact interval against scipy, against published numbers, and by its own definition."""

import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from cloudcmp.stats.describe import share_interval


@pytest.mark.parametrize("n", [1, 2, 5, 8, 20, 36, 72, 1000])
def test_it_is_scipys_exact_interval(n: int) -> None:
    for k in {0, 1, n // 3, n // 2, n - 1, n}:
        found, known = share_interval(k, n), scipy.stats.binomtest(k, n).proportion_ci(0.95, method="exact")
        assert (found.low, found.high) == pytest.approx((known.low, known.high), abs=1e-12)


# Newcombe, "Two-sided confidence intervals for the single proportion", Statistics in Medicine 17, 1998, table I,
# method 5 (Clopper-Pearson), to four places.
PUBLISHED = [(81, 263, 0.2527, 0.3676), (15, 148, 0.0578, 0.1617), (0, 20, 0.0, 0.1684), (1, 29, 0.0009, 0.1776)]


@pytest.mark.parametrize(("k", "n", "low", "high"), PUBLISHED)
def test_it_is_what_was_published(k: int, n: int, low: float, high: float) -> None:
    found = share_interval(k, n)
    assert (round(found.low, 4), round(found.high, 4)) == (low, high)


@given(st.integers(1, 60), st.data())
def test_each_end_leaves_a_fortieth(n: int, data: st.DataObject) -> None:
    k = data.draw(st.integers(0, n))
    found = share_interval(k, n)
    assert 0.0 <= found.low <= k / n <= found.high <= 1.0
    if k:
        assert scipy.stats.binom.sf(k - 1, n, found.low) == pytest.approx(0.025)
    if k < n:
        assert scipy.stats.binom.cdf(k, n, found.high) == pytest.approx(0.025)
    mirrored = share_interval(n - k, n)
    assert (1 - mirrored.high, 1 - mirrored.low) == pytest.approx((found.low, found.high))


@pytest.mark.parametrize("n", [8, 20])
def test_it_covers_every_chance_with_at_least_what_it_says(n: int) -> None:
    intervals = [share_interval(k, n) for k in range(n + 1)]
    for step in range(1, 200):
        p = step / 200
        covering = [k for k, one in enumerate(intervals) if one.low <= p <= one.high]
        assert scipy.stats.binom.pmf(covering, n, p).sum() >= 0.95


@pytest.mark.parametrize(("k", "n"), [(0, 0), (-1, 5), (6, 5)])
def test_counts_that_cannot_be_are_refused(k: int, n: int) -> None:
    with pytest.raises(ValueError, match="share_interval"):
        share_interval(k, n)
