"""A share of launches, and the interval that belongs to it."""

from scipy import special

from cloudcmp.stats.check import fraction
from cloudcmp.stats.describe import Interval


def share_interval(k: int, n: int, confidence: float = 0.95) -> Interval:
    """The exact interval of a probability that came true `k` times of `n`, 0 <= k <= n, n >= 1; ratios.

    The ends are the probabilities at which `k` or more, and `k` or fewer, have a chance of (1 - confidence) / 2: it
    covers the true one with at least `confidence`, whatever it is, and is wider than Wilson's, which covers it only on
    average. Says nothing of whether the n were independent.
    Source: Clopper and Pearson, "The use of confidence or fiducial limits illustrated in the case of the binomial",
    Biometrika 26(4), 1934.
    """
    if not 0 <= k <= n or n < 1:
        raise ValueError(f"share_interval: {k} of {n}; count 0 to n of at least one")
    tail = (1.0 - fraction(confidence, "confidence")) / 2.0
    low = float(special.betaincinv(k, n - k + 1, tail)) if k else 0.0
    high = float(special.betaincinv(k + 1, n - k, 1.0 - tail)) if k < n else 1.0
    return Interval(low, high)
