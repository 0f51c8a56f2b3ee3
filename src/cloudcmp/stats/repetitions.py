"""The number of repetitions that make a median as tight as wanted, judged by subsets of those that there are."""

import numpy as np
import numpy.typing as npt
from scipy import special

from cloudcmp.stats.check import Floats, finite, fraction
from cloudcmp.stats.describe import quantile_ranks

_FEWEST = 6


def launches_for(x: npt.ArrayLike, share: float, *, confidence: float = 0.95) -> int | None:
    """The fewest values whose median has an interval within +- `share` of the median of `x`, shape (n,).

    For each number, the ends of the exact interval (order statistics) of a random subset of `x` of that size, drawn
    without replacement, must lie within the share in their mean over all subsets. None if even all values are too few,
    or fewer than 6. It takes the spread of `x` for the true one: after 10 values that is a rough guess.
    Source: Maricq et al., "Taming performance variability", OSDI 2018 (CONFIRM, E(r, alpha, X)); there the mean of 200
    random subsets, from 10 values.
    """
    values = np.sort(finite(x, "launches_for"))
    within, middle = fraction(share, "share"), float(np.median(values))
    if values.size < _FEWEST:
        return None
    log_factorial = special.gammaln(np.arange(values.size + 1) + 1.0)

    def fits(n: int) -> bool:
        ranks = quantile_ranks(n, 0.5, confidence)
        if ranks is None:
            return False
        ends = [_mean_of_rank(values, n, rank, log_factorial) for rank in ranks]
        return bool(max(abs(end - middle) for end in ends) <= within * abs(middle))

    if not fits(values.size):
        return None
    low, high = _FEWEST - 1, values.size  # the smallest number that fits lies above `low`, at most at `high`
    while high - low > 1:
        at = (low + high) // 2
        low, high = (low, at) if fits(at) else (at, high)
    return high


def _mean_of_rank(ordered: Floats, n: int, rank: int, log_factorial: Floats) -> float:
    """The mean of the value of a rank (from 1) over all subsets of n of the N ordered values.

    The i-th value has that rank in C(i - 1, rank - 1) C(N - i, n - rank) of the C(N, n) subsets.
    """
    first, last = rank - 1, ordered.size - n + rank  # in no subset do others have that rank
    below = log_factorial[first:last] - log_factorial[: last - first]
    above = log_factorial[n - rank : ordered.size - first] - log_factorial[: last - first]
    log = below + above[::-1]  # the factorials of rank - 1 and n - rank are common to all
    weight = np.exp(log - log.max())
    return float(weight @ ordered[first:last] / weight.sum())


def about_launches_for(cov: float, share: float, confidence: float = 0.95) -> int:
    """The rule of thumb for normal values of this coefficient of variation: (z 1.2533 cov / share)^2, at least 6."""
    z = -float(special.ndtri((1.0 - fraction(confidence, "confidence")) / 2.0))
    return max(_FEWEST, int(np.ceil((z * np.sqrt(np.pi / 2.0) * cov / fraction(share, "share")) ** 2)))
