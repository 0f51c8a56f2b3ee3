"""Evidence on the mean of differences that stays valid however often it is looked at, and whoever stops when.

The measure is a mixture of likelihood ratios of the t statistic: the effect, in standard deviations, has a normal prior
cut off at 0, and the unknown standard deviation the right Haar prior. For independent normal differences with a mean of
0 or less, the probability that it ever exceeds 1/alpha is at most alpha, however often and whenever it is looked at.
It does not cover differences that depend on earlier ones, such as launches whose neighbours stay; for other shapes than
the normal one it holds approximately (docs/reference/selection.md has the measured error rates).

Source: Lai, "On confidence sequences", Annals of Statistics 4, 1976; Wang and Ramdas, "Anytime-valid t-tests and
confidence sequences for Gaussian means with unknown variance", Sequential Analysis 44, 2025, section 4; Ville's
inequality.
"""

import numpy as np
from scipy import special

from cloudcmp.stats.check import Floats

PRIOR = 1.0
"""Variance of the effect's prior, in standard deviations squared: it is sharpest for effects near one of them."""


def log_evidence(n: Floats, mean: Floats, squares: Floats) -> Floats:
    """The logarithm of the evidence that the mean is above 0, of arrays of one shape; -inf if there is none.

    `n` is the number of differences, `mean` theirs and `squares` the sum of squares around it. Add a margin to `mean`
    to ask whether the mean is above minus the margin. The evidence grows with `mean`: it is valid against every mean of
    0 or less.
    """
    shrunk = 1.0 + n * PRIOR
    with np.errstate(divide="ignore", invalid="ignore"):
        left = squares + n * mean**2 / shrunk
        ratio = np.log(squares + n * mean**2) - np.log(left)
        centre = mean * (n * PRIOR / shrunk) / np.sqrt(PRIOR / shrunk * left / n)
        found = 0.5 * (n * ratio - np.log(shrunk)) + np.log(2.0 * special.stdtr(n, centre))
    return np.where((n >= 2) & ~np.isnan(found), found, -np.inf)


def valid_p(rows: Floats, margin: float = 0.0) -> tuple[Floats, Floats]:
    """The p values, for each row of differences in the order of time, that the mean is not above, and not below, 0.

    `rows` has shape (k, n). Each is the least of all looks so far, one after each difference. A `margin` > 0 asks if
    the mean is not above -margin, and not below margin: the larger of the two p values is that of two one-sided tests.
    """
    above, below = np.full(len(rows), -np.inf), np.full(len(rows), -np.inf)
    mean, squares = np.zeros(len(rows)), np.zeros(len(rows))
    for n, values in enumerate(rows.T, 1):
        apart = values - mean
        mean = mean + apart / n
        squares = squares + apart * (values - mean)
        count = np.full(len(rows), float(n))
        above = np.maximum(above, log_evidence(count, mean + margin, squares))
        below = np.maximum(below, log_evidence(count, margin - mean, squares))
    return np.minimum(1.0, np.exp(-above)), np.minimum(1.0, np.exp(-below))


def valid_t(n: Floats, level: float) -> Floats:
    """The half width, in standard errors, of an interval of the mean of `n` differences that is valid at every look.

    All intervals of a row, one after each difference, cover its mean together with probability `level`. Infinite while
    `n` is too small for that. It inverts the two-sided form of the evidence, whose prior is not cut off.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        shrunk = 1.0 + n * PRIOR
        limit = (np.sqrt(shrunk) / (1.0 - level)) ** (2.0 / n)
        room = 1.0 - limit / shrunk
        width = np.sqrt((n - 1.0) * (limit - 1.0) / room)
    return np.where((n >= 2) & (room > 0.0), width, np.inf)


def fixed_level(n: int, level: float) -> float:
    """The level of a t test of `n` differences at one look that is as strict as this evidence is at `level`.

    0 if no result of `n` differences reaches `level`.
    """
    t = float(valid_t(np.array(float(n)), 1.0 - level))
    return 2.0 * float(special.stdtr(n - 1.0, -t)) if n > 1 else 0.0
