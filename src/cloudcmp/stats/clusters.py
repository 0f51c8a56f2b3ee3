"""Weighted means and quantiles of values in clusters: values of one cluster may depend on each other."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy import special

from cloudcmp.stats.check import Floats, finite
from cloudcmp.stats.describe import Interval, share_interval

FEWEST = 6
"""With fewer clusters there is no bootstrap interval: it would be far too narrow."""


@dataclass(frozen=True, slots=True)
class ClusterMean:
    """A weighted mean of values in clusters, its standard error, and the degrees of freedom: clusters - 1."""

    mean: float
    error: float
    df: int
    n: int

    def interval(self, confidence: float = 0.95) -> Interval:
        """The interval of Student's t."""
        half = float(-special.stdtrit(self.df, (1.0 - confidence) / 2.0)) * self.error
        return Interval(self.mean - half, self.mean + half)

    def p_value(self) -> float:
        """The two-sided p value that the mean is 0; without any error 1 for a mean of 0, and 0 otherwise."""
        if self.error == 0.0:
            return 1.0 if self.mean == 0.0 else 0.0
        return 2.0 * float(special.stdtr(self.df, -abs(self.mean / self.error)))

    def p_within(self, margin: float) -> float:
        """The p value of the two one-sided tests that the mean is less than `margin` > 0 away from 0."""
        beyond = abs(self.mean) - margin
        if self.error == 0.0:
            return 0.0 if beyond < 0.0 else 1.0
        return float(special.stdtr(self.df, beyond / self.error))


def cluster_mean(values: npt.ArrayLike, weights: npt.ArrayLike, clusters: npt.ArrayLike) -> ClusterMean | None:
    """The weighted mean of `values`, shape (n,), with a standard error that lets clusters be dependent inside.

    `weights` > 0 and the numbers of `clusters` have the same shape. None for fewer than two clusters. With equal
    weights and a cluster for each value it is the mean, standard error and degrees of freedom of the one-sample t test.
    It is too sure of itself with few clusters of very different weight.
    Source: Liang and Zeger, "Longitudinal data analysis using generalized linear models", Biometrika 73, 1986, with the
    factor clusters / (clusters - 1).
    """
    numbers, weight = finite(values, "cluster_mean values"), finite(weights, "cluster_mean weights")
    _, code = np.unique(np.asarray(clusters), return_inverse=True)
    count = int(code.max()) + 1
    if count < 2:
        return None
    total = float(weight.sum())
    mean = float((weight * numbers).sum()) / total
    if numbers.min() == numbers.max():
        return ClusterMean(float(numbers[0]), 0.0, count - 1, count)
    sums = np.bincount(code, weights=weight * (numbers - mean), minlength=count)
    variance = count / (count - 1) * float((sums**2).sum()) / total**2
    return ClusterMean(mean, float(np.sqrt(variance)), count - 1, count)


def weighted_quantile(values: npt.ArrayLike, weights: npt.ArrayLike, p: float) -> float:
    """The least of `values` at or below which a share `p` of the weight lies; both of shape (n,), n >= 1."""
    numbers, weight = finite(values, "weighted_quantile values"), finite(weights, "weighted_quantile weights")
    return float(_quantiles(numbers, weight[None, :], p)[0])


def quantile_interval(
    values: npt.ArrayLike, weights: npt.ArrayLike, clusters: npt.ArrayLike, p: float, *, seed: int,
    confidence: float = 0.95,
) -> Interval | None:  # fmt: skip
    """The percentile bootstrap interval of `weighted_quantile`; whole clusters are drawn. None for fewer than six."""
    drawn = _drawn_weights(weights, clusters, seed)
    if drawn is None:
        return None
    return _between(_quantiles(finite(values, "quantile_interval"), drawn, p), confidence)


def share_bounds(
    values: npt.ArrayLike, weights: npt.ArrayLike, clusters: npt.ArrayLike, limits: npt.ArrayLike, *, seed: int,
    confidence: float = 0.95,
) -> tuple[Floats, Floats, Floats]:  # fmt: skip
    """The share of the weight with a value at or below each limit, and the bounds of its interval.

    The interval is the percentile bootstrap's; whole clusters are drawn. A share of 0 or 1, of which every draw
    is equal, has the exact interval of as many tries as there are clusters. NaN bounds for fewer than six clusters.
    """
    numbers, weight, at = (
        finite(values, "share_bounds values"),
        finite(weights, "share_bounds weights"),
        finite(limits, "limits"),
    )
    under = (numbers[:, None] <= at[None, :]).astype(np.float64)
    share = np.asarray(weight @ under / weight.sum(), dtype=np.float64)
    drawn = _drawn_weights(weights, clusters, seed)
    if drawn is None:
        return share, np.full(share.shape, np.nan), np.full(share.shape, np.nan)
    shares = drawn @ under / drawn.sum(axis=1, keepdims=True)
    low, high = np.quantile(shares, [(1.0 - confidence) / 2.0, (1.0 + confidence) / 2.0], axis=0)
    count = len(np.unique(np.asarray(clusters)))
    none, all_ = share_interval(0, count, confidence), share_interval(count, count, confidence)
    return share, np.where(share >= 1.0, all_.low, low), np.where(share <= 0.0, none.high, high)


_DRAWS = 2000


def _drawn_weights(weights: npt.ArrayLike, clusters: npt.ArrayLike, seed: int) -> Floats | None:
    """The weight of each value in each of 2000 draws of as many clusters as there are, with replacement."""
    weight = finite(weights, "weights")
    _, code = np.unique(np.asarray(clusters), return_inverse=True)
    count = int(code.max()) + 1
    if count < FEWEST:
        return None
    return np.asarray(_times_drawn(count, seed)[:, code] * weight[None, :], dtype=np.float64)


@lru_cache(maxsize=4)
def _times_drawn(count: int, seed: int) -> npt.NDArray[np.float32]:
    """How often each of `count` clusters is drawn in each of 2000 draws of as many, with replacement."""
    drawn = np.random.default_rng(seed).integers(0, count, (_DRAWS, count)) + count * np.arange(_DRAWS)[:, None]
    return np.bincount(drawn.ravel(), minlength=_DRAWS * count).reshape(_DRAWS, count).astype(np.float32)


def _quantiles(values: Floats, weights: Floats, p: float) -> Floats:
    """The weighted quantile of the values for each row of weights, shape (draws, n)."""
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weights[:, order], axis=1)
    total = below[:, -1:]
    at = np.argmax(below >= p * total * (1.0 - 1e-12), axis=1)
    return np.asarray(values[order][at], dtype=np.float64)


def _between(draws: Floats, confidence: float) -> Interval:
    low, high = np.quantile(draws, [(1.0 - confidence) / 2.0, (1.0 + confidence) / 2.0])
    return Interval(float(low), float(high))
