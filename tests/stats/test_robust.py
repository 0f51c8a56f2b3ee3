"""Robust regression: least squares as scipy and closed forms give it, and outliers that do not move it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats

from cloudcmp.stats.robust import fit_linear


def planted(seed: int, n: int = 60) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = np.column_stack([np.ones(n), rng.normal(size=n)])
    return x, x @ [1.0, 2.0] + rng.normal(scale=0.3, size=n)


def test_least_squares_of_one_column_is_that_of_scipy() -> None:
    x, y = planted(1)
    fit, other = fit_linear(x, y, robust=False), stats.linregress(x[:, 1], y)
    assert fit.coefficients == pytest.approx([other.intercept, other.slope])
    errors = np.sqrt(np.diag(fit.covariance))
    assert errors == pytest.approx([other.intercept_stderr, other.stderr])
    assert fit.half_widths(0.95)[1] == pytest.approx(stats.t.ppf(0.975, 58) * other.stderr)


def test_the_prediction_interval_is_the_closed_form_of_one_column() -> None:
    x, y = planted(2)
    fit, at = fit_linear(x, y, robust=False), 1.7
    centre, half = fit.predict(np.array([[1.0, at]]), 0.95)
    mean, n = x[:, 1].mean(), len(y)
    s = np.sqrt(((y - fit.fitted) ** 2).sum() / (n - 2))
    wanted = s * np.sqrt(1 + 1 / n + (at - mean) ** 2 / ((x[:, 1] - mean) ** 2).sum())
    assert half[0] == pytest.approx(stats.t.ppf(0.975, n - 2) * wanted)
    assert centre[0] == pytest.approx(fit.coefficients @ [1.0, at])


def test_huber_solves_its_own_equations_as_an_optimiser_does() -> None:
    x, y = planted(3)
    y[:5] += 20
    fit = fit_linear(x, y)
    least = optimize.least_squares(
        lambda b: (y - x @ b) / (1.345 * fit.scale), [0.0, 0.0], loss="huber", xtol=1e-14, ftol=1e-14, gtol=1e-14
    )
    assert fit.coefficients == pytest.approx(least.x, abs=1e-5)


def test_outliers_do_not_move_it_and_do_not_widen_it() -> None:
    x, y = planted(4)
    clean, spoilt = fit_linear(x, y), y.copy()
    spoilt[:6] += 50
    robust, plain = fit_linear(x, spoilt), fit_linear(x, spoilt, robust=False)
    assert robust.coefficients == pytest.approx([1, 2], abs=0.2)
    assert robust.scale < 1.5 * clean.scale
    assert plain.scale > 20 * clean.scale


def test_intervals_cover_the_truth() -> None:
    covered = [abs(fit_linear(*planted(seed)).coefficients[1] - 2) <= fit_linear(*planted(seed)).half_widths(0.95)[1]
               for seed in range(300)]  # fmt: skip
    assert 0.91 <= np.mean(covered) <= 0.985


@given(st.integers(0, 10**6), st.floats(0.01, 100), st.floats(-100, 100))
def test_it_follows_scale_and_shift(seed: int, factor: float, shift: float) -> None:
    x, y = planted(seed, 20)
    first, second = fit_linear(x, y), fit_linear(x, factor * y + shift)
    assert second.coefficients[1] == pytest.approx(factor * first.coefficients[1], rel=1e-4)
    assert second.scale == pytest.approx(factor * first.scale, rel=1e-3)


def test_columns_that_depend_on_each_other_are_refused() -> None:
    x, y = planted(5)
    with pytest.raises(ValueError, match="depend on each other"):
        fit_linear(np.column_stack([x, 3 * x[:, 1]]), y)
    with pytest.raises(ValueError, match="give at least 4"):
        fit_linear(x[:3], y[:3])
    with pytest.raises(ValueError, match="not finite"):
        fit_linear(x, np.where(y > 0, y, np.nan))


def test_an_exact_fit_has_no_spread() -> None:
    x, _ = planted(6)
    fit = fit_linear(x, x @ [1.0, 2.0])
    assert fit.coefficients == pytest.approx([1, 2])
    assert fit.scale == pytest.approx(0, abs=1e-12)
