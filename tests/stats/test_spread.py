"""The ratio of two spreads inside groups: scipy as second witness, and what cannot be told."""

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from cloudcmp.stats.spread import spread_ratio


def groups_of(seed: int, n: int, runs: int, ratio: float) -> list[tuple[list[float], list[float]]]:
    random = np.random.default_rng(seed)
    levels = random.normal(100.0, 20.0, n)
    return [
        (list(level + random.normal(0, ratio, runs)), list(2 * level + random.normal(0, 1.0, runs))) for level in levels
    ]


@given(seed=st.integers(0, 2**32), runs=st.integers(2, 5))
def test_the_ratio_is_that_of_the_residuals_of_a_model_with_a_level_for_each_group(seed: int, runs: int) -> None:
    groups = groups_of(seed, 7, runs, 3.0)
    found = spread_ratio(groups, seed=1)
    assert found is not None
    residual = []
    for side in (0, 1):
        rows = np.array([pair[side] for pair in groups])
        residual.append(np.sqrt(((rows - rows.mean(axis=1, keepdims=True)) ** 2).sum() / (7 * (runs - 1))))
    assert np.isclose(found.ratio, residual[0] / residual[1])
    assert found.low <= found.ratio <= found.high or np.isclose(found.low, found.high)
    centred = [np.concatenate([np.array(pair[side]) - np.median(pair[side]) for pair in groups]) for side in (0, 1)]
    assert np.isclose(found.p, scipy.stats.levene(*centred, center="median").pvalue)


@pytest.mark.parametrize("ratio", [1.0, 3.0])
def test_the_interval_holds_the_truth_about_as_often_as_it_says(ratio: float) -> None:
    held = sum(
        found.low <= ratio <= found.high
        for seed in range(200)
        if (found := spread_ratio(groups_of(seed, 12, 3, ratio), seed=seed))
    )
    assert 170 <= held <= 200


def test_equal_seeds_give_equal_intervals() -> None:
    groups = groups_of(1, 6, 3, 2.0)
    assert spread_ratio(groups, seed=5) == spread_ratio(groups, seed=5)


def test_too_little_is_unknown() -> None:
    assert spread_ratio([([1.0, 2.0], [1.0, 3.0])], seed=1) is None
    assert spread_ratio([([1.0], [1.0, 3.0])] * 5, seed=1) is None
    assert spread_ratio([([1.0, 1.0], [1.0, 3.0])] * 5, seed=1) is None
    with pytest.raises(ValueError, match="values"):
        spread_ratio([([1.0, float("nan")], [1.0, 3.0])] * 5, seed=1)
