"""Welch's t test of a difference."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from cloudcmp.stats.check import finite
from cloudcmp.stats.describe import mean, sd


@dataclass(frozen=True, slots=True)
class TTest:
    """A t test, two-sided.

    statistic: the t value; +inf or -inf if the values have no spread and yet differ.
    df: degrees of freedom, not always whole.
    p_value: in [0, 1].
    n: the number of values in both samples together.
    """

    statistic: float
    df: float
    p_value: float
    n: int


def welch_t(a: npt.ArrayLike, b: npt.ArrayLike) -> TTest | None:
    """Welch's t test that two independent samples, shapes (n,) and (m,), have the same mean; None for n or m < 2.

    The statistic is positive if the mean of `a` is larger. Degrees of freedom by Welch and Satterthwaite, (u + v)^2 /
    (u^2 / (n - 1) + v^2 / (m - 1)) with u = var(a) / n and v = var(b) / m.
    If neither sample has any spread: equal means give t = 0 and p = 1, others t = +-inf and p = 0, df = n + m - 2. Does
    not account for rounds: an effect over time that both samples share stays in the error.
    Source: Welch, "The generalization of Student's problem", Biometrika 34, 1947.
    """
    first, second = finite(a, "welch_t a"), finite(b, "welch_t b")
    spread_a, spread_b, n, m = sd(first), sd(second), first.size, second.size
    if spread_a is None or spread_b is None:
        return None
    difference = mean(first) - mean(second)
    u, v = spread_a / float(np.sqrt(n)), spread_b / float(np.sqrt(m))
    error = float(np.hypot(u, v))
    if error == 0.0:
        return _t_test(difference, 0.0, float(n + m - 2), n + m)
    # Shares of the variance, not variances: tiny spreads do not underflow when squared twice.
    share = (u / error) ** 2
    df = 1.0 / (share**2 / (n - 1) + (1.0 - share) ** 2 / (m - 1))
    return _t_test(difference, error, df, n + m)


def _t_test(difference: float, error: float, df: float, n: int) -> TTest:
    if error == 0.0:
        if difference == 0.0:
            return TTest(0.0, df, 1.0, n)
        return TTest(float("inf") if difference > 0.0 else float("-inf"), df, 0.0, n)
    statistic = difference / error
    return TTest(statistic, df, 2.0 * float(special.stdtr(df, -abs(statistic))), n)
