"""Welch's interval of a difference, the inverse of his test: a second witness for unpaired comparisons."""

import numpy as np
import numpy.typing as npt
from scipy import special

from cloudcmp.stats.describe import Interval, mean, sd
from cloudcmp.stats.tests import welch_t


def difference_interval(a: npt.ArrayLike, b: npt.ArrayLike, confidence: float) -> Interval | None:
    """Welch's interval of mean(a) - mean(b), the inverse of `welch_t`; None for fewer than 2 values in either."""
    test, spread_a, spread_b = welch_t(a, b), sd(a), sd(b)
    if test is None or spread_a is None or spread_b is None:
        return None
    error = float(np.hypot(spread_a / np.sqrt(np.size(a)), spread_b / np.sqrt(np.size(b))))
    half = -float(special.stdtrit(test.df, (1.0 - confidence) / 2.0)) * error
    difference = mean(a) - mean(b)
    return Interval(difference - half, difference + half)
