"""The t tests, intervals and robust effects of many pairs at once, a row or an entry for each pair.

NaN is unknown, as is the spread of a single value. Each formula is that of the function for a single pair, here, in
`tests` or in `describe`, in the same order of operations.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy import special

from cloudcmp.stats.check import Floats, finite

# The number of sums listed at once, so that memory does not grow with the number of pairs.
_AT_ONCE = 1 << 20


def moments(rows: Floats) -> tuple[Floats, Floats]:
    """Mean and standard deviation (divisor n - 1) of each row, shape (k, n), n >= 1; unit of the values.

    The mean never lies outside a row's values; the deviation is exactly 0 for equal values, NaN for n = 1.
    """
    low, high = rows.min(axis=1), rows.max(axis=1)
    mean = np.clip(rows.mean(axis=1), low, high)
    if rows.shape[1] < 2:
        return mean, np.full(mean.shape, np.nan)
    return mean, np.where(low == high, 0.0, rows.std(axis=1, ddof=1))


def t_test(difference: Floats, error: Floats, df: Floats) -> Floats:
    """The two-sided p values of differences with standard errors on degrees of freedom, all of shape (k,).

    Without any error p is 1 for a difference of 0, and 0 otherwise.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        p = 2.0 * special.stdtr(df, -np.abs(difference / error))
    return np.where(error == 0.0, np.where(difference == 0.0, 1.0, 0.0), p)


def equivalence(difference: Floats, error: Floats, df: Floats, margin: float) -> Floats:
    """The p values of the two one-sided tests (TOST) that |true difference| < `margin`, all of shape (k,).

    Arguments as for `t_test`; `margin` > 0 is in the unit of the differences. The larger of the two one-sided p values,
    and 1 or 0 without any error.
    Source: Schuirmann, "A comparison of the two one-sided tests procedure and the power approach for assessing the
    equivalence of average bioavailability", J. Pharmacokinet. Biopharm. 15, 1987.
    """
    beyond = np.abs(difference) - margin
    with np.errstate(divide="ignore", invalid="ignore"):
        p = special.stdtr(df, beyond / error)
    return np.where(error == 0.0, np.where(beyond < 0.0, 0.0, 1.0), p)


def t_critical(df: Floats, confidence: float) -> Floats:
    """Student's t that is exceeded on one side with probability (1 - confidence) / 2, for each of shape (k,)."""
    unique, inverse = np.unique(df, return_inverse=True)  # expensive, and there are few different whole degrees
    return np.asarray(-special.stdtrit(unique, (1.0 - confidence) / 2.0)[inverse], dtype=np.float64)


def welch(
    mean: tuple[Floats, Floats], sd: tuple[Floats, Floats], n: tuple[Floats, Floats]
) -> tuple[Floats, Floats, Floats]:
    """Difference of the means, its standard error and the degrees of freedom of Welch's test, each of shape (k,).

    Each argument holds the first and the second member of all pairs, of shape (k,); sd and n are those of single
    values.
    Source: as `tests.welch_t`.
    """
    n_a, n_b = n
    u, v = sd[0] / np.sqrt(n_a), sd[1] / np.sqrt(n_b)
    error = np.hypot(u, v)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = _squared(u / error)
        df = 1.0 / (_squared(share) / (n_a - 1) + _squared(1.0 - share) / (n_b - 1))
    return mean[0] - mean[1], error, np.where(error == 0.0, n_a + n_b - 2, df)


def _squared(values: Floats) -> Floats:
    """Squares equal to the last bit to those of `tests.welch_t`: `**` multiplies arrays, and calls pow for numbers."""
    return np.float_power(values, 2.0)


def hodges_lehmann_rows(rows: Floats) -> Floats:
    """`hodges_lehmann` of each row of differences, shape (k, n)."""
    k, n = rows.shape
    if n * n > _AT_ONCE:
        return np.array([hodges_lehmann(row) for row in rows])
    first, second = np.triu_indices(n)
    ordered, centres = np.sort(rows, axis=1), np.empty(k)
    step = max(1, _AT_ONCE // first.size)
    for at in range(0, k, step):
        some = ordered[at : at + step]
        centres[at : at + step] = np.median(some[:, first] + some[:, second], axis=1) / 2.0
    return centres


def hodges_lehmann_shifts(a: Floats, b: Floats) -> Floats:
    """`hodges_lehmann_shift` of each row of `a`, shape (k, n), against that of `b`, shape (k, m)."""
    k, size = len(a), a.shape[1] * b.shape[1]
    if size > _AT_ONCE:
        return np.array([hodges_lehmann_shift(x, y) for x, y in zip(a, b, strict=True)])
    first, second, shifts = np.sort(a, axis=1), np.sort(-b, axis=1), np.empty(k)
    step = max(1, _AT_ONCE // size)
    for at in range(0, k, step):
        sums = first[at : at + step, :, None] + second[at : at + step, None, :]
        shifts[at : at + step] = np.median(sums.reshape(len(sums), -1), axis=1)
    return shifts


def cliffs_deltas(a: Floats, b: Floats) -> Floats:
    """`cliffs_delta` of each row of `a`, shape (k, n), against that of `b`, shape (k, m)."""
    k, size, deltas = len(a), a.shape[1] * b.shape[1], np.empty(len(a))
    if size > _AT_ONCE:
        return np.array([cliffs_delta(x, y) for x, y in zip(a, b, strict=True)])
    step = max(1, _AT_ONCE // size)
    for at in range(0, k, step):
        x, y = a[at : at + step, :, None], b[at : at + step, None, :]
        above, below = (np.count_nonzero(comparison, axis=(1, 2)) for comparison in (x > y, x < y))
        deltas[at : at + step] = (above - below) / size
    return deltas


# The number of pairs that are listed explicitly (32 MB); more are counted by bisection, which needs no memory for them.
_LISTED_PAIRS = 4_000_000


def cliffs_delta(a: npt.ArrayLike, b: npt.ArrayLike) -> float:
    """Cliff's delta, P(a > b) - P(a < b) over all pairs, in [-1, 1]; 0 if neither tends to be larger.

    `a` has shape (n,), `b` (m,). It measures how separate two samples are, not by how much: two clouds 1 % apart
    without any spread have delta 1.
    Source: Cliff, "Dominance statistics", Psychological Bulletin 114, 1993.
    """
    first, second = finite(a, "cliffs_delta a"), np.sort(finite(b, "cliffs_delta b"))
    below = int(np.searchsorted(second, first, "left").sum())
    not_above = int(np.searchsorted(second, first, "right").sum())
    pairs = first.size * second.size
    return (below - (pairs - not_above)) / pairs


def hodges_lehmann(d: npt.ArrayLike) -> float:
    """The Hodges-Lehmann centre of the differences `d`, shape (n,): the median of all (d[i] + d[j]) / 2 with i <= j.

    Unit of `d`. For paired values; nearly as sharp as the mean on normal data, and robust against a single outlier.
    Source: Hodges and Lehmann, "Estimates of location based on rank tests", Ann. Math. Statist. 34, 1963.
    """
    values = np.sort(finite(d, "hodges_lehmann"))
    n = values.size
    if n * n <= _LISTED_PAIRS:
        rows, columns = np.triu_indices(n)
        return float(np.median(values[rows] + values[columns])) / 2.0

    def at_most(limit: float) -> int:
        # Ordered pairs hold every i < j twice and every i = j once.
        return (_sums_at_most(values, values, limit) + int(np.count_nonzero(values + values <= limit))) // 2

    return _middle(at_most, n * (n + 1) // 2, float(2.0 * values[0]), float(2.0 * values[-1])) / 2.0


def hodges_lehmann_shift(a: npt.ArrayLike, b: npt.ArrayLike) -> float:
    """The Hodges-Lehmann shift from `b`, shape (m,), to `a`, shape (n,): the median of all a[i] - b[j]; unit of both.

    For independent samples. It is not the difference of the medians unless both have the same shape.
    Source: Hodges and Lehmann, "Estimates of location based on rank tests", Ann. Math. Statist. 34, 1963.
    """
    first, second = np.sort(finite(a, "hodges_lehmann_shift a")), np.sort(-finite(b, "hodges_lehmann_shift b"))
    pairs = first.size * second.size
    if pairs <= _LISTED_PAIRS:
        return float(np.median(np.add.outer(first, second)))
    return _middle(
        lambda limit: _sums_at_most(first, second, limit),
        pairs,
        float(first[0] + second[0]),
        float(first[-1] + second[-1]),
    )


def _sums_at_most(first: Floats, second: Floats, limit: float) -> int:
    """The number of pairs of one value of each with a sum <= limit; `second` is sorted."""
    return int(np.searchsorted(second, limit - first, "right").sum())


def _middle(at_most: Callable[[float], int], count: int, low: float, high: float) -> float:
    """The median of `count` numbers in [low, high], to 1e-15 of the larger end; `at_most(x)` counts those <= x."""
    tolerance = 1e-15 * max(abs(low), abs(high))

    def ranked(rank: int) -> float:
        under, reach = low, high
        if at_most(under) >= rank:
            return under
        while reach - under > tolerance:
            middle = under + (reach - under) / 2.0
            if middle in (under, reach):
                break
            under, reach = (under, middle) if at_most(middle) >= rank else (middle, reach)
        return reach

    upper = ranked(count // 2 + 1)
    return upper if count % 2 else (ranked(count // 2) + upper) / 2.0
