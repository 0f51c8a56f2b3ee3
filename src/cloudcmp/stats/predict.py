"""The chance that more rounds give a pair a verdict, from the rounds that were measured."""

import math

import numpy as np
import numpy.typing as npt

from cloudcmp.stats import many
from cloudcmp.stats.check import Floats
from cloudcmp.stats.evidence import log_evidence

Flags = npt.NDArray[np.bool_]
# Draws of the truth and of the further rounds; the standard error of a chance is at most 0.011.
_DRAWS = 2000
_SEED = 20101


def chance_of_verdict(
    centre: float, sd: float, n: int, more: int, *, alpha: float, margin: float | None, prior_sd: float,
    every_look: bool = False,
) -> float:  # fmt: skip
    """The probability that `more` further rounds settle a pair of which `n` rounds are known.

    `centre` and `sd` are the mean and the standard deviation of the `n` known differences. A pair is settled if the
    paired t test of all rounds, or the two one-sided tests within `margin` (None: not tested), has p < `alpha`. The
    With `every_look`, the evidence that holds at every look decides instead, by that of the last round alone. The
    true difference has a normal prior with mean 0 and standard deviation `prior_sd` (inf: none), its variance the prior
    1/variance; the further rounds are drawn from their posterior. The draws are always the same. It does not know of
    drift, of several levels, or of failures to come.
    Source: Gelman et al., "Bayesian Data Analysis", 3rd edition, sections 2.5 and 3.2.
    """
    rng = np.random.default_rng(_SEED)
    variance = (n - 1) * sd**2 / rng.chisquare(n - 1, _DRAWS)
    precision = n / variance + (0.0 if math.isinf(prior_sd) else prior_sd**-2)
    truth = centre * (n / variance) / precision + rng.standard_normal(_DRAWS) / np.sqrt(precision)
    mean = truth + rng.standard_normal(_DRAWS) * np.sqrt(variance / more)
    squares = variance * rng.chisquare(more - 1, _DRAWS) if more > 1 else np.zeros(_DRAWS)
    total = n + more
    pooled = (n * centre + more * mean) / total
    squares = squares + (n - 1) * sd**2 + n * more / total * (mean - centre) ** 2
    if every_look:
        return float(_settled_at_any_look(pooled, squares, total, alpha, margin).mean())
    error, df = np.sqrt(squares / (total - 1) / total), np.full(_DRAWS, total - 1.0)
    settled = many.t_test(pooled, error, df) < alpha
    if margin is not None:
        settled |= many.equivalence(pooled, error, df, margin) < alpha
    return float(settled.mean())


def _settled_at_any_look(mean: Floats, squares: Floats, total: int, alpha: float, margin: float | None) -> Flags:
    n = np.full(mean.shape, float(total))
    settled = log_evidence(n, np.abs(mean), squares) >= math.log(2.0 / alpha)
    if margin is not None:
        inside = np.minimum(log_evidence(n, margin + mean, squares), log_evidence(n, margin - mean, squares))
        settled |= inside >= -math.log(alpha)
    return np.asarray(settled, dtype=np.bool_)
