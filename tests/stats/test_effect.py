"""Effect sizes against brute force and scipy, and how they behave under exchange, scale and shift."""

import math

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st

from cloudcmp.stats import many
from cloudcmp.stats.many import cliffs_delta, hodges_lehmann, hodges_lehmann_shift

steady = settings(deadline=None, derandomize=True, max_examples=50)
numbers = st.integers(-50, 50).map(lambda v: v / 4)
samples = st.lists(numbers, min_size=1, max_size=25)
pairs = st.lists(numbers, min_size=2, max_size=25)


@given(samples, samples)
@steady
def test_cliffs_delta_is_the_count_over_all_pairs(a: list[float], b: list[float]) -> None:
    counted = sum((x > y) - (x < y) for x in a for y in b) / (len(a) * len(b))
    assert cliffs_delta(a, b) == pytest.approx(counted)
    assert cliffs_delta(a, b) == -cliffs_delta(b, a)
    assert cliffs_delta([math.exp(v) for v in a], [math.exp(v) for v in b]) == cliffs_delta(a, b)


def test_cliffs_delta_is_mann_and_whitneys_u() -> None:
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=30), rng.normal(0.4, 2, 50)
    u = scipy.stats.mannwhitneyu(a, b).statistic
    assert cliffs_delta(a, b) == pytest.approx(2 * u / (30 * 50) - 1)
    assert cliffs_delta([2.0], [1.0]) == 1.0


def test_cliffs_delta_of_large_samples_needs_no_table_of_pairs() -> None:
    rng = np.random.default_rng(4)
    delta = cliffs_delta(rng.normal(0.5, 1, 300_000), rng.normal(0, 1, 300_000))
    assert delta == pytest.approx(2 * scipy.stats.norm.cdf(0.5 / math.sqrt(2)) - 1, abs=0.005)


@given(samples)
@steady
def test_hodges_lehmann_is_the_median_of_walsh_averages(d: list[float]) -> None:
    walsh = [(d[i] + d[j]) / 2 for i in range(len(d)) for j in range(i, len(d))]
    assert hodges_lehmann(d) == pytest.approx(float(np.median(walsh)))
    assert hodges_lehmann([-v for v in d]) == pytest.approx(-hodges_lehmann(d))
    assert hodges_lehmann([v * 8 + 3 for v in d]) == pytest.approx(hodges_lehmann(d) * 8 + 3)


@given(samples, samples)
@steady
def test_hodges_lehmann_shift_is_the_median_of_pairwise_differences(a: list[float], b: list[float]) -> None:
    assert hodges_lehmann_shift(a, b) == pytest.approx(float(np.median([x - y for x in a for y in b])))
    assert hodges_lehmann_shift(a, b) == pytest.approx(-hodges_lehmann_shift(b, a))


@given(samples, samples)
@settings(parent=steady, max_examples=40)
def test_counting_by_bisection_finds_what_listing_finds(a: list[float], b: list[float]) -> None:
    listed = hodges_lehmann(a), hodges_lehmann_shift(a, b)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(many, "_LISTED_PAIRS", 0)
        assert (hodges_lehmann(a), hodges_lehmann_shift(a, b)) == pytest.approx(listed, abs=1e-12)


def test_many_pairs_take_no_memory() -> None:
    rng = np.random.default_rng(6)
    a, b = rng.normal(3, 1, 40_001), rng.normal(1, 1, 30_000)
    assert hodges_lehmann(a) == pytest.approx(3, abs=0.03)
    assert hodges_lehmann_shift(a, b) == pytest.approx(2, abs=0.04)


def test_one_wild_round_hardly_moves_hodges_lehmann() -> None:
    assert abs(hodges_lehmann([1.0, 1.1, 0.9, 1.0, 1.05, 500.0]) - 1.0) < 0.1
