"""Estimates of one sample: centre, spread, quantiles and shares with intervals; medians and variance by groups."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy import special

from cloudcmp.stats.check import Floats, Integers, finite, fraction, is_constant

# An exact tail such as 1/32 may come out of the incomplete beta function a few ulp too large.
_ROUNDING = 1.0 + 1e-12


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval, both ends included, in the unit of the estimate."""

    low: float
    high: float


def median(x: npt.ArrayLike) -> float:
    """The middle value, or the mean of the two middle values; unit of `x`, shape (n,), n >= 1."""
    return float(np.median(finite(x, "median")))


def mean(x: npt.ArrayLike) -> float:
    """The arithmetic mean; unit of `x`, shape (n,), n >= 1. Never outside the smallest and largest value."""
    values = finite(x, "mean")
    low, high = float(values.min()), float(values.max())
    return min(max(float(values.mean()), low), high)


def sd(x: npt.ArrayLike) -> float | None:
    """The sample standard deviation, divisor n - 1; unit of `x`; None for n < 2. Exactly 0 for equal values."""
    values = finite(x, "sd")
    if values.size < 2:
        return None
    return 0.0 if is_constant(values) else float(values.std(ddof=1))


def cov(x: npt.ArrayLike) -> float | None:
    """The coefficient of variation sd / |mean|, a ratio (0.05 is 5 %); None for n < 2 or a mean of 0."""
    spread, centre = sd(x), mean(x)
    return None if spread is None or centre == 0.0 else spread / abs(centre)


def quantiles(x: npt.ArrayLike, p: Sequence[float]) -> tuple[float, ...]:
    """The p-quantiles by linear interpolation between order statistics (type 7, the default of R and numpy).

    `x` has shape (n,), n >= 1; each `p` lies in [0, 1]. With h = (n - 1) p the result is
    x[floor h] + (h - floor h) (x[floor h + 1] - x[floor h]), counted from 0.
    Does not describe the tail beyond the largest value: a p99 of 20 values is near their maximum, whatever the
    distribution.
    Source: Hyndman and Fan, "Sample quantiles in statistical packages", The American Statistician 50(4), 1996.
    """
    for one in p:
        if not 0.0 <= one <= 1.0:
            raise ValueError(f"quantiles: p = {one} is not between 0 and 1; write 0.95 for the 95th percentile")
    return tuple(np.quantile(finite(x, "quantiles"), p).tolist())


@dataclass(frozen=True, slots=True)
class Summary:
    """All figures of one sample, each as the function of its name gives it; `quantiles` are those that were asked."""

    median: float
    median_interval: Interval | None
    mean: float
    t_interval: Interval | None
    cov: float | None
    quantiles: tuple[float, ...]


def summary(x: npt.ArrayLike, p: Sequence[float]) -> Summary:
    """The figures of `x`, shape (n,), n >= 1, with the `p`-quantiles: one check and one sort for all of them.

    A study has tens of thousands of small samples, whose single functions spend nearly all their time on checks.
    """
    values = finite(x, "summary")
    ordered = np.sort(values).tolist()
    n, low, high = len(ordered), ordered[0], ordered[-1]
    centre = min(max(float(values.mean()), low), high)
    spread = 0.0 if low == high else float(values.std(ddof=1))
    ranks = quantile_ranks(n, 0.5)
    return Summary(
        (ordered[(n - 1) // 2] + ordered[n // 2]) / 2.0,
        None if ranks is None else Interval(ordered[ranks[0] - 1], ordered[ranks[1] - 1]),
        centre,
        _t_interval(centre, spread, n, 0.95) if n > 1 else None,
        spread / abs(centre) if n > 1 and centre != 0.0 else None,
        tuple(_between(ordered, (n - 1) * one) for one in p),
    )


def _between(ordered: Sequence[float], place: float) -> float:
    """The value at a place between two order statistics, rounded as numpy does: from the nearer of the two."""
    below = min(int(place), len(ordered) - 1)
    low, high, part = ordered[below], ordered[min(below + 1, len(ordered) - 1)], place - below
    return low + (high - low) * part if part < 0.5 else high - (high - low) * (1.0 - part)


def geometric_mean(x: npt.ArrayLike) -> float | None:
    """The n-th root of the product, exp(mean(log x)); unit of `x`; None if a value is 0 or negative."""
    values = finite(x, "geometric_mean")
    if values.min() <= 0.0:
        return None
    if is_constant(values):
        return float(values[0])
    return float(np.exp(np.log(values).mean()))


def t_interval(x: npt.ArrayLike, confidence: float = 0.95) -> Interval | None:
    """The Student-t interval of the mean, mean +- t[(1 + confidence) / 2, n - 1] sd / sqrt(n); None for n < 2.

    Exact for normal values, approximate for means of many; it covers the mean, not single values.
    """
    fraction(confidence, "confidence")
    spread, centre, n = sd(x), mean(x), np.size(x)
    return None if spread is None else _t_interval(centre, spread, n, confidence)


def _t_interval(centre: float, spread: float, n: int, confidence: float) -> Interval:
    tail = (1.0 - fraction(confidence, "confidence")) / 2.0
    half = -float(special.stdtrit(n - 1, tail)) * spread / math.sqrt(n)
    return Interval(centre - half, centre + half)


def median_interval(x: npt.ArrayLike, confidence: float = 0.95) -> Interval | None:
    """The distribution-free interval of the median: two order statistics with exact binomial ranks.

    It covers the true median with at least `confidence` for any continuous distribution.
    None when n is too small for that (at 95 %: n < 6).
    Source: David and Nagaraja, "Order Statistics", section 7.1; used by Maricq et al., OSDI 2018.
    """
    return quantile_interval(x, 0.5, confidence)


def quantile_interval(x: npt.ArrayLike, p: float, confidence: float = 0.95) -> Interval | None:
    """The distribution-free interval of the p-quantile: two order statistics with exact binomial ranks.

    `x` has shape (n,), values independent of one another; 0 < p < 1. Each side misses with probability at most
    (1 - confidence) / 2. None when n is too small: at 95 %, n >= 72 for p = 0.95 and n >= 368 for p = 0.99.
    Source: David and Nagaraja, "Order Statistics", section 7.1.
    """
    values = finite(x, "quantile_interval")
    ranks = quantile_ranks(values.size, p, confidence)
    if ranks is None:
        return None
    low, high = ranks[0] - 1, ranks[1] - 1
    ordered = np.partition(values, (low, high))
    return Interval(float(ordered[low]), float(ordered[high]))


@lru_cache(maxsize=256)
def quantile_ranks(n: int, p: float, confidence: float = 0.95) -> tuple[int, int] | None:
    """The ranks (from 1) of the order statistics that `quantile_interval` takes of n values; None if n is too small.

    With B ~ Binomial(n, p): the lower rank is the largest l with P(B <= l - 1) <= (1 - confidence) / 2, the upper the
    smallest u with P(B >= u) <= (1 - confidence) / 2.
    """
    tail = (1.0 - fraction(confidence, "confidence")) / 2.0 * _ROUNDING
    share = fraction(p, "p")
    if n < 1:
        raise ValueError(f"n: {n} values; a quantile needs at least one")
    low = _largest_rank(n, share, tail)
    # P(Bin(n, p) >= u) = P(Bin(n, 1 - p) <= n - u): the upper rank is the lower one, counted from the other end. 1 - p
    # is exact for 1/2, so that the two ranks of a median mirror each other.
    from_top = _largest_rank(n, 1.0 - share, tail)
    return (low, n + 1 - from_top) if low >= 1 and from_top >= 1 else None


def _largest_rank(n: int, p: float, tail: float) -> int:
    """The largest k in 0..n with P(Bin(n, p) <= k - 1) <= tail, by bisection (the probability rises with k)."""
    low, high = 0, n + 1
    while high - low > 1:
        middle = (low + high) // 2
        if special.bdtr(middle - 1, n, p) <= tail:
            low = middle
        else:
            high = middle
    return low


def between_share(values: npt.ArrayLike, launch_ids: npt.ArrayLike) -> float | None:
    """The between-launch share of variance s_b^2 / (s_b^2 + s_w^2), in [0, 1]: the intraclass correlation.

    `values` are trial values, shape (n,); `launch_ids` name each one's launch, shape (n,), any comparable type. One-way
    random effects, method of moments for unequal numbers of runs: s_w^2 = MS_within,
    s_b^2 = (MS_between - MS_within) / n0 with n0 = (n - sum n_i^2 / n) / (k - 1), cut off at 0.
    None for fewer than 2 launches, without a launch of 2 runs or more, and if nothing varies at all. Rough for few
    launches: from six launches of two runs, a true 0.5 is estimated anywhere from 0 to 0.9.
    Source: Searle, Casella and McCulloch, "Variance Components", section 3.6.
    """
    sample = finite(values, "between_share")
    launches, inverse, runs = np.unique(np.asarray(launch_ids), return_inverse=True, return_counts=True)
    if inverse.shape != sample.shape:
        raise ValueError(f"between_share: {sample.size} values, {inverse.size} launch ids; give one id for each value")
    n, k = sample.size, launches.size
    if k < 2 or n == k or is_constant(sample):
        return None
    # Shifted first: the same variances, without losing digits to a large common level.
    shifted = sample - sample.mean()
    means = np.bincount(inverse, weights=shifted) / runs
    within = float(((shifted - means[inverse]) ** 2).sum()) / (n - k)
    between = float((runs * (means - shifted.mean()) ** 2).sum()) / (k - 1)
    typical_runs = (n - float((runs.astype(np.float64) ** 2).sum()) / n) / (k - 1)
    of_launches = max(0.0, (between - within) / typical_runs)
    total = of_launches + within
    return of_launches / total if total > 0.0 else None


def share_interval(k: int, n: int, confidence: float = 0.95) -> Interval:
    """The exact interval of a probability, from `k` successes in `n` tries, 0 <= k <= n, n >= 1; ratios.

    The ends are the probabilities at which `k` or more, and `k` or fewer, have a chance of (1 - confidence) / 2. It
    covers the true probability with at least `confidence` for every value, and is wider than Wilson's, which covers it
    only on average. Does not check that the tries were independent.
    Source: Clopper and Pearson, "The use of confidence or fiducial limits illustrated in the case of the binomial",
    Biometrika 26(4), 1934.
    """
    if not 0 <= k <= n or n < 1:
        raise ValueError(f"share_interval: {k} of {n}; count 0 to n of at least one")
    tail = (1.0 - fraction(confidence, "confidence")) / 2.0
    low = float(special.betaincinv(k, n - k + 1, tail)) if k else 0.0
    high = float(special.betaincinv(k + 1, n - k, 1.0 - tail)) if k < n else 1.0
    return Interval(low, high)


# Rows gathered into one block at a time; keeps the copies inside the cache and memory flat.
_BLOCK_ROWS = 1 << 20


def group_medians(values: npt.ArrayLike, group_ids: npt.ArrayLike) -> tuple[Integers, Floats]:
    """The median of each group: (the ids in ascending order, shape (k,); their medians, shape (k,), unit of `values`).

    `values` and whole `group_ids` have shape (n,), in any order; rows that already come group by group are faster.
    """
    sample, ids = finite(values, "group_medians"), _ids(group_ids, np.size(values), "group_medians")
    if (ids[1:] < ids[:-1]).any():
        order = np.argsort(ids)
        sample, ids = sample[order], ids[order]
    starts, sizes = _runs(ids)
    medians = np.empty(starts.size)
    # One block for each size: at most sqrt(2 n) different sizes share n rows, so the loop stays short.
    for size in np.unique(sizes):
        groups = np.flatnonzero(sizes == size)
        at_once = max(1, _BLOCK_ROWS // int(size))
        for first in range(0, groups.size, at_once):
            some = groups[first : first + at_once]
            block = np.sort(sample[starts[some][:, None] + np.arange(size)], axis=1)
            medians[some] = (block[:, (size - 1) // 2] + block[:, size // 2]) / 2.0
    return ids[starts], medians


def _ids(group_ids: npt.ArrayLike, rows: int, name: str) -> Integers:
    ids = np.asarray(group_ids)
    if ids.shape != (rows,):
        raise ValueError(f"{name}: {rows} values but group ids of shape {ids.shape}; give one id for each value")
    if ids.dtype.kind not in "iu":
        raise ValueError(f"{name}: group ids are {ids.dtype}; give whole numbers")
    return ids.astype(np.int64, copy=False)


def _runs(ids: Integers) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """The start and the length of each run of equal ids."""
    starts = np.concatenate(([0], np.flatnonzero(ids[1:] != ids[:-1]) + 1))
    return starts, np.diff(starts, append=ids.size)
