"""Bounds of a share or a mean of samples that come in clusters, and how many samples prove a share."""

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy import special

from cloudcmp.stats.check import Floats, fraction
from cloudcmp.stats.describe import Interval

_LARGEST_N = 10**15


def effective_size(misses: npt.ArrayLike, sizes: npt.ArrayLike, confidence: float = 0.95) -> float:
    """How many independent samples tell as much of a share as samples in clusters.

    `misses` of `sizes` samples of each cluster miss, both of shape (clusters,). With p the share of all and m clusters:
    n / d * (t(n - 1) / t(m - 1))^2, where d is the variance of p between clusters over p (1 - p) / n, at least 1, and t
    Student's quantile at `confidence`. If none or all samples miss, clusters show no variance: then they may each be
    all or nothing, and the result is m. Never more than n.
    Source: Korn and Graubard, "Confidence intervals for proportions with small expected number of positive counts
    estimated from survey data", Survey Methodology 24(2), 1998; the case without a miss is ours.
    """
    k, size = _clusters(misses, sizes)
    n, m = float(size.sum()), k.size
    share = float(k.sum()) / n
    if m == 1 or share in {0.0, 1.0}:
        return float(m)
    variance = float(((k - share * size) ** 2).sum()) * m / (m - 1) / n**2
    design = max(1.0, variance * n / (share * (1.0 - share)))
    level = fraction(confidence, "confidence")
    wider = (special.stdtrit(n - 1, level) / special.stdtrit(m - 1, level)) ** 2
    return float(min(n, max(1.0, n / design * wider)))


def miss_bounds(misses: float, n: float, confidence: float = 0.95) -> Interval:
    """The bounds of the share that misses, each of them wrong with probability at most 1 - `confidence`.

    `misses` of `n` independent samples; neither need be a whole number, as for an effective size.
    Source: Clopper and Pearson, Biometrika 26(4), 1934.
    """
    if not 0 <= misses <= n or n <= 0:
        raise ValueError(f"miss_bounds: {misses} of {n}; count 0 to n of more than none")
    tail = 1.0 - fraction(confidence, "confidence")
    low = float(special.betaincinv(misses, n - misses + 1, tail)) if misses > 0 else 0.0
    high = float(special.betaincinv(misses + 1, n - misses, 1.0 - tail)) if misses < n else 1.0
    return Interval(low, high)


def clustered_mean(sums: npt.ArrayLike, sizes: npt.ArrayLike, confidence: float = 0.95) -> Interval | None:
    """The bounds of a mean of samples in clusters, each wrong with probability about 1 - `confidence`.

    `sums` are the clusters' sums, `sizes` their numbers of samples, shape (clusters,). The mean is the ratio of both
    totals, its error Student's with one degree of freedom less than clusters. None for fewer than two clusters.
    Source: Cochran, "Sampling Techniques", 3rd edition, section 6.3 (the variance of a ratio).
    """
    total, size = np.asarray(sums, np.float64), np.asarray(sizes, np.float64)
    m, n = total.size, float(size.sum())
    if m < 2:
        return None
    mean = float(total.sum()) / n
    error = math.sqrt(float(((total - mean * size) ** 2).sum()) * m / (m - 1)) / n
    reach = float(special.stdtrit(m - 1, fraction(confidence, "confidence"))) * error
    return Interval(mean - reach, mean + reach)


def samples_needed(share: float, misses: int, confidence: float = 0.95) -> int | None:
    """The fewest independent samples that prove a share of `share` or more with `misses` misses; None for a share of 1.

    Without a miss it is the least n with share^n <= 1 - confidence: 299 for 99 % at 95 %.
    """
    if share >= 1.0:
        return None
    return _fewest(lambda n: 1.0 - miss_bounds(misses, n, confidence).high >= share, misses + 1)


def samples_at_share(share: float, missing: float, confidence: float = 0.95) -> int | None:
    """The number of samples that prove a share of at least `share`, or less, if the share `missing` of them misses.

    Fractions of a miss count. None if `missing` is at the limit itself.
    """
    if math.isclose(missing, 1.0 - share, rel_tol=1e-9):
        return None
    if missing < 1.0 - share:
        return _fewest(lambda n: 1.0 - miss_bounds(missing * n, n, confidence).high >= share, 1)
    return _fewest(lambda n: 1.0 - miss_bounds(missing * n, n, confidence).low < share, 1)


def _fewest(holds: Callable[[int], bool], least: int) -> int | None:
    """The least n >= `least` for which a condition holds that goes on holding, by doubling and bisection."""
    high = least
    while not holds(high):
        high *= 2
        if high > _LARGEST_N:
            return None
    low = max(least - 1, high // 2)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def resampled_sums(blocks: Floats, times: int, draws: int, seed: int) -> Floats:
    """Sums over `times` blocks drawn with replacement, shape (draws, columns); `blocks` has shape (n, columns).

    Source: Efron and Tibshirani, "An Introduction to the Bootstrap", chapter 8 (blocks of dependent values).
    """
    random = np.random.default_rng(seed)
    counts = random.multinomial(times, np.full(len(blocks), 1.0 / len(blocks)), size=draws)
    return np.asarray(counts @ blocks)


def _clusters(misses: npt.ArrayLike, sizes: npt.ArrayLike) -> tuple[Floats, Floats]:
    k, size = np.asarray(misses, np.float64), np.asarray(sizes, np.float64)
    if k.shape != size.shape or k.ndim != 1 or not k.size:
        raise ValueError(f"clusters: {k.shape} misses and {size.shape} sizes; give one of each for every cluster")
    if (k < 0).any() or (k > size).any() or not (size > 0).all():
        raise ValueError("clusters: misses are from 0 to the size of each cluster, which is above 0")
    return k, size
