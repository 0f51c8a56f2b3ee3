"""A time as a product of powers of measurements, from the few machines where it is known."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

Floats = NDArray[np.float64]

INFORMED_ERROR, BLIND_ERROR = 0.10, 0.15
"""What no measurement explains, as a standard deviation of the logarithm, if the application's demands are known and if
not. Source: Scheuner and Leitner, CLOUD 2018: below 10 % for a scientific application, 10 to 20 % for a web server."""
DEPARTURE = 0.1
"""How far an application with known demands departs from them, as a share of how far the other measurements do, in
variance. Set on drawn programs (benchmarks/prediction.py): from 0.1 to 1 the mean error differs by 1 point, and
intervals of 90 % cover 93 to 98 %."""
_INFORMED_WEIGHT = 8.0
"""How many degrees of freedom the variance of known demands counts as. Set there too."""
_STRANGE = 0.30
"""The error on a machine if too few measurements show it. Source: the errors of PARIS, SoCC 2017, are 15 to 65 %."""
_STRANGE_WEIGHT = 3.0
"""How many degrees of freedom that counts as."""
_OWN_WEIGHT = 4.0
"""The same for the application's own errors, compared with those of the measurements."""
_ENOUGH = 10
"""Measurements from which nine of ten are a figure of their own."""


@dataclass(frozen=True, slots=True, eq=False)
class Powers:
    """The time (s) of every machine with its interval, and what it follows.

    `exponents` are those of the columns; they add up to 1, so that a machine that is twice as fast in everything takes
    half the time. `errors` are log(time / prediction) of each machine where the time is known, predicted without it.
    """

    time: Floats
    low: Floats
    high: Floats
    exponents: Floats
    errors: Floats


def explain(times: Floats, rows: NDArray[np.int64], columns: Floats, confidence: float, *, informed: bool) -> Powers:
    """Return the times of all machines, given those of two or more.

    The application is taken for one more column of the table: on logarithms, its differences between machines are
    normal, with the mean and the covariance that the columns show, and `BLIND_ERROR` for each machine. If `informed`,
    column 0 is what the application's known demands take: the mean is that column, and the covariance is `DEPARTURE`
    times how the others differ from it.

    Intervals: if informed, Student's, of the variance that the known times confirm or widen. Otherwise each column is
    predicted from the others and the same machines; nine of ten of their errors on a machine are its interval, wider if
    the application fits its own machines worse than they do. It is that of single measured times.

    Parameters: `times` (points,) in seconds; `rows` (points,) of their machines; `columns` (machines, columns), above
    0, where less is better. What it does not know: two machines that all columns call equal.
    Source: Rasmussen and Williams, "Gaussian Processes for Machine Learning", 2006, equations 2.25, 2.26, 2.42 and
    5.12. Selecta (ATC 2018) predicts a program from how other programs ran, too.
    """
    log = np.log(columns)
    log = log - log[rows].mean(axis=0)
    own = np.log(times)
    if informed:
        centre, weight = log[:, 0], DEPARTURE / max(1, log.shape[1] - 1)
        found = _conditioned(own, rows, centre, log[:, 1:] - centre[:, None], weight, INFORMED_ERROR)
        degrees = _INFORMED_WEIGHT + len(times) - 1
        scale = (_INFORMED_WEIGHT + found.misfit) / degrees
        half = special.stdtrit(degrees, (1 + confidence) / 2) * np.sqrt(scale * found.variance)
        exponents = np.concatenate([[1.0 - found.weights.sum()], found.weights])
    else:
        found = _like_columns(own, rows, log)
        half = _by_columns(found, rows, log, confidence)
        exponents = found.weights + (1.0 - found.weights.sum()) / log.shape[1]
    return Powers(
        np.exp(found.log), np.exp(found.log - half), np.exp(found.log + half), exponents, found.left_out
    )  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class _Conditioned:
    """Logarithms on every machine given some; `misfit` is the squared length of those, in standard deviations."""

    log: Floats
    variance: Floats
    weights: Floats
    misfit: float
    left_out: Floats


def _conditioned(
    own: Floats, rows: NDArray[np.int64], centre: Floats, around: Floats, weight: float, error: float
) -> _Conditioned:
    """The normal distribution of all given some, with a level of which nothing is known beforehand.

    The covariance is `weight` x around x around', of shape (machines, machines), and `error` on its diagonal.
    """
    inner = weight * around[rows] @ around[rows].T + error**2 * np.eye(len(own))
    inverse = np.linalg.inv(inner)
    ones = inverse.sum(axis=1)
    residual = own - centre[rows]
    level = float(ones @ residual / ones.sum())
    pull = inverse @ (residual - level)
    weights = weight * around[rows].T @ pull
    known = weight * around @ around[rows].T
    rest = 1.0 - known @ ones
    variance = (
        weight * np.square(around).sum(axis=1) + error**2
        - np.einsum("ij,jk,ik->i", known, inverse, known) + np.square(rest) / ones.sum()
    )  # fmt: skip
    without = inverse - np.outer(ones, ones) / ones.sum()
    left_out = without @ residual / np.diag(without)
    return _Conditioned(
        level + centre + around @ weights, variance, weights, float((residual - level) @ pull), left_out
    )


def _like_columns(own: Floats, rows: NDArray[np.int64], log: Floats) -> _Conditioned:
    centre = log.mean(axis=1)
    return _conditioned(own, rows, centre, log - centre[:, None], 1.0 / max(1, log.shape[1] - 1), BLIND_ERROR)


def _by_columns(found: _Conditioned, rows: NDArray[np.int64], log: Floats, confidence: float) -> Floats:
    """Half the interval of each machine: what its columns' errors are, each predicted from the other columns."""
    machines, count = log.shape
    each = [_like_columns(log[rows, at], rows, np.delete(log, at, axis=1)) for at in range(count) if count > 1]
    errors = np.array([np.abs(log[:, at] - one.log) for at, one in enumerate(each)]).reshape(-1, machines)
    if len(errors) >= _ENOUGH:
        half = np.quantile(errors, confidence, axis=0)
    else:
        degrees = _STRANGE_WEIGHT + len(errors)
        variance = (_STRANGE_WEIGHT * _STRANGE**2 + np.square(errors).sum(axis=0)) / degrees
        half = special.stdtrit(degrees, (1 + confidence) / 2) * np.sqrt(variance)
    usual = float(np.median([np.square(one.left_out).sum() for one in each])) if each else 0.0
    free = len(rows) - 1
    own = float(np.square(found.left_out).sum())
    worse = (_OWN_WEIGHT + free * own / usual) / (_OWN_WEIGHT + free) if usual > 0 else 1.0
    widened: Floats = half * math.sqrt(worse)
    return widened
