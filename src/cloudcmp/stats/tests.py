"""Tests of a difference: Student's t by pairs, Welch's t, Wilcoxon's signed ranks, Brown and Forsythe's spreads."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from cloudcmp.stats.check import Floats, finite, is_constant
from cloudcmp.stats.describe import mean, sd

# Above this the exact signed-rank distribution is more work than the normal one is wrong (p within 0.001).
_EXACT_SIGNED_RANKS = 200


@dataclass(frozen=True, slots=True)
class TTest:
    """A t test, two-sided.

    statistic: the t value; +inf or -inf when the values have no spread and yet differ.
    df: degrees of freedom, not always whole.
    p_value: in [0, 1].
    n: how many values went in (pairs for `paired_t`, both samples together for `welch_t`).
    """

    statistic: float
    df: float
    p_value: float
    n: int


@dataclass(frozen=True, slots=True)
class FTest:
    """An F test; `statistic` is +inf when nothing varies within the groups and yet they differ."""

    statistic: float
    df_between: int
    df_within: int
    p_value: float
    n: int


def paired_t(d: npt.ArrayLike) -> TTest | None:
    """Student's t test that the mean of the differences `d`, shape (n,), is 0; None for n < 2.

    t = mean(d) / (sd(d) / sqrt(n)), n - 1 degrees of freedom. For a ratio give differences of logarithms.
    Differences without any spread are taken as they stand: all 0 gives t = 0 and p = 1; all equal and not 0 gives
    t = +-inf and p = 0, in step with the interval of `t_interval`, whose width is then 0. Such data is mostly coarse
    or copied, so an infinite statistic is worth a warning where it is shown.
    """
    differences = finite(d, "paired_t")
    spread, centre, n = sd(differences), mean(differences), differences.size
    if spread is None:
        return None
    return _t_test(centre, spread / float(np.sqrt(n)), float(n - 1), n)


def welch_t(a: npt.ArrayLike, b: npt.ArrayLike) -> TTest | None:
    """Welch's t test that two independent samples, shapes (n,) and (m,), have the same mean; None for n or m < 2.

    The statistic is positive when the mean of `a` is larger. Degrees of freedom after Welch and Satterthwaite,
    (u + v)^2 / (u^2 / (n - 1) + v^2 / (m - 1)) with u = var(a) / n and v = var(b) / m.
    When neither sample has any spread: equal means give t = 0 and p = 1, others t = +-inf and p = 0, df = n + m - 2.
    Does not know of rounds: what both samples share over time stays in the error.
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


def wilcoxon_p(d: npt.ArrayLike) -> float:
    """Wilcoxon's signed-rank test that the differences `d`, shape (n,), lie evenly about 0; the two-sided p value.

    Zeros are dropped, as Wilcoxon did; tied magnitudes share their mean rank. Up to 200 differences the p value is
    exact, given the ties; above, it is the normal one with the correction for ties and continuity.
    With nothing but zeros p is 1. With five differences or fewer p cannot fall below 0.05.
    Source: Wilcoxon, "Individual comparisons by ranking methods", Biometrics Bulletin 1(6), 1945.
    """
    differences = finite(d, "wilcoxon_p")
    differences = differences[differences != 0.0]
    if differences.size == 0:
        return 1.0
    twice_ranks = _twice_ranks(np.abs(differences))
    observed = int(twice_ranks[differences > 0.0].sum())
    smaller = min(observed, int(twice_ranks.sum()) - observed)
    if differences.size <= _EXACT_SIGNED_RANKS:
        return min(1.0, 2.0 * float(_subset_sum_shares(twice_ranks)[: smaller + 1].sum()))
    centre = twice_ranks.sum() / 4.0
    variance = float((twice_ranks.astype(np.float64) ** 2).sum()) / 16.0
    z = min(0.0, (smaller / 2.0 - centre + 0.5) / float(np.sqrt(variance)))
    return min(1.0, 2.0 * float(special.ndtr(z)))


def brown_forsythe(a: npt.ArrayLike, b: npt.ArrayLike) -> FTest | None:
    """Brown and Forsythe's test that two samples spread alike: analysis of variance of |x - median of its sample|.

    None when a sample has fewer than 3 values (two values always have equal deviations, so nothing could be told).
    Robust where an F test of variances is not. It says whether the spreads differ, not which instance is to blame.
    Source: Brown and Forsythe, "Robust tests for the equality of variances", JASA 69, 1974.
    """
    first, second = finite(a, "brown_forsythe a"), finite(b, "brown_forsythe b")
    n, m = first.size, second.size
    if n < 3 or m < 3:
        return None
    z, w = np.abs(first - np.median(first)), np.abs(second - np.median(second))
    within = _sum_of_squares(z) + _sum_of_squares(w)
    between = n * m / (n + m) * (mean(z) - mean(w)) ** 2
    df = n + m - 2
    if within == 0.0:
        return FTest(float("inf"), 1, df, 0.0, n + m) if between > 0.0 else FTest(0.0, 1, df, 1.0, n + m)
    statistic = between / (within / df)
    return FTest(statistic, 1, df, float(special.fdtrc(1, df, statistic)), n + m)


def _t_test(difference: float, error: float, df: float, n: int) -> TTest:
    if error == 0.0:
        if difference == 0.0:
            return TTest(0.0, df, 1.0, n)
        return TTest(float("inf") if difference > 0.0 else float("-inf"), df, 0.0, n)
    statistic = difference / error
    return TTest(statistic, df, 2.0 * float(special.stdtr(df, -abs(statistic))), n)


def _sum_of_squares(values: Floats) -> float:
    return 0.0 if is_constant(values) else float(((values - values.mean()) ** 2).sum())


def _twice_ranks(magnitudes: Floats) -> npt.NDArray[np.int64]:
    """Twice the mean rank (from 1) of each value: whole numbers even where values are tied."""
    _, inverse, counts = np.unique(magnitudes, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((2 * last - counts + 1)[inverse], dtype=np.int64)


def _subset_sum_shares(whole: npt.NDArray[np.int64]) -> Floats:
    """Share of all subsets of `whole` that sum to 0, 1, 2, ...: the null distribution of the signed-rank sum."""
    shares = np.zeros(int(whole.sum()) + 1)
    shares[0] = 1.0
    reach = 0
    for number in sorted(int(value) for value in whole):
        reach += number
        shifted = shares[: reach + 1 - number] / 2.0
        shares[: reach + 1] /= 2.0
        shares[number : reach + 1] += shifted
    return shares
