"""Change points of a series: where its level changed, by how much, and how surely."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy import special

from cloudcmp.stats.check import Floats, finite, is_constant
from cloudcmp.stats.describe import Interval

FEWEST = 5
"""The smallest number of points of a level: a shorter one is an outlier, and a change is found that late at least."""
ALPHA = 3e-5
"""The p value of a change. Set by simulation (benchmarks/change_points.py): a year of daily points, looked at each day,
has a false change in at most 5 of 100 cases. A longer series, with more places for one, divides it by its years."""

# A window of the first size is split once, one of the second recursively; windows overlap by half.
_SHORT, _LONG = 64, 1024
_LEVELS_SHORT, _LEVELS_LONG = 16, 64
_LOOSE = 0.05
# A level of more points than this is no better known at its end.
_MOST_ON_A_SIDE = 512
_MOST_CORRELATION = 0.95
# The standard error of `correlation` is at most this over the square root of n (by simulation, for 0 to 0.8); no series
# is taken for surer than one of a year.
_CORRELATION_ERROR, _YEAR = 1.5, 365


@dataclass(frozen=True, slots=True)
class Change:
    """A change of level before the value with the index `at`.

    `before` and `after` are the means of the two levels, `difference` is after - before with its 95 % interval, all in
    the unit of the values; `n_before` and `n_after` are the numbers of values in them, at most 512 each. `p` is twice
    the smaller one of Student's t tests on rank scores and on values.
    """

    at: int
    before: float
    after: float
    difference: float
    bounds: Interval
    n_before: int
    n_after: int
    p: float


def change_points(x: npt.ArrayLike, *, least: float = 0.0, alpha: float = ALPHA) -> tuple[Change, ...]:
    """The changes of level of `x`, shape (n,), in the order of time; empty for fewer than 10 values.

    `least` is the smallest difference of two levels that counts, in the unit of `x` (for ratios, pass logarithms).

    Hierarchical divisive estimation (E-divisive) finds where a window splits best: where the energy distance of the two
    sides, m n / (m + n) (2 E|X - Y| - E|X - X'| - E|Y - Y'|), is largest. As in Hunter, Student's t test replaces the
    permutation test, windows overlap, and points are collected with a loose level (0.05) and merged with the strict
    one, `alpha`, the least sure one first.

    Our own: splits and test take the normal scores of the ranks, so that neither outliers nor heavy tails matter. Ranks
    cannot tell a large change from a larger one, so that a second t test takes the values, with the wider spread of the
    two levels, which an outlier in one of them widens; the smaller p counts, doubled. The standard errors allow for a
    correlation of neighbours, as an autoregressive process of order 1 has
    it, estimated from differences, which a few changes of level do not bias, plus one standard error of the estimate.
    Slower wander of the level looks like changes, and is reported as such. The intervals are those of a change at a
    known place: one that is just large enough to be found is found larger than it is, on average.

    Sources: Matteson and James, JASA 109, 2014 (arXiv 1306.4933); Fleming et al., "Hunter", ICPE 2023 (arXiv
    2301.03034); Conover and Iman, The American Statistician 35, 1981 (t on ranks).
    """
    values = finite(x, "change_points")
    if values.size < 2 * FEWEST or is_constant(values):
        return ()
    series = _Series(values, _scores(values), correlation(values), least, alpha * min(1.0, _YEAR / values.size))
    found = series.merged(sorted(set(_weak(series.scores))))
    found = series.merged(sorted({series.refined(*place) for place in series.places(found)}))
    return tuple(series.change(*place) for place in series.places(found))


def correlation(x: npt.ArrayLike) -> float:
    """The correlation of neighbouring values of `x`, shape (n,), beside changes of level: 0 to 0.95, on the safe side.

    Of an autoregressive process of order 1, squared differences of lag 2 and of lag 1 have the ratio 1 + r. A change of
    level touches three of all differences. One standard error is added, 1.5 / sqrt(n), at least that of 365 values.
    Taken of the normal scores of the ranks; 0 for fewer than 4 values or without differences.
    Source: Chakar, Lebarbier, Levy-Leduc and Robin, Bernoulli 23(2), 2017, section 2, with means in place of medians.
    """
    scores = _scores(finite(x, "correlation"))
    if scores.size < 4:
        return 0.0
    lag_1, lag_2 = (float(((scores[lag:] - scores[:-lag]) ** 2).mean()) for lag in (1, 2))
    if lag_1 == 0.0:
        return 0.0
    safe = lag_2 / lag_1 - 1.0 + _CORRELATION_ERROR / math.sqrt(min(scores.size, _YEAR))
    return min(max(safe, 0.0), _MOST_CORRELATION)


def best_split(x: npt.ArrayLike, levels: int = _LEVELS_LONG) -> int:
    """The number of first values that makes the energy distance of `x`, shape (n,), n >= 10, to the rest largest.

    In one dimension the energy distance is twice the integral of the squared difference of the two distribution
    functions. It is taken at `levels` quantiles of the values: exact for so few different values, in time n x levels.
    Source: Szekely and Rizzo, J. Statist. Plann. Inference 143, 2013.
    """
    values = finite(x, "best_split")
    return FEWEST + int(np.argmax(_energies(values[None, :], levels)[0]))


def _energies(rows: Floats, levels: int) -> Floats:
    """The energy distance of both sides of each split, shape (k, n - 2 FEWEST + 1), of rows of shape (k, n)."""
    n = rows.shape[1]
    ranks = np.unique(np.linspace(0, n - 1, min(n, levels)).round().astype(np.intp))
    knots = np.sort(rows, axis=1)[:, ranks]
    below = np.cumsum(rows[:, :, None] <= knots[:, None, :-1], axis=1, dtype=np.int32)
    left = np.arange(FEWEST, n - FEWEST + 1)
    apart = below[:, left - 1, :] / left[None, :, None]
    apart -= below[:, -1:, :] / n
    integral = np.einsum("ijk,ijk,ik->ij", apart, apart, np.diff(knots, axis=1))
    return np.asarray(2.0 * integral * (left * n / (n - left)), dtype=np.float64)


def _scores(values: Floats) -> Floats:
    """The normal scores of the ranks, Blom's; equal values share the score of their middle rank."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    middle = np.cumsum(counts) - (counts - 1) / 2.0
    return np.asarray(special.ndtri((middle - 0.375) / (values.size + 0.25))[inverse], dtype=np.float64)


def _weak(scores: Floats) -> Iterator[int]:
    """The splits of all windows that pass the loose test."""
    n = scores.size
    for start, end in _windows(n, _LONG):
        yield from _splits(scores, start, end)
    if n > _SHORT:
        starts = np.array([start for start, _ in _windows(n, _SHORT)])
        for first in range(0, starts.size, 2048):
            some = starts[first : first + 2048]
            rows = scores[some[:, None] + np.arange(_SHORT)]
            left = FEWEST + np.argmax(_energies(rows, _LEVELS_SHORT), axis=1)
            yield from (some + left)[_loose(rows, left)].tolist()


def _windows(n: int, size: int) -> list[tuple[int, int]]:
    """Windows of one size that overlap by half, the last one at the end; one window if the series is shorter."""
    if n <= size:
        return [(0, n)]
    starts = [*range(0, n - size, size // 2), n - size]
    return [(start, start + size) for start in starts]


def _splits(scores: Floats, start: int, end: int) -> Iterator[int]:
    """The best split of a window if it passes the loose test, and those of both sides."""
    rows = scores[None, start:end]
    if rows.shape[1] < 2 * FEWEST:
        return
    left = FEWEST + np.argmax(_energies(rows, _LEVELS_LONG), axis=1)
    if not _loose(rows, left)[0]:
        return
    at = start + int(left[0])
    yield from _splits(scores, start, at)
    yield at
    yield from _splits(scores, at, end)


def _loose(rows: Floats, left: npt.NDArray[np.intp]) -> npt.NDArray[np.bool_]:
    """Whether the mean of the first `left` values of each row differs from that of the others, by Student's t."""
    n, places = rows.shape[1], np.arange(len(rows))
    sums, squares = np.cumsum(rows, axis=1), (rows**2).sum(axis=1)
    first, whole = sums[places, left - 1], sums[:, -1]
    right = n - left
    difference = first / left - (whole - first) / right
    within = np.maximum(squares - first**2 / left - (whole - first) ** 2 / right, 0.0) / (n - 2)
    error = np.sqrt(within * (1.0 / left + 1.0 / right))
    with np.errstate(divide="ignore", invalid="ignore"):
        p = 2.0 * special.stdtr(n - 2, -np.abs(difference / error))
    return np.asarray(np.where(error > 0.0, p <= _LOOSE, difference != 0.0))


_Place = tuple[int, int, int]
"""The start of the level before a change, the change, and the end of the level after it."""


@dataclass(frozen=True, slots=True, eq=False)
class _Series:
    """The values of a series, their scores, the correlation of neighbours, and the limits of a change."""

    values: Floats
    scores: Floats
    correlation: float
    least: float
    alpha: float

    def places(self, points: Sequence[int]) -> list[_Place]:
        """Each point with the ends of its two levels."""
        edges = [0, *points, self.values.size]
        return [_near(*place) for place in zip(edges, edges[1:], edges[2:], strict=False)]

    def merged(self, points: Sequence[int]) -> list[int]:
        """The points that are left when the least sure one was removed for as long as one failed the strict test."""
        after = dict(pairwise([0, *points, self.values.size]))
        before = {late: early for early, late in after.items()}
        p = {at: self.p_value(*_near(before[at], at, after[at])) for at in points}
        worst = [(-sure, at) for at, sure in p.items()]
        heapify(worst)
        while worst and -worst[0][0] > self.alpha:
            negative, at = heappop(worst)
            if p.get(at) != -negative:
                continue  # its levels have changed since
            early, late = before[at], after[at]
            after[early], before[late] = late, early
            del p[at]
            for other in (early, late):
                if other in p:
                    p[other] = self.p_value(*_near(before[other], other, after[other]))
                    heappush(worst, (-p[other], other))
        return sorted(p)

    def refined(self, before: int, at: int, after: int) -> int:
        """The best split of the two levels around a point; the point itself if they are too short to choose."""
        return before + best_split(self.scores[before:after]) if after - before >= 2 * FEWEST else at

    def p_value(self, before: int, at: int, after: int) -> float:
        """The p value of the strict test of a point; 1 if the levels differ by less than `least`, or are too short."""
        if min(at - before, after - at) < FEWEST:
            return 1.0
        if abs(self.values[at:after].mean() - self.values[before:at].mean()) < self.least:
            return 1.0
        first, second = self.scores[before:at], self.scores[at:after]
        m, n = self._effective(first.size), self._effective(second.size)
        # What the correlation of neighbours hides of the spread inside a level is added to it.
        hidden = first.size / m + second.size / n
        pooled = (_squares(first) + _squares(second)) / max(first.size + second.size - hidden, 1.0)
        by_rank = _p_value(float(second.mean() - first.mean()), pooled, m, n)
        first, second = self.values[before:at], self.values[at:after]
        wider = max(_squares(one) / max(one.size - one.size / k, 1.0) for one, k in ((first, m), (second, n)))
        by_value = _p_value(float(second.mean() - first.mean()), wider, m, n)
        return min(1.0, 2.0 * min(by_rank, by_value))

    def change(self, before: int, at: int, after: int) -> Change:
        """A point with its levels, and Welch's interval of their difference."""
        first, second = self.values[before:at], self.values[at:after]
        m, n = self._effective(first.size), self._effective(second.size)
        u, v = float(first.var(ddof=1)) / m, float(second.var(ddof=1)) / n
        low, high = float(first.mean()), float(second.mean())
        half = 0.0
        if u + v > 0.0:
            df = (u + v) ** 2 / (u**2 / max(m - 1.0, 1.0) + v**2 / max(n - 1.0, 1.0))
            half = -float(special.stdtrit(max(df, 1.0), 0.025)) * math.sqrt(u + v)
        bounds = Interval(high - low - half, high - low + half)
        return Change(at, low, high, high - low, bounds, first.size, second.size, self.p_value(before, at, after))

    def _effective(self, n: int) -> float:
        """The number of independent values whose mean is as sure as that of `n` correlated ones."""
        r = self.correlation
        if r == 0.0:
            return float(n)
        return n * (1.0 - r) / (1.0 + r - 2.0 * r * (1.0 - r**n) / (n * (1.0 - r)))


def _squares(values: Floats) -> float:
    """The sum of the squared deviations from the mean."""
    return float(((values - values.mean()) ** 2).sum())


def _p_value(difference: float, variance: float, m: float, n: float) -> float:
    """Student's two-sided p of a difference of the means of m and n independent values of a variance."""
    error = math.sqrt(variance * (1.0 / m + 1.0 / n))
    if error == 0.0:
        return 0.0 if difference else 1.0
    return 2.0 * float(special.stdtr(max(m + n - 2.0, 1.0), -abs(difference / error)))


def _near(before: int, at: int, after: int) -> _Place:
    """A point with its two levels, cut to the values that are nearest to it."""
    return max(before, at - _MOST_ON_A_SIDE), at, min(after, at + _MOST_ON_A_SIDE)
