"""How large a difference is: two measures that outliers do not move."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from cloudcmp.stats.check import Floats, finite

# So many pairs are listed outright (32 MB); more are counted by bisection, which needs no memory for them.
_LISTED_PAIRS = 4_000_000


def cliffs_delta(a: npt.ArrayLike, b: npt.ArrayLike) -> float:
    """Cliff's delta, P(a > b) - P(a < b) over all pairs, in [-1, 1]; 0 when neither tends to be larger.

    `a` has shape (n,), `b` (m,). It tells how separate two samples are, not by how much: two clouds 1 % apart without
    any spread have delta 1.
    Source: Cliff, "Dominance statistics", Psychological Bulletin 114, 1993.
    """
    first, second = finite(a, "cliffs_delta a"), np.sort(finite(b, "cliffs_delta b"))
    below = int(np.searchsorted(second, first, "left").sum())
    not_above = int(np.searchsorted(second, first, "right").sum())
    pairs = first.size * second.size
    return (below - (pairs - not_above)) / pairs


def hodges_lehmann(d: npt.ArrayLike) -> float:
    """The Hodges-Lehmann centre of the differences `d`, shape (n,): the median of all (d[i] + d[j]) / 2 with i <= j.

    Unit of `d`. For paired values; nearly as sharp as the mean on normal data, and one wild round hardly moves it.
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
    """How many pairs of one value of each have a sum <= limit; `second` is sorted."""
    return int(np.searchsorted(second, limit - first, "right").sum())


def _middle(at_most: Callable[[float], int], count: int, low: float, high: float) -> float:
    """The median of `count` numbers in [low, high] of which `at_most(x)` are <= x, to 1e-15 of the larger end."""
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
