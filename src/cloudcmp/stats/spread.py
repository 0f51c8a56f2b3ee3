"""The ratio of two spreads, each of runs inside groups."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from cloudcmp.stats.check import Floats, finite

_DRAWS = 2000


@dataclass(frozen=True, slots=True)
class SpreadRatio:
    """The ratio of two standard deviations, its 95 % interval, and the p value of the test that they are equal."""

    ratio: float
    low: float
    high: float
    p: float


def spread_ratio(groups: Sequence[tuple[Sequence[float], Sequence[float]]], *, seed: int) -> SpreadRatio | None:
    """The ratio of the pooled standard deviations of the first and the second values of groups.

    Each group has its own level, which does not count: deviations are from its own mean, with a degree of freedom less
    for each group. The interval is the percentile bootstrap of the logarithm of the ratio over whole groups, because
    values of one group are not independent; p is Brown and Forsythe's (Levene's test about medians; J. Am. Stat. Assoc.
    69, 1974) of the deviations from the groups' medians. None unless two groups have two values of both kinds, or if a
    spread is 0. `seed` makes the bootstrap repeatable.
    """
    usable = [(np.array(a), np.array(b)) for a, b in groups if len(a) > 1 and len(b) > 1]
    if len(usable) < 2:
        return None
    squares = np.array([[_square(finite(one, "values")) for one in pair] for pair in usable])
    freedom = np.array([[len(one) - 1 for one in pair] for pair in usable], dtype=np.float64)
    variances = squares.sum(axis=0) / freedom.sum(axis=0)
    if not (variances > 0.0).all():
        return None
    ratio = math.sqrt(variances[0] / variances[1])
    picks = np.random.default_rng(seed).integers(len(usable), size=(_DRAWS, len(usable)))
    drawn = squares[picks].sum(axis=1) / freedom[picks].sum(axis=1)
    drawn = drawn[(drawn > 0.0).all(axis=1)]
    logs = 0.5 * (np.log(drawn[:, 0]) - np.log(drawn[:, 1]))
    low, high = np.exp(np.quantile(logs, [0.025, 0.975]))
    a, b = (np.concatenate([pair[side] - np.median(pair[side]) for pair in usable]) for side in (0, 1))
    return SpreadRatio(ratio, float(low), float(high), _brown_forsythe(a, b))


def _brown_forsythe(a: Floats, b: Floats) -> float:
    """The p value of equal spreads: a one-way analysis of variance of the absolute deviations from the medians.

    By the F distribution itself: `scipy.stats` takes two seconds to import.
    """
    distances = [np.abs(values - np.median(values)) for values in (a, b)]
    means, mean = [one.mean() for one in distances], np.concatenate(distances).mean()
    between = sum(len(one) * (its - mean) ** 2 for one, its in zip(distances, means, strict=True))
    within = sum(float(((one - its) ** 2).sum()) for one, its in zip(distances, means, strict=True))
    freedom = len(a) + len(b) - 2
    return float(special.fdtrc(1, freedom, between * freedom / within)) if within > 0.0 else 1.0


def _square(values: Floats) -> float:
    """The sum of the squared deviations from the mean."""
    return float(((values - values.mean()) ** 2).sum())
