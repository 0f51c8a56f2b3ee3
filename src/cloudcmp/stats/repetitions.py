"""The number of repetitions that make a median as tight as wanted, by resampling those that there are."""

import numpy as np
import numpy.typing as npt
from scipy import special

from cloudcmp.stats.check import finite, fraction
from cloudcmp.stats.describe import quantile_ranks

_FEWEST = 6
_DRAWS = 200


def launches_for(x: npt.ArrayLike, share: float, *, seed: int, confidence: float = 0.95) -> int | None:
    """The fewest values whose median has an interval within +- `share` of the median of `x`, shape (n,).

    For each number, 200 random subsets of `x` of that size are drawn without replacement; the ends of their exact
    intervals (order statistics), averaged over the subsets, must lie within the share. None if even all values are too
    few, or fewer than 6. `seed` makes it repeatable. It takes the spread of `x` for the true one: after 10 values that
    is a rough guess.
    Source: Maricq et al., "Taming performance variability", OSDI 2018 (CONFIRM, E(r, alpha, X)); there from 10 values.
    """
    values = finite(x, "launches_for")
    within, middle = fraction(share, "share"), float(np.median(values))
    if values.size < _FEWEST:
        return None
    random = np.random.default_rng(seed)
    drawn = random.permuted(np.tile(values, (_DRAWS, 1)), axis=1)

    def fits(n: int) -> bool:
        ranks = quantile_ranks(n, 0.5, confidence)
        if ranks is None:
            return False
        places = ranks[0] - 1, ranks[1] - 1
        ordered = np.partition(drawn[:, :n], places, axis=1)
        ends = [float(ordered[:, place].mean()) for place in places]
        return bool(max(abs(end - middle) for end in ends) <= within * abs(middle))

    if not fits(values.size):
        return None
    low, high = _FEWEST - 1, values.size  # the smallest number that fits lies above `low`, at most at `high`
    while high - low > 1:
        at = (low + high) // 2
        low, high = (low, at) if fits(at) else (at, high)
    return high


def about_launches_for(cov: float, share: float, confidence: float = 0.95) -> int:
    """The rule of thumb for normal values of this coefficient of variation: (z 1.2533 cov / share)^2, at least 6."""
    z = -float(special.ndtri((1.0 - fraction(confidence, "confidence")) / 2.0))
    return max(_FEWEST, int(np.ceil((z * np.sqrt(np.pi / 2.0) * cov / fraction(share, "share")) ** 2)))
