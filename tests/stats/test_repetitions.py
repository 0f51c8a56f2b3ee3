"""The launches that a median needs: the definition by brute force, known numbers, and what cannot be told."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloudcmp.stats.describe import quantile_ranks
from cloudcmp.stats.repetitions import _mean_of_rank, about_launches_for, launches_for


@pytest.mark.parametrize(
    ("cov", "share", "n"),
    [(0.02, 0.01, 30), (0.02, 0.02, 9), (0.05, 0.02, 42), (0.05, 0.05, 9), (0.1, 0.05, 31), (0.2, 0.05, 111)],
)
def test_lognormal_launches_need_about_as_many_as_confirm_says(cov: float, share: float, n: int) -> None:
    found = [launches_for(np.random.default_rng(seed).lognormal(0, cov, 1500), share) for seed in range(5)]
    assert all(one is not None for one in found)
    assert float(np.median([one or 0 for one in found])) == pytest.approx(n, rel=0.25, abs=3)


def test_it_is_the_smallest_number_whose_mean_ends_are_within_the_share() -> None:
    x = np.random.default_rng(1).normal(100.0, 3.0, 12)
    found = launches_for(x, 0.05)
    assert found is not None

    def ends(n: int) -> tuple[float, float]:  # over all subsets, one by one
        ranks = quantile_ranks(n, 0.5)
        assert ranks is not None
        subsets = np.sort(np.array(list(itertools.combinations(x, n))), axis=1)
        return float(subsets[:, ranks[0] - 1].mean()), float(subsets[:, ranks[1] - 1].mean())

    middle = float(np.median(x))
    fits = [n for n in range(6, 13) if max(abs(end - middle) for end in ends(n)) <= 0.05 * middle]
    assert found == fits[0]


@pytest.mark.parametrize("size", [6, 9, 14])
def test_the_mean_of_a_rank_is_that_over_all_subsets(size: int) -> None:
    ordered = np.sort(np.random.default_rng(size).lognormal(0, 1, size))
    factorials = np.array([math.lgamma(k + 1) for k in range(size + 1)])
    for n in range(1, size + 1):
        subsets = np.sort(np.array(list(itertools.combinations(ordered, n))), axis=1)
        means = [_mean_of_rank(ordered, n, rank, factorials) for rank in range(1, n + 1)]
        assert means == pytest.approx(subsets.mean(axis=0), rel=1e-12)


def test_eleven_thousand_launches_need_as_many_as_random_subsets_of_them_say() -> None:
    x = np.random.default_rng(5).lognormal(0, 0.2, 11_000)
    found = launches_for(x, 0.05)
    assert found is not None

    def width(n: int) -> float:  # the larger distance of the mean ends from the median, over 400 random subsets
        random, ranks = np.random.default_rng(n), quantile_ranks(n, 0.5)
        assert ranks is not None
        subsets = np.sort([random.choice(x, n, replace=False) for _ in range(400)], axis=1)
        middle = float(np.median(x))
        return max(abs(float(subsets[:, rank - 1].mean()) - middle) / middle for rank in ranks)

    assert width(found * 5 // 4) < 0.05 < width(found * 4 // 5)


@given(seed=st.integers(0, 2**32), n=st.integers(6, 60))
def test_a_wider_interval_needs_no_more(seed: int, n: int) -> None:
    x = np.random.default_rng(seed).lognormal(0, 0.05, n)
    needed = [launches_for(x, share) or n + 1 for share in (0.01, 0.02, 0.05, 0.2)]
    assert needed == sorted(needed, reverse=True)


def test_too_few_launches_say_nothing() -> None:
    assert launches_for([1.0, 1.0, 1.0, 1.0, 1.0], 0.05) is None
    assert launches_for([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 0.05) is None
    assert launches_for([5.0] * 6, 0.01) == 6
    with pytest.raises(ValueError, match="share"):
        launches_for([1.0] * 9, 5.0)


def test_the_rule_of_thumb() -> None:
    assert about_launches_for(0.05, 0.01) == 151  # (1.96 x 1.2533 x 5)^2
    assert about_launches_for(0.001, 0.05) == 6
