"""Robust linear regression: few outlying rows do not move the fit."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cloudcmp.stats.check import Floats
from cloudcmp.stats.many import t_critical

# 95 % efficient for normal errors.
_HUBER = 1.345
_NORMAL_MAD = 0.6744897501960817
_ROUNDS, _TOLERANCE = 200, 1e-10


@dataclass(frozen=True, slots=True, eq=False)
class LinearFit:
    """A fit of `y` by the columns of `x`: coefficients, their covariance, and the scale of a single error.

    `fitted` and `leverage` have one value for each row; `df` is the number of rows less that of columns.
    """

    coefficients: Floats
    covariance: Floats
    scale: float
    fitted: Floats
    leverage: Floats
    df: int

    def half_widths(self, confidence: float) -> Floats:
        """The half widths of the intervals of the coefficients."""
        return self._t(confidence) * np.sqrt(np.diag(self.covariance))

    def predict(self, x: Floats, confidence: float) -> tuple[Floats, Floats]:
        """The predicted values of new rows, and the half widths of their prediction intervals."""
        spread = np.einsum("ij,jk,ik->i", x, self.covariance, x)
        return x @ self.coefficients, self._t(confidence) * np.sqrt(self.scale**2 + spread)

    def _t(self, confidence: float) -> float:
        return float(t_critical(np.array([float(self.df)]), confidence)[0])


def fit_linear(x: npt.ArrayLike, y: npt.ArrayLike, *, robust: bool = True) -> LinearFit:
    """Fit `y` (rows,) by `x` (rows, columns) with Huber's M-estimator, or by least squares unless `robust`.

    The scale of an error is the median absolute residual over 0.6745, so that outliers do not widen the intervals; that
    of least squares is the root of the mean square over the degrees of freedom. A row of extreme `x` still has
    leverage: M-estimators guard against outlying `y` alone. Errors of equal spread, and independent ones, are assumed.

    Raises ValueError for fewer than two rows more than columns, and for columns that depend on each other.
    Source: Huber and Ronchetti, "Robust Statistics", 2nd edition, section 7.6 (equation 7.81 for the covariance).
    """
    rows, target = np.asarray(x, np.float64), np.asarray(y, np.float64)
    n, p = rows.shape
    if n < p + 2:
        raise ValueError(f"{n} rows for {p} columns; give at least {p + 2}")
    sizes = np.sqrt((rows**2).mean(axis=0))
    if not (np.isfinite(rows).all() and np.isfinite(target).all()):
        raise ValueError("a value is not finite; leave its row out")
    if not sizes.all() or np.linalg.matrix_rank(rows / sizes) < p:
        raise ValueError("the columns depend on each other; leave one of them out")
    coefficients = _solve(rows, target)
    scale = float(np.sqrt(((target - rows @ coefficients) ** 2).sum() / (n - p)))
    inverse = np.asarray(np.linalg.inv(rows.T @ rows), np.float64)
    correction = 1.0
    if robust:
        coefficients, scale = _huber(rows, target, coefficients)
        correction = _correction(target - rows @ coefficients, scale, p)
    covariance = inverse * scale**2 * correction
    leverage = np.einsum("ij,jk,ik->i", rows, inverse, rows)
    return LinearFit(coefficients, covariance, scale, rows @ coefficients, leverage, n - p)


def _solve(x: Floats, y: Floats) -> Floats:
    return np.asarray(np.linalg.lstsq(x, y, rcond=None)[0], np.float64)


def _huber(x: Floats, y: Floats, start: Floats) -> tuple[Floats, float]:
    """Huber's estimate by reweighted least squares, with the scale of its errors."""
    coefficients, scale = start, 0.0
    for _ in range(_ROUNDS):
        residuals = y - x @ coefficients
        scale = float(np.median(np.abs(residuals))) / _NORMAL_MAD
        if scale <= 1e-12 * max(1.0, float(np.abs(y).max())):
            break
        weights = np.minimum(1.0, _HUBER * scale / np.maximum(np.abs(residuals), 1e-300))
        root = np.sqrt(weights)
        before, coefficients = coefficients, _solve(x * root[:, None], y * root)
        if np.abs(coefficients - before).max() <= _TOLERANCE * max(1.0, float(np.abs(coefficients).max())):
            break
    return coefficients, scale


def _correction(residuals: Floats, scale: float, p: int) -> float:
    """The factor by which the covariance exceeds that of least squares with the same scale."""
    n = len(residuals)
    if scale <= 0:
        return 1.0
    standard = residuals / scale
    psi = np.clip(standard, -_HUBER, _HUBER)
    slope = (np.abs(standard) <= _HUBER).astype(np.float64)
    mean = float(slope.mean())
    if mean <= 0:
        return 1.0
    widened = 1.0 + p / n * float(slope.var()) / mean**2
    return widened**2 * float((psi**2).sum()) / (n - p) / mean**2
