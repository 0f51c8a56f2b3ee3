"""Weighted means and quantiles of values in clusters: values of one cluster may depend on each other."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy import special

from cloudcmp.stats.check import Floats, finite
from cloudcmp.stats.describe import Interval

FEWEST = 6
"""With fewer effective clusters there is no interval of a quantile or a share: it would tell too little."""


def effective_clusters(weights: npt.ArrayLike, clusters: npt.ArrayLike) -> float:
    """The number of clusters of equal weight that tell as much as these: 1 if one has all the weight.

    `weights` > 0 and the numbers of `clusters` have shape (n,), n >= 1. It is the squared sum of the weights of whole
    clusters over the sum of their squares.
    Source: Kish, "Survey Sampling", 1965, section 11.7.
    """
    weight = finite(weights, "effective_clusters weights")
    _, code = np.unique(np.asarray(clusters), return_inverse=True)
    return _effective(np.bincount(code, weights=weight))


def _effective(whole: npt.ArrayLike) -> float:
    part = np.asarray(whole, dtype=np.float64) / np.max(whole)
    return round(float(part.sum() ** 2 / (part**2).sum()), 9)


@dataclass(frozen=True, slots=True)
class ClusterMean:
    """A weighted mean of values in `n` clusters, and its standard error.

    The degrees of freedom are `effective` - 1: so many clusters of equal weight tell as much.
    """

    mean: float
    error: float
    effective: float
    n: int

    @property
    def df(self) -> float:
        """The degrees of freedom of Student's t."""
        return self.effective - 1.0

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
    The residual of a cluster is divided by the square root of one less its share of the weight: a cluster with nearly
    all of it draws the mean to itself and would hide its own error.
    Source: Liang and Zeger, "Longitudinal data analysis using generalized linear models", Biometrika 73, 1986; Bell and
    McCaffrey, "Bias reduction in standard errors for linear regression with multi-stage samples", Survey Methodology
    28(2), 2002, the correction for leverage.
    """
    numbers, weight = finite(values, "cluster_mean values"), finite(weights, "cluster_mean weights")
    _, code = np.unique(np.asarray(clusters), return_inverse=True)
    count = int(code.max()) + 1
    if count < 2:
        return None
    total = float(weight.sum())
    mean = float((weight * numbers).sum()) / total
    whole = np.bincount(code, weights=weight, minlength=count)
    if numbers.min() == numbers.max():
        return ClusterMean(float(numbers[0]), 0.0, _effective(whole), count)
    sums = np.bincount(code, weights=weight * (numbers - mean), minlength=count)
    rest = np.maximum(1.0 - whole / total, np.finfo(np.float64).eps)
    return ClusterMean(mean, float(np.sqrt((sums**2 / rest).sum())) / total, _effective(whole), count)


def weighted_quantile(values: npt.ArrayLike, weights: npt.ArrayLike, p: float) -> float:
    """The least of `values` at or below which a share `p` of the weight lies; both of shape (n,), n >= 1."""
    numbers, weight = finite(values, "weighted_quantile values"), finite(weights, "weighted_quantile weights")
    return float(_quantiles(numbers, weight[None, :], p)[0])


def quantile_interval(
    values: npt.ArrayLike, weights: npt.ArrayLike, clusters: npt.ArrayLike, p: float, *, seed: int,
    confidence: float = 0.95,
) -> Interval | None:  # fmt: skip
    """The percentile bootstrap interval of `weighted_quantile`; whole clusters are drawn.

    None for fewer than six effective clusters.
    """
    drawn = _drawn_weights(weights, clusters, seed)
    if drawn is None:
        return None
    return _between(_quantiles(finite(values, "quantile_interval"), drawn, p), confidence)


def share_bounds(
    values: npt.ArrayLike, weights: npt.ArrayLike, clusters: npt.ArrayLike, limits: npt.ArrayLike, *,
    confidence: float = 0.95,
) -> tuple[Floats, Floats, Floats]:  # fmt: skip
    """The share of the weight with a value at or below each limit, and the bounds of its interval.

    The interval is the exact one of a probability with as many tries as there are effective clusters, as if values of
    one cluster were all alike: it holds for shares near 0 and 1, and is on the safe side where they are not alike. NaN
    bounds for fewer than six effective clusters.
    Source: Korn and Graubard, "Confidence intervals for proportions with small expected number of positive counts
    estimated from survey data", Survey Methodology 24(2), 1998.
    """
    numbers, weight, at = (
        finite(values, "share_bounds values"),
        finite(weights, "share_bounds weights"),
        finite(limits, "limits"),
    )
    under = (numbers[:, None] <= at[None, :]).astype(np.float64)
    share = np.clip(weight @ under / weight.sum(), 0.0, 1.0)
    tries = effective_clusters(weight, clusters)
    if tries < FEWEST:
        return share, np.full(share.shape, np.nan), np.full(share.shape, np.nan)
    tail, count = (1.0 - confidence) / 2.0, share * tries
    some, rest = np.maximum(count, _ROUNDING), np.maximum(tries - count, _ROUNDING)
    low = np.where(count > _ROUNDING, special.betaincinv(some, rest + 1.0, tail), 0.0)
    high = np.where(tries - count > _ROUNDING, special.betaincinv(some + 1.0, rest, 1.0 - tail), 1.0)
    return share, low, high


_ROUNDING = 1e-9
_DRAWS = 2000


def _drawn_weights(weights: npt.ArrayLike, clusters: npt.ArrayLike, seed: int) -> Floats | None:
    """The weight of each value in each of 2000 draws of as many clusters as there are, with replacement."""
    weight = finite(weights, "weights")
    _, code = np.unique(np.asarray(clusters), return_inverse=True)
    count = int(code.max()) + 1
    if effective_clusters(weight, code) < FEWEST:
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
