"""Many pairs at once: each row as scipy and the function for a single pair have it, in one step or in several."""

import numpy as np
import pytest
import scipy

from cloudcmp.stats import many, tests

RNG = np.random.default_rng(7)
A, B = RNG.lognormal(0.0, 0.2, (40, 9)), RNG.lognormal(0.1, 0.4, (40, 7))


def test_moments_are_those_of_numpy_and_equal_values_have_no_spread() -> None:
    mean, sd = many.moments(np.vstack([A, np.full((1, 9), 0.1)]))
    np.testing.assert_allclose(mean[:-1], A.mean(axis=1), rtol=1e-14)
    np.testing.assert_allclose(sd[:-1], A.std(axis=1, ddof=1), rtol=1e-14)
    assert (mean[-1], sd[-1]) == (0.1, 0.0)
    assert np.isnan(many.moments(A[:, :1])[1]).all()


def test_welch_is_that_of_scipy_and_of_one_pair() -> None:
    moments = many.moments(A), many.moments(B)
    counts = np.full(40, 9.0), np.full(40, 7.0)
    difference, error, df = many.welch(*zip(*moments, strict=True), counts)
    p = many.t_test(difference, error, df)
    np.testing.assert_allclose(p, scipy.stats.ttest_ind(A, B, axis=1, equal_var=False).pvalue, rtol=1e-11)
    alone = [tests.welch_t(a, b) for a, b in zip(A, B, strict=True)]
    assert p.tolist() == [one.p_value for one in alone if one is not None]
    np.testing.assert_allclose(many.t_critical(df, 0.9), scipy.stats.t.ppf(0.95, df), rtol=1e-11)


def test_without_error_a_difference_is_certain_or_none() -> None:
    none = np.zeros(2)
    assert many.t_test(np.array([0.0, 1.0]), none, np.full(2, 5.0)).tolist() == [1.0, 0.0]
    assert np.isnan(many.t_test(np.array([1.0]), np.array([np.nan]), np.array([0.0]))).all()


@pytest.mark.parametrize("at_once", [1 << 20, 100, 1])
def test_robust_figures_are_those_of_one_pair(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(many, "_AT_ONCE", at_once)
    rows = list(zip(A, B, strict=True))
    assert many.hodges_lehmann_rows(A).tolist() == [many.hodges_lehmann(one) for one in A]
    assert many.hodges_lehmann_shifts(A, B).tolist() == [many.hodges_lehmann_shift(a, b) for a, b in rows]
    assert many.cliffs_deltas(A, B).tolist() == [many.cliffs_delta(a, b) for a, b in rows]
    ties = np.round(A, 1), np.round(B, 1)
    expected = [many.cliffs_delta(a, b) for a, b in zip(*ties, strict=True)]
    assert many.cliffs_deltas(*ties).tolist() == pytest.approx(expected)
