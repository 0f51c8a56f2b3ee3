"""A time as a sum of factors times measurements, with the error that leaving a point out shows."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

Floats = NDArray[np.float64]

PRIOR_ERROR, PRIOR_WEIGHT = 0.15, 3.0
"""What the error of such models is before any is seen, as a standard deviation of the logarithm, and how many degrees
of freedom that counts as. Source: Scheuner and Leitner, CLOUD 2018: 10 to 20 % for a web server, less for a scientific
application."""
BLIND_ERROR = 0.30
"""The same if nothing is known of the application's demands. Source: the errors of PARIS, SoCC 2017, are 15 to 65 %."""
_POINTS_EACH = 3
"""Points for each column of a model."""


@dataclass(frozen=True, slots=True)
class Model:
    """The columns that explain a time and their factors, and the errors when each point is left out.

    `errors` are log(time / prediction) of each point by a model that was chosen and fitted without it.
    """

    columns: tuple[int, ...]
    factors: tuple[float, ...]
    errors: tuple[float, ...]
    informed: bool = True


def fit(times: Floats, columns: Floats, chosen: Sequence[int]) -> tuple[float, ...]:
    """Return factors of at least 0 for some columns, which give the least squares of relative errors.

    `times` has shape (points,), `columns` (points, all columns); both are above 0. One column alone gets the geometric
    mean of its ratios, which no single point dominates.
    Source: Lawson and Hanson, "Solving Least Squares Problems", 1974, chapter 23 (through scipy).
    """
    some = columns[:, list(chosen)] / times[:, None]
    if len(chosen) == 1:
        return (math.exp(-float(np.log(some[:, 0]).mean())),)
    factors, _ = optimize.nnls(some, np.ones(len(times)))
    return tuple(float(one) for one in factors)


def predicted(columns: Floats, chosen: Sequence[int], factors: Sequence[float]) -> Floats:
    """Return the sum of the chosen columns times their factors; `columns` has shape (..., all columns)."""
    total: Floats = columns[..., list(chosen)] @ np.array(factors)
    return total


def choose(times: Floats, columns: Floats, *, informed: bool = True) -> tuple[int, ...]:
    """Return the columns that explain the times best, by the errors when each point is left out.

    If `informed`, column 0 is what is known without the times, and is as likely as all others together. Each further
    column must be as much more likely as there are columns to choose from: few points fit one of many by chance. A
    single point chooses nothing.
    """
    best: tuple[int, ...] = (0,)
    count = columns.shape[1]
    if len(times) < 2 or count < 2:
        return best
    penalty = math.log(count)
    most = _evidence(times, columns, best) + (penalty if informed else 0.0)
    for at in range(1, count):
        found = _evidence(times, columns, (at,))
        if found > most:
            most, best = found, (at,)
    while len(times) >= _POINTS_EACH * (len(best) + 1):
        wider = [(*best, at) for at in range(count) if at not in best]
        if not wider:
            break
        found, one = max((_evidence(times, columns, one), one) for one in wider)
        if found - penalty <= most:
            break
        most, best = found - penalty, one
    return best


def explain(times: Floats, columns: Floats, *, informed: bool = True) -> Model:
    """Return the model of some points; its errors include the choice of columns, which is made again for each point."""
    chosen = choose(times, columns, informed=informed)
    errors = []
    for at in range(len(times)) if len(times) > 1 else ():
        rest = np.arange(len(times)) != at
        inner = choose(times[rest], columns[rest], informed=informed)
        errors.append(_log_error(times, columns, inner, at))
    return Model(chosen, fit(times, columns, chosen), tuple(errors), informed)


def interval(times: Floats, columns: Floats, model: Model, new: Floats, confidence: float) -> tuple[Floats, Floats]:
    """Return the interval of the time of new points, of shape (new points,), given the points that were measured.

    With enough points it is the jackknife+, which holds for any errors; that needs (1 - confidence) (points + 1) >= 1.
    With fewer it is Student's, of the errors and of `PRIOR_ERROR`. It is that of single measured times, and does not
    hold for a machine unlike all that were measured.
    Source: Barber, Candes, Ramdas and Tibshirani, "Predictive inference with the jackknife+", Annals of Statistics 49
    (1), 2021, section 1.2, on logarithms.
    """
    n = len(times)
    rank = math.ceil(confidence * (n + 1))
    if rank <= n:
        return _jackknife_plus(times, columns, model, new, rank)
    log = np.log(predicted(new, model.columns, model.factors))
    half = spread_of(model.errors, informed=model.informed) * float(
        special.stdtrit(PRIOR_WEIGHT + n - 1, (1 + confidence) / 2)
    )
    return np.exp(log - half), np.exp(log + half)


def spread_of(errors: Sequence[float], *, informed: bool = True) -> float:
    """Return the standard deviation of log(time / prediction) of a new point, from errors of points left out.

    The square of an error with one of n points left out is n^2 / (n^2 - 1) of that of a new point, for a model with one
    factor: it is fitted to one point fewer.
    """
    prior = PRIOR_ERROR if informed else BLIND_ERROR
    return math.sqrt((PRIOR_WEIGHT * prior**2 + _seen(errors)) / (PRIOR_WEIGHT + len(errors) - 1))


def _jackknife_plus(times: Floats, columns: Floats, model: Model, new: Floats, rank: int) -> tuple[Floats, Floats]:
    n = len(times)
    low, high = np.empty((n, len(new))), np.empty((n, len(new)))
    for at in range(n):
        rest = np.arange(n) != at
        inner = choose(times[rest], columns[rest], informed=model.informed)
        log = np.log(predicted(new, inner, fit(times[rest], columns[rest], inner)))
        low[at], high[at] = log - abs(model.errors[at]), log + abs(model.errors[at])
    return np.exp(np.sort(low, axis=0)[n - rank]), np.exp(np.sort(high, axis=0)[rank - 1])


def _evidence(times: Floats, columns: Floats, chosen: tuple[int, ...]) -> float:
    """The logarithm of how likely the errors of some columns are, apart from a constant, each point being left out.

    The variance of normal errors is unknown, with the prior of `PRIOR_ERROR`. Source: Gelman et al., "Bayesian Data
    Analysis", 3rd edition, section 3.2, with the variance integrated out.
    """
    errors = [_log_error(times, columns, chosen, at) for at in range(len(times))]
    n = len(errors)
    seen = _seen(errors) / (PRIOR_WEIGHT * PRIOR_ERROR**2)
    return -(PRIOR_WEIGHT + n - 1) / 2 * math.log1p(seen)


def _seen(errors: Sequence[float]) -> float:
    """The sum of squares of n - 1 errors of new points, from those of n points left out."""
    n = len(errors)
    return (n - 1) * sum(one**2 for one in errors) / n * (1 - 1 / n**2)


def _log_error(times: Floats, columns: Floats, chosen: tuple[int, ...], at: int) -> float:
    rest = np.arange(len(times)) != at
    factors = fit(times[rest], columns[rest], chosen)
    guess = float(predicted(columns[at], chosen, factors))
    return math.log(float(times[at]) / guess) if guess > 0 else math.inf
