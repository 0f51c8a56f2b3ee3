"""The power of a number of launches: the smallest detectable difference, and the launches that a difference needs."""

import math

import numpy as np
from scipy import special

from cloudcmp.stats.check import fraction

# Beyond this many degrees of freedom Student's t is the normal distribution to ten digits.
_NORMAL_DF = 10**9
# A standard normal variable is outside these ends with probability 1e-19.
_NORMAL_END = 9.0
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(128)


def detectable_log_difference(sd: float, n: float, alpha: float = 0.05, power: float = 0.8) -> float | None:
    """The smallest true mean log difference that a paired t test of `n` pairs finds with probability `power`.

    `n` may be a number of effective pairs. `sd` is that of the log differences between rounds; `alpha` is two-sided
    and, for a family, already divided. exp() of the result is a ratio. Solved exactly on the noncentral t distribution
    (the normal approximation is too optimistic for few pairs). None for n < 2, and for sd = 0: an observed spread of
    zero does not prove that there is none. It trusts `sd`: one estimated from six rounds is itself uncertain by a
    third.
    Source: Lehmann and Romano, "Testing Statistical Hypotheses", section 5.2 (power of the t test).
    """
    _check_design(sd, alpha, power)
    if n < 2 or sd == 0.0:
        return None
    low, high = 0.0, 1.0
    while _power_of_t(high, n, alpha) < power:
        low, high = high, 2.0 * high
    while high - low > 1e-12 * high:
        middle = (low + high) / 2.0
        low, high = (middle, high) if _power_of_t(middle, n, alpha) < power else (low, middle)
    return high * sd / math.sqrt(n)


def needed_n(sd: float, log_difference: float, alpha: float = 0.05, power: float = 0.8) -> int | None:
    """The fewest pairs, at least 2, with which a paired t test finds `log_difference` with probability `power`.

    `sd`, `alpha` and `power` as for `detectable_log_difference`. None if sd is 0 (no spread was observed) or
    `log_difference` is 0 (no number of pairs suffices).
    """
    _check_design(sd, alpha, power)
    if not math.isfinite(log_difference):
        raise ValueError(f"needed_n: log_difference is {log_difference}; give a finite difference of logarithms")
    effect = abs(log_difference) / sd if sd > 0.0 else 0.0
    if effect == 0.0:
        return None
    if not effect > 1e-7:
        raise ValueError(f"needed_n: the difference is {effect:.1e} of its sd; it takes over 10^14 pairs to see it")
    low, high = 1, 2
    while _power_of_t(effect * math.sqrt(high), high, alpha) < power:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        suffices = _power_of_t(effect * math.sqrt(middle), middle, alpha) >= power
        low, high = (low, middle) if suffices else (middle, high)
    return high


def _power_of_t(noncentrality: float, n: float, alpha: float) -> float:
    """The probability that |t| of n pairs exceeds its critical value if t is noncentral by `noncentrality` >= 0."""
    df = n - 1
    if df > _NORMAL_DF:
        critical = -float(special.ndtri(alpha / 2.0))
        return float(special.ndtr(noncentrality - critical) + special.ndtr(-noncentrality - critical))
    critical = -float(special.stdtrit(df, alpha / 2.0))
    return _passes(noncentrality, df, critical) + _passes(-noncentrality, df, critical)


def _passes(noncentrality: float, df: float, critical: float) -> float:
    """P((Z + noncentrality) / S > critical) for standard normal Z and S^2 ~ chi^2(df) / df, by quadrature over Z.

    scipy's `nctdtr` gives NaN for many of these arguments (1.17: df = 1 and noncentrality 50, df = 10^5 and 10).
    """
    # S lies within these ends except with probability 1e-16: outside, its distribution function is 0 or 1.
    ends = np.sqrt([special.gammaincinv(df / 2.0, 1e-16), special.gammainccinv(df / 2.0, 1e-16)]) / np.sqrt(df / 2.0)
    low, high = np.clip(critical * ends - noncentrality, -_NORMAL_END, _NORMAL_END)
    z = low + (high - low) * (_NODES + 1.0) / 2.0
    density = np.exp(-(z**2) / 2.0) / math.sqrt(2.0 * math.pi)
    below = special.gammainc(df / 2.0, df / 2.0 * (np.maximum(z + noncentrality, 0.0) / critical) ** 2)
    return float((_WEIGHTS * density * below).sum() * (high - low) / 2.0 + special.ndtr(-high))


def _check_design(sd: float, alpha: float, power: float) -> None:
    fraction(alpha, "alpha")
    fraction(power, "power")
    if not (math.isfinite(sd) and sd >= 0.0):
        raise ValueError(f"sd: {sd} is not a spread; give a standard deviation of log differences, 0 or more")
    if power <= alpha:
        raise ValueError(f"power: {power} is not above alpha = {alpha}; a test that finds nothing already has that")
