"""Evidence that is valid at every look: its formula, its intervals, and how often equals pass for different."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from cloudcmp.stats.evidence import PRIOR, fixed_level, log_evidence, valid_p, valid_t


def one(values: np.ndarray, margin: float = 0.0) -> float:
    """The evidence of one sample, with its sums by numpy."""
    mean = values.mean()
    squares = ((values - mean) ** 2).sum()
    return float(log_evidence(np.array(float(values.size)), np.array(mean + margin), np.array(squares)))


@pytest.mark.parametrize(("n", "shift"), [(2, 0.3), (3, -1.0), (6, 0.8), (15, 0.2), (40, 0.6), (40, -0.3)])
def test_the_evidence_is_a_mixture_of_likelihood_ratios_of_t(n: int, shift: float) -> None:
    """Second witness: scipy's noncentral t, integrated over a normal prior of the effect that is cut off at 0."""
    values = np.random.default_rng(n).normal(shift, 1.0, n)
    t, df = values.mean() / (values.std(ddof=1) / np.sqrt(n)), n - 1

    def weighed(effect: float) -> float:
        prior = 2.0 * stats.norm.pdf(effect, scale=np.sqrt(PRIOR))
        return float(prior * stats.nct.pdf(t, df, np.sqrt(n) * effect) / stats.t.pdf(t, df))

    expected, _ = integrate.quad(weighed, 0.0, 8.0, limit=200)
    assert one(values) == pytest.approx(np.log(expected), abs=1e-6)


@settings(deadline=None)
@given(
    st.integers(2, 300), st.floats(-3.0, 3.0), st.floats(0.0, 2.0), st.floats(1e-3, 10.0)
)  # fmt: skip
def test_the_evidence_grows_with_the_mean(n: int, mean: float, more: float, spread: float) -> None:
    count, squares = np.array(float(n)), np.array(spread * (n - 1))
    low, high = log_evidence(count, np.array([mean, mean + more]), squares)
    assert high >= low - 1e-9


@given(st.floats(1e-3, 1e3), st.integers(2, 30))
def test_the_evidence_has_no_unit(unit: float, n: int) -> None:
    values = np.random.default_rng(n).normal(0.5, 1.0, n)
    assert one(unit * values) == pytest.approx(one(values), rel=1e-6, abs=1e-6)


def test_values_without_spread_are_evidence_if_they_are_above_and_none_if_they_are_0() -> None:
    count = np.array([0.0, 1.0, 5.0, 5.0])
    found = log_evidence(count, np.array([1.0, 1.0, 0.0, 0.1]), np.zeros(4))
    assert list(found[:3]) == [-np.inf] * 3
    assert found[3] > 0.0


def test_equals_pass_for_different_in_five_percent_of_endless_looks_at_most() -> None:
    rng = np.random.default_rng(3)
    rows = rng.standard_normal((4000, 200))
    above, below = valid_p(rows)
    for p in (above, below):
        assert 0.01 < (p < 0.05).mean() < 0.05
    peeking = np.array([stats.ttest_1samp(rows[:, :n], 0.0, axis=1).pvalue for n in range(6, 200, 10)]).min(axis=0)
    assert (peeking < 0.05).mean() > 0.15  # so it is not for nothing


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 1000), st.integers(3, 12))
def test_more_looks_never_take_a_p_value_back(seed: int, n: int) -> None:
    rows = np.random.default_rng(seed).normal(0.3, 1.0, (3, 12))
    for fewer, more in zip(valid_p(rows[:, :n]), valid_p(rows), strict=True):
        assert (more <= fewer).all()


def test_a_p_value_is_that_of_the_best_look() -> None:
    rows = np.random.default_rng(7).normal(0.4, 1.0, (5, 20))
    for margin in (0.0, 0.5):
        above, below = valid_p(rows, margin)
        for row, a, b in zip(rows, above, below, strict=True):
            up = max(one(row[:n], margin) for n in range(2, 21))
            down = max(one(-row[:n], margin) for n in range(2, 21))
            assert (a, b) == pytest.approx((min(1.0, np.exp(-up)), min(1.0, np.exp(-down))))


@pytest.mark.parametrize("n", [6, 12, 50, 400])
@pytest.mark.parametrize("level", [0.9, 0.95, 0.998])
def test_an_interval_ends_where_the_two_sided_evidence_does(n: int, level: float) -> None:
    width = float(valid_t(np.array(float(n)), level))
    if n == 6 and level == 0.998:
        assert width == np.inf  # no six differences suffice for it
        return
    mean = width / np.sqrt(n)  # of differences with a standard deviation of 1
    sides = [one_sided(n, mean), one_sided(n, -mean)]
    assert np.mean(np.exp(sides)) == pytest.approx(1.0 / (1.0 - level), rel=1e-6)
    assert width > stats.t.ppf(0.5 + level / 2.0, n - 1)


def one_sided(n: int, mean: float) -> float:
    return float(log_evidence(np.array(float(n)), np.array(mean), np.array(n - 1.0)))


def test_too_few_differences_have_no_interval() -> None:
    assert list(valid_t(np.array([0.0, 1.0, 2.0]), 0.95)) == [np.inf] * 3
    assert np.isfinite(valid_t(np.array(6.0), 0.95))
    assert fixed_level(1, 0.05) == 0.0


def test_the_interval_covers_at_every_look() -> None:
    rng = np.random.default_rng(11)
    rows = rng.normal(1.0, 2.0, (2000, 100))
    missed = np.zeros(2000, dtype=bool)
    for n in range(2, 101):
        mean, error = rows[:, :n].mean(axis=1), rows[:, :n].std(axis=1, ddof=1) / np.sqrt(n)
        missed |= np.abs(mean - 1.0) > valid_t(np.array(float(n)), 0.95) * error
    assert 0.005 < missed.mean() < 0.05


@pytest.mark.parametrize("n", [6, 20, 100])
def test_the_level_at_one_look_is_stricter_and_has_the_same_critical_value(n: int) -> None:
    level = fixed_level(n, 0.05)
    assert 0.0 < level < 0.05
    assert stats.t.ppf(1.0 - level / 2.0, n - 1) == pytest.approx(float(valid_t(np.array(float(n)), 0.95)))
