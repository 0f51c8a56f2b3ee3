"""Spreads and their ratios, of single values and inside groups: scipy as second witness, and what cannot be told."""

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from cloudcmp.stats.spread import (
    freedom,
    sd_interval,
    sd_ratio,
    spread_bounds,
    spread_ratio,
    within_freedom,
    within_interval,
)


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


values_of = st.lists(st.floats(1.0, 100.0), min_size=5, max_size=30).filter(lambda x: len(set(x)) > 2)


@given(a=values_of, b=values_of)
def test_the_ratio_of_two_samples_has_no_first_and_second(a: list[float], b: list[float]) -> None:
    one, other = sd_ratio(a, b), sd_ratio(b, a)
    assert one is not None
    assert other is not None
    assert one.low <= one.high
    assert np.allclose([one.ratio, one.low, one.high], [1 / other.ratio, 1 / other.high, 1 / other.low])
    assert np.isclose(one.ratio, np.std(a, ddof=1) / np.std(b, ddof=1))
    assert np.isclose(one.p, scipy.stats.levene(a, b, center="median").pvalue)


@given(x=values_of, scale=st.floats(1e-6, 1e6))
def test_the_interval_of_a_spread_has_the_unit_of_the_values(x: list[float], scale: float) -> None:
    one, other = sd_interval(x), sd_interval([scale * value for value in x])
    assert one is not None
    assert other is not None
    assert np.allclose([other.low, other.high], [scale * one.low, scale * one.high])


@pytest.mark.parametrize(
    ("n", "draw", "truth", "least"),
    [
        (10, lambda random, n: random.normal(size=n), 1.0, 0.92),
        (30, lambda random, n: random.normal(size=n), 1.0, 0.91),
        (10, lambda random, n: random.random(n), 12**-0.5, 0.92),
        (20, lambda random, n: random.standard_t(5, size=n), (5 / 3) ** 0.5, 0.85),
    ],
)
def test_intervals_of_spreads_hold_the_truth(n: int, draw, truth: float, least: float) -> None:  # type: ignore[no-untyped-def]
    random, held, equal = np.random.default_rng(n), 0, 0
    for _ in range(400):
        one, ratio = sd_interval(draw(random, n)), sd_ratio(draw(random, n), draw(random, n))
        assert one is not None
        assert ratio is not None
        held += one.low <= truth <= one.high
        equal += ratio.low <= 1.0 <= ratio.high
    assert held >= least * 400
    assert equal >= 0.92 * 400


def test_the_spread_inside_groups_is_that_of_their_residuals() -> None:
    random, held = np.random.default_rng(1), 0
    for _ in range(300):
        groups = [random.normal(random.normal(0, 10), 1.0, 2) for _ in range(12)]
        found = within_interval(groups)
        assert found is not None
        assert found[1] is not None
        held += found[1].low <= 1.0 <= found[1].high
        residual = sum(((one - one.mean()) ** 2).sum() for one in groups) / 12
        assert np.isclose(found[0], np.sqrt(residual))
    assert held >= 0.92 * 300


def test_a_spread_of_too_few_is_unknown() -> None:
    assert sd_interval([1.0, 2.0, 3.0, 4.0]) is None
    assert sd_interval([2.0] * 9) is None
    assert sd_ratio([1.0, 2.0, 3.0, 4.0, 5.0], [1.0] * 9) is None
    assert within_interval([[1.0], [2.0]]) is None
    found = within_interval([[1.0, 2.0], [2.0, 4.0]])
    assert found is not None
    assert found[1] is None


def test_heavy_tails_have_fewer_degrees_of_freedom_and_light_ones_not_more() -> None:
    random = np.random.default_rng(3)
    normal = [freedom(random.standard_normal(30)) for _ in range(200)]
    heavy = [freedom(random.standard_t(4, 30)) for _ in range(200)]
    assert max(normal) == 29.0
    assert np.median(heavy) < 0.8 * np.median(normal)
    assert freedom(np.arange(30.0)) == 29.0


def test_the_degrees_of_freedom_of_runs_are_at_most_those_of_normal_ones() -> None:
    random = np.random.default_rng(4)
    alike = [random.normal(level, 1.0, 3) for level in range(12)]
    assert 8.0 < within_freedom(alike) <= 24.0
    uneven = [random.normal(level, 10.0 if level == 3 else 0.1, 3) for level in range(12)]
    assert within_freedom(uneven) < 3.0


def test_the_interval_of_a_spread_is_that_of_the_chi_squared_distribution() -> None:
    held = 0
    for seed in range(400):
        x = np.random.default_rng(seed).normal(10.0, 2.0, 8)
        bounds = spread_bounds(float(x.std(ddof=1)), 7.0)
        held += bounds.low <= 2.0 <= bounds.high
    assert 370 <= held <= 390
    low, high = 7.0 / scipy.stats.chi2.ppf([0.975, 0.025], 7)
    assert np.allclose([spread_bounds(2.0, 7.0).low, spread_bounds(2.0, 7.0).high], 2.0 * np.sqrt([low, high]))
