"""Spreads and their ratios with intervals, of single values and of runs inside groups."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from cloudcmp.stats.check import Floats, finite, fraction, is_constant
from cloudcmp.stats.describe import Interval

_DRAWS = 2000
_FEWEST = 5


@dataclass(frozen=True, slots=True)
class SpreadRatio:
    """The ratio of two standard deviations, its 95 % interval, and the p value of the test that they are equal."""

    ratio: float
    low: float
    high: float
    p: float


def spread_ratio(groups: Sequence[tuple[Sequence[float], Sequence[float]]], *, seed: int) -> SpreadRatio | None:
    """The ratio of the pooled standard deviations of the first and the second values of groups.

    Each group has its own level, which does not count: deviations are from its own mean, with a degree of freedom less
    for each group. The interval is the percentile bootstrap of the logarithm of the ratio over whole groups, because
    values of one group are not independent; p is Brown and Forsythe's (Levene's test about medians; J. Am. Stat. Assoc.
    69, 1974) of the deviations from the groups' medians. None unless two groups have two values of both kinds, or if a
    spread is 0. `seed` makes the bootstrap repeatable.
    """
    usable = [(np.array(a), np.array(b)) for a, b in groups if len(a) > 1 and len(b) > 1]
    if len(usable) < 2:
        return None
    squares = np.array([[_square(finite(one, "values")) for one in pair] for pair in usable])
    freedom = np.array([[len(one) - 1 for one in pair] for pair in usable], dtype=np.float64)
    variances = squares.sum(axis=0) / freedom.sum(axis=0)
    if not (variances > 0.0).all():
        return None
    ratio = math.sqrt(variances[0] / variances[1])
    picks = np.random.default_rng(seed).integers(len(usable), size=(_DRAWS, len(usable)))
    drawn = squares[picks].sum(axis=1) / freedom[picks].sum(axis=1)
    drawn = drawn[(drawn > 0.0).all(axis=1)]
    logs = 0.5 * (np.log(drawn[:, 0]) - np.log(drawn[:, 1]))
    low, high = np.exp(np.quantile(logs, [0.025, 0.975]))
    a, b = (np.concatenate([pair[side] - np.median(pair[side]) for pair in usable]) for side in (0, 1))
    return SpreadRatio(ratio, float(low), float(high), brown_forsythe(a, b))


def sd_interval(x: npt.ArrayLike, confidence: float = 0.95) -> Interval | None:
    """The interval of the standard deviation of independent values of any distribution, shape (n,); unit of `x`.

    The chi-squared one, with the degrees of freedom of `freedom`. None for n < 5 and without any spread. It covers less
    often than it says for heavy tails, and more often for light ones (t with 5 degrees of freedom, n = 20: 89 of 100;
    lognormal with sigma 1: 70; uniform: 99).
    """
    values = finite(x, "sd_interval")
    if values.size < _FEWEST or is_constant(values):
        return None
    return spread_bounds(float(values.std(ddof=1)), freedom(values), confidence)


def sd_ratio(a: npt.ArrayLike, b: npt.ArrayLike, confidence: float = 0.95) -> SpreadRatio | None:
    """The ratio of the standard deviations of two independent samples, its interval, and Brown and Forsythe's p.

    The kurtosis is pooled: both samples may have any distribution, but the same one apart from place and scale. None
    for fewer than 5 values of one, and if one has no spread.
    Source: Bonett, Applied Psychological Measurement 30, 2006.
    """
    first, second = finite(a, "sd_ratio a"), finite(b, "sd_ratio b")
    if min(first.size, second.size) < _FEWEST or is_constant(first) or is_constant(second):
        return None
    kurtosis = _kurtosis(first, second)
    error = math.hypot(*(_log_variance_error(one, kurtosis) for one in (first, second)))
    z = _normal(confidence)
    small = math.log(first.size / (first.size - z)) - math.log(second.size / (second.size - z))
    log_ratio = math.log(float(first.std(ddof=1)) / float(second.std(ddof=1)))
    low, high = (math.exp(log_ratio + (small + sign * z * error) / 2.0) for sign in (-1.0, 1.0))
    return SpreadRatio(math.exp(log_ratio), low, high, brown_forsythe(first, second))


def within_interval(groups: Sequence[npt.ArrayLike], confidence: float = 0.95) -> tuple[float, Interval | None] | None:
    """The pooled standard deviation of values inside groups, each with its own level, and its interval.

    Groups are independent, values of one need not be: the interval is the chi-squared one, with the degrees of freedom
    of `within_freedom`. It is None for fewer than 3 groups, the whole without a group of two values or without spread.
    """
    usable = [finite(one, "within_interval") for one in groups if np.size(one) > 1]
    squares = sum(_square(one) for one in usable)
    if not usable or squares <= 0.0:
        return None
    spread = math.sqrt(squares / sum(one.size - 1.0 for one in usable))
    if len(usable) < 3:
        return spread, None
    return spread, spread_bounds(spread, within_freedom(usable), confidence)


def freedom(x: npt.ArrayLike) -> float:
    """The degrees of freedom of the variance of independent values, shape (n,), n >= 5: n - 1, or fewer.

    A variance of normal values, divided by the true one, is chi-squared with n - 1 degrees of freedom over their
    number. Heavier tails than normal ones, as far as the values show them, make it vary as with fewer: the error of its
    logarithm is then Bonett's. Values that show no tail are not taken for surer than normal ones. No number of values
    tells how often something happens that none of them shows.
    Sources: Shoemaker, The American Statistician 57(2), 2003 (adjusted degrees of freedom); Bonett, Computational
    Statistics and Data Analysis 50, 2006 (the kurtosis about a trimmed mean).
    """
    values = finite(x, "freedom")
    error = _log_variance_error(values, _kurtosis(values))
    return float(min(values.size - 1.0, 2.0 / error**2)) if error else values.size - 1.0


def within_freedom(groups: Sequence[npt.ArrayLike]) -> float:
    """The degrees of freedom of the pooled variance of values inside groups, of which three have two values.

    Those of normal values, sum of (n - 1), or fewer, if the variances of the groups differ more than those of normal
    values: `within_interval` has the error.
    """
    usable = [finite(one, "within_freedom") for one in groups if np.size(one) > 1]
    own = np.array([one.size - 1.0 for one in usable])
    squares = np.array([_square(one) for one in usable])
    error = _pooled_error(squares, own)
    return float(min(own.sum(), 2.0 / error**2)) if error else float(own.sum())


def spread_bounds(spread: float, freedom: float, confidence: float = 0.95) -> Interval:
    """The interval of a true spread, in its unit, from a measured one and its degrees of freedom."""
    tail = (1.0 - fraction(confidence, "confidence")) / 2.0
    low, high = (float(special.chdtri(freedom, one)) for one in (tail, 1.0 - tail))
    return Interval(spread * math.sqrt(freedom / low), spread * math.sqrt(freedom / high))


def _normal(confidence: float) -> float:
    return -float(special.ndtri((1.0 - fraction(confidence, "confidence")) / 2.0))


def _kurtosis(*samples: Floats) -> float:
    """The kurtosis of all samples, of deviations from their trimmed means over those from their means."""
    fourth = sum(float(((one - _trimmed_mean(one)) ** 4).sum()) for one in samples)
    return sum(one.size for one in samples) * fourth / sum(_square(one) for one in samples) ** 2


def _trimmed_mean(values: Floats) -> float:
    cut = int(values.size / (2.0 * math.sqrt(values.size - 4.0)))
    return float(np.sort(values)[cut : values.size - cut].mean()) if 2 * cut < values.size else float(np.median(values))


def _log_variance_error(values: Floats, kurtosis: float) -> float:
    """The standard error of the logarithm of a variance."""
    n = values.size
    return math.sqrt(max(kurtosis - (n - 3.0) / n, 0.0) / (n - 1.0))


def brown_forsythe(a: Floats, b: Floats) -> float:
    """The p value of equal spreads: a one-way analysis of variance of the absolute deviations from the medians.

    Source: Brown and Forsythe, J. Am. Stat. Assoc. 69, 1974; Levene's test about medians.
    By the F distribution itself: `scipy.stats` takes two seconds to import.
    """
    distances = [np.abs(values - np.median(values)) for values in (a, b)]
    means, mean = [one.mean() for one in distances], np.concatenate(distances).mean()
    between = sum(len(one) * (its - mean) ** 2 for one, its in zip(distances, means, strict=True))
    within = sum(float(((one - its) ** 2).sum()) for one, its in zip(distances, means, strict=True))
    freedom = len(a) + len(b) - 2
    return float(special.fdtrc(1, freedom, between * freedom / within)) if within > 0.0 else 1.0


def _pooled_error(squares: Floats, freedom: Floats) -> float:
    """The standard error of the logarithm of a pooled variance, from the sums of squares of independent groups."""
    variance = float(squares.sum() / freedom.sum())
    parts = (squares - freedom * variance) / (freedom.sum() * variance)
    return math.sqrt(float((parts**2).sum()) * len(squares) / (len(squares) - 1.0))


def _square(values: Floats) -> float:
    """The sum of the squared deviations from the mean."""
    return float(((values - values.mean()) ** 2).sum())
