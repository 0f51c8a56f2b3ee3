"""Tests for a trend over rounds and for two modes."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from cloudcmp.stats.check import Floats, finite, is_constant

# The slope takes every pair of rounds; longer series are thinned evenly to this many values first.
_MOST_FOR_SLOPE = 2000
_EXACT_ROUNDS = 50


@dataclass(frozen=True, slots=True)
class Trend:
    """slope_per_round: in the unit of the values per round. p_value: of no trend, two-sided. n: rounds."""

    slope_per_round: float
    p_value: float
    n: int


def trend(x: npt.ArrayLike) -> Trend | None:
    """Mann and Kendall's test for a trend in `x`, shape (n,), in the order of rounds, with Theil and Sen's slope.

    S is the number of rising pairs of rounds minus that of falling ones. Without ties and up to 50 rounds its p value
    is exact, otherwise normal with the correction for ties and continuity. The slope is the median of all pairwise
    slopes; beyond 2000 rounds, of an even selection of them. None for n < 3; with n < 5 the p value cannot fall below
    0.05. Detects mostly rising or mostly falling values: a daily cycle can pass undetected.
    Source: Mann, Econometrica 13, 1945; Kendall, "Rank Correlation Methods"; Sen, JASA 63, 1968.
    """
    values = finite(x, "trend")
    n = values.size
    if n < 3:
        return None
    rising = sum(int(np.sign(values[i + 1 :] - values[i]).sum()) for i in range(n - 1))
    _, ties = np.unique(values, return_counts=True)
    if n <= _EXACT_ROUNDS and ties.max() == 1:
        p_value = _exact_p(n, abs(rising))
    else:
        spread = n * (n - 1.0) * (2.0 * n + 5.0) - float((ties * (ties - 1.0) * (2.0 * ties + 5.0)).sum())
        z = max(0, abs(rising) - 1) / float(np.sqrt(spread / 18.0)) if rising else 0.0
        p_value = 2.0 * float(special.ndtr(-z))
    return Trend(_median_slope(values), p_value, n)


def _exact_p(n: int, size: int) -> float:
    """P(|S| >= size) over all orders of n different values; S = pairs - 2 x inversions."""
    pairs = n * (n - 1) // 2
    shares = np.ones(1)
    for k in range(2, n + 1):
        shares = np.convolve(shares, np.full(k, 1.0 / k))
    return min(1.0, 2.0 * float(shares[: (pairs - size) // 2 + 1].sum())) if size else 1.0


def _median_slope(values: Floats) -> float:
    step = -(-values.size // _MOST_FOR_SLOPE)
    thinned, at = values[::step], np.arange(0, values.size, step, dtype=np.float64)
    early, late = np.triu_indices(thinned.size, 1)
    return float(np.median((thinned[late] - thinned[early]) / (at[late] - at[early])))


# Set by simulation (see `two_modes`): a split explains 0.64 of a normal distribution's variance, 0.75 of a uniform's.
_EXPLAINED = 0.80
_EXPLAINED_MORE_FOR_FEW = 1.5
_FEWEST_ON_A_SIDE = 3
_SMALLEST_SIDE = 0.1
_SMALLEST_GAP = 0.02


@dataclass(frozen=True, slots=True)
class TwoModes:
    """The means of the lower and the upper level, in the unit of the values, and the share of values in the upper."""

    low: float
    high: float
    share_high: float


def two_modes(x: npt.ArrayLike) -> TwoModes | None:
    """The two levels of `x`, shape (n,), if it clearly has two; None otherwise.

    Rule: split the sorted values where the two sides' means explain most of the variance, each side with at least 3
    values and a tenth of all. There are two levels if that share reaches 0.80 + 1.5 / n and the means lie at least 2 %
    of the overall mean apart. On a single normal, uniform, exponential or lognormal (sigma 1) hump it is wrong at most
    4 times in 100; it finds two equal humps six standard deviations apart in 8 of 10 cases at n = 20, and nearly always
    at n = 50.
    It never finds two levels below n = 8, and does not look for three.
    Source: the split is Fisher's, "On grouping for maximum homogeneity", JASA 53, 1958; the limits are our own.
    """
    values = np.sort(finite(x, "two_modes"))
    n = values.size
    least = max(_FEWEST_ON_A_SIDE, math.ceil(_SMALLEST_SIDE * n))
    needed = _EXPLAINED + _EXPLAINED_MORE_FOR_FEW / n
    if n < 2 * least or needed > 1.0 or is_constant(values):
        return None
    centre = float(values.mean())
    # Scaled to unit size, so that squares of very small or large values keep their digits.
    sums = np.cumsum((values - centre) / float(np.abs(values - centre).max()))
    squares = float((np.diff(sums, prepend=0.0) ** 2).sum())
    left = np.arange(least, n - least + 1)
    explained = sums[left - 1] ** 2 * (1.0 / left + 1.0 / (n - left)) / squares
    at = int(np.argmax(explained))
    low, high = float(values[: left[at]].mean()), float(values[left[at] :].mean())
    if explained[at] < needed or high - low < _SMALLEST_GAP * abs(centre):
        return None
    return TwoModes(low, high, float(n - left[at]) / n)
