"""Change points: brute force and scipy as witnesses, what any series keeps, planted changes, and noise without any."""

import itertools

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st
from tests.slices import examples

from cloudcmp.stats.change_points import ALPHA, FEWEST, best_split, change_points, correlation


def energy(x: np.ndarray, at: int) -> float:
    """The energy distance of both sides of a split by its definition, over all pairs."""
    left, right = x[:at], x[at:]
    between, first, second = (
        np.abs(a[:, None] - b[None, :]).mean() for a, b in ((left, right), (left, left), (right, right))
    )
    return left.size * right.size / x.size * (2 * between - first - second)


@given(values=st.lists(st.integers(-20, 20), min_size=2 * FEWEST, max_size=40))
def test_the_best_split_has_the_largest_energy_distance_of_all(values: list[int]) -> None:
    x = np.array(values, np.float64)
    energies = [energy(x, at) for at in range(FEWEST, x.size - FEWEST + 1)]
    assert energy(x, best_split(x)) == pytest.approx(max(energies), abs=1e-9)


def test_few_quantiles_find_nearly_the_same_split() -> None:
    random = np.random.default_rng(4)
    for _ in range(20):
        x = random.normal(size=400)
        x[150:] += 2.0
        assert abs(best_split(x, 16) - best_split(x, 400)) <= 5


def test_a_step_is_found_where_it_is() -> None:
    x = np.repeat([10.0, 11.0, 9.0], 20) + np.tile([0.0, 0.1], 30)
    found = change_points(x)
    assert [one.at for one in found] == [20, 40]
    assert [(one.n_before, one.n_after) for one in found] == [(20, 20), (20, 20)]
    assert [one.difference for one in found] == pytest.approx([1.0, -2.0])
    assert found[0].before == pytest.approx(10.05)
    assert found[1].after == pytest.approx(9.05)
    assert [one.at for one in change_points(x, least=1.5)] == [40]


def planted(seed: int, n: int = 200) -> np.ndarray:
    x = np.random.default_rng(seed).normal(100.0, 1.0, n)
    x[n // 2 :] += 3.0
    return x


@given(seed=st.integers(0, 2**32))
def test_places_follow_ranks_alone(seed: int) -> None:
    x = planted(seed)
    places = [one.at for one in change_points(x)]
    assert places == [one.at for one in change_points(np.exp(x / 10.0))]
    assert places
    turned = [one.at for one in change_points(-x)]  # other quantiles
    assert turned == pytest.approx(places, abs=3)


@given(seed=st.integers(0, 2**32), scale=st.floats(1e-9, 1e9), shift=st.floats(-1e3, 1e3))
def test_sizes_have_the_unit_of_the_values(seed: int, scale: float, shift: float) -> None:
    x = planted(seed)
    for one, other in zip(change_points(x), change_points(scale * (x + shift)), strict=True):
        assert other.difference == pytest.approx(scale * one.difference, rel=1e-6)
        assert other.bounds.low == pytest.approx(scale * one.bounds.low, rel=1e-6)
        assert one.bounds.low <= one.difference <= one.bounds.high
        assert one.p <= ALPHA


@given(values=st.lists(st.floats(-1e6, 1e6), max_size=60).filter(bool))
def test_levels_are_long_enough_and_apart(values: list[float]) -> None:
    found = change_points(values, least=0.5)
    edges = [0, *(one.at for one in found), len(values)]
    if found:
        assert min(b - a for a, b in itertools.pairwise(edges)) >= FEWEST
    assert all(abs(one.difference) >= 0.5 for one in found)


def test_without_correlation_the_test_is_students_on_normal_scores() -> None:
    # Neighbours that alternate have a negative correlation, which counts as none.
    noise = np.tile([1.0, -1.0], 100) + np.random.default_rng(2).normal(0, 0.3, 200)
    x = noise + np.repeat([0.0, 2.0], 100)
    assert correlation(x) == 0.0
    (one,) = change_points(x)
    scores = scipy.stats.norm.ppf((scipy.stats.rankdata(x) - 0.375) / 200.25)
    by_rank = scipy.stats.ttest_ind(scores[: one.at], scores[one.at :]).pvalue
    spread = max(x[: one.at].var(ddof=1), x[one.at :].var(ddof=1))
    t = (x[one.at :].mean() - x[: one.at].mean()) / np.sqrt(spread * (1 / one.at + 1 / (200 - one.at)))
    assert one.p == pytest.approx(2 * min(by_rank, 2 * scipy.stats.t.sf(t, 198)), rel=1e-9)
    welch = scipy.stats.ttest_ind(x[one.at :], x[: one.at], equal_var=False).confidence_interval()
    assert (one.bounds.low, one.bounds.high) == pytest.approx((welch.low, welch.high), rel=1e-9)


def test_a_large_change_is_found_in_few_and_in_correlated_values() -> None:
    x = np.random.default_rng(3).normal(size=20)
    x[12:] += 30.0
    assert [one.at for one in change_points(x)] == [12]
    y = autoregressive(3, 60, 0.7)
    y[40:] += 40.0
    assert [one.at for one in change_points(y)] == [40]


def test_nothing_is_found_in_too_little_or_in_a_constant() -> None:
    assert change_points([1.0] * 4 + [9.0] * 5) == ()
    assert change_points([3.0] * 500) == ()
    with pytest.raises(ValueError, match="change_points"):
        change_points([1.0, float("nan")] * 10)


def test_a_few_outliers_are_no_change() -> None:
    x = np.random.default_rng(5).normal(size=300)
    x[[40, 41, 42, 43]] = 1e6
    x[200] = -1e9
    assert change_points(x) == ()


def test_a_level_of_a_few_days_between_two_others_is_found() -> None:
    x = np.random.default_rng(6).normal(size=400)
    x[200:215] += 6.0
    assert [one.at for one in change_points(x)] == [200, 215]


def autoregressive(seed: int, n: int, r: float) -> np.ndarray:
    steps = np.random.default_rng(seed).normal(size=n + 100)
    return np.asarray(scipy.signal.lfilter([1.0], [1.0, -r], steps)[100:])


@pytest.mark.parametrize("r", [0.0, 0.3, 0.6, 0.8])
def test_the_correlation_of_neighbours_is_on_the_safe_side(r: float) -> None:
    found = np.array([correlation(autoregressive(seed, 365, r)) for seed in range(60)])
    assert (found >= r - 0.03).mean() > 0.7
    assert abs(float(np.median(found)) - r - 1.5 / np.sqrt(365)) < 0.05
    x = autoregressive(1, 2000, r)
    x[1000:] += 5.0
    assert correlation(x) == pytest.approx(r, abs=0.12)  # a change of level does not bias it


@pytest.mark.parametrize(
    "draw",
    [
        lambda seed: np.random.default_rng(seed).normal(size=365),
        lambda seed: np.random.default_rng(seed).standard_t(2, size=365),
        lambda seed: np.random.default_rng(seed).lognormal(0, 2, size=365),
        lambda seed: autoregressive(seed, 365, 0.6),
    ],
)  # fmt: skip
def test_a_year_of_noise_has_no_change(draw) -> None:  # type: ignore[no-untyped-def]
    # At one look, fewer than 1 of 100 years are wrong (benchmarks/change_points.py looks each day).
    years = examples(400, 4)
    assert sum(bool(change_points(draw(seed))) for seed in range(years)) <= 0.01 * years + 2


def test_a_change_above_the_noise_is_found_and_its_interval_holds_it() -> None:
    years, found, held = examples(200, 4), 0, 0
    for seed in range(years):
        x = np.random.default_rng(seed).normal(size=365)
        x[180:] += 1.5
        near = [one for one in change_points(x) if abs(one.at - 180) <= 10]
        found += bool(near)
        held += sum(one.bounds.low <= 1.5 <= one.bounds.high for one in near)
    assert found >= 0.95 * years
    assert held >= 0.85 * found


def test_long_series_are_searched_in_windows() -> None:
    random = np.random.default_rng(9)
    x = random.normal(size=20_000)
    x[7_003:] += 1.5
    x[7_400:] -= 1.5
    x[15_000:] += 1.0
    found = change_points(x)
    assert [one.at for one in found] == pytest.approx([7_003, 7_400, 15_000], abs=10)
    assert max(one.n_before for one in found) == 512
