"""The pairs of candidates in one cell: launch values in a matrix, paired by round if rounds are known."""

import functools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from cloudcmp.model.result import Estimate
from cloudcmp.stats import many
from cloudcmp.stats.check import Floats, Integers, finite
from cloudcmp.stats.describe import mean
from cloudcmp.stats.evidence import valid_p, valid_t

Flags = npt.NDArray[np.bool_]

# The number of differences that are processed at once (8 MB); more are processed in several steps.
_AT_ONCE = 1 << 20
# The largest matrix of candidates x rounds; a larger one is mostly empty, so each candidate is processed separately.
_LARGEST = 1 << 24

_Round = tuple[str | None, int | None]


@dataclass(frozen=True, slots=True, eq=False)
class Launches:
    """The launch values of the candidates of one cell, as natural logarithms unless compared by difference.

    `values` has an array for each candidate, empty if it has no comparable values. `rounds` has each candidate's rounds
    as whole numbers, one for each of `round_values`, which average several launches of a round; None if a round is
    unknown. `studies` has the number of each candidate's study: rounds pair only candidates of one study.
    """

    values: tuple[Floats, ...]
    rounds: tuple[Integers | None, ...]
    round_values: tuple[Floats, ...]
    studies: Integers

    def among(self, places: Sequence[int]) -> "Launches":
        """Return the launches of the candidates at some places."""
        values, round_values = (tuple(some[at] for at in places) for some in (self.values, self.round_values))
        return Launches(values, tuple(self.rounds[at] for at in places), round_values, self.studies[list(places)])

    def per_money(self, log_prices: Floats, sign: float) -> "Launches":
        """Return the logarithms of the work for one unit of money of rates (`sign` 1) or of times (-1).

        `log_prices` are the logarithms of the candidates' prices, shape (candidates,); the values must be logarithms.
        """
        values, round_values = (
            tuple(sign * own - price for own, price in zip(some, log_prices, strict=True))
            for some in (self.values, self.round_values)
        )
        return Launches(values, self.rounds, round_values, self.studies)

    @property
    def usable(self) -> Flags:
        """True for each candidate that has values."""
        return np.array([one.size > 0 for one in self.values], dtype=np.bool_)

    def by_rounds(self, a: Integers, b: Integers) -> Flags:
        """True for each pair of candidates of one study whose rounds are all known."""
        known = np.array([one is not None for one in self.rounds], dtype=np.bool_)
        return np.asarray(known[a] & known[b] & (self.studies[a] == self.studies[b]), dtype=np.bool_)


@dataclass(frozen=True, slots=True, eq=False)
class Figures:
    """The statistics of the pairs of a cell; all of shape (pairs,), NaN is unknown.

    `n` is the number of rounds with both, or the smaller number of launches; if it is 0, the pair could not be compared
    and all else is unknown. `centre`, its standard error and the half widths of its 95 and 90 % intervals are
    differences (of logarithms, unless compared by difference), with `df` degrees of freedom. `p` decides; `spread` is
    the standard deviation of one difference. With `every_look`, p and the half widths of pairs by rounds hold at every
    look at a growing study, and `p_same` is the p value of sameness that does; else it is unknown.
    """

    n: Integers
    by_rounds: Flags
    centre: Floats
    error: Floats
    df: Floats
    half_95: Floats
    half_90: Floats
    p: Floats
    p_welch: Floats
    spread: Floats
    p_same: Floats
    every_look: bool = False

    def half(self, level: float) -> Floats:
        """Return the half widths of the intervals with a confidence `level`."""
        return _critical(self.n, self.df, self.by_rounds, level, every_look=self.every_look) * self.error


def _critical(n: Integers, df: Floats, by_rounds: Flags, level: float, *, every_look: bool) -> Floats:
    """Return the half widths of intervals in standard errors."""
    t = many.t_critical(df, level)
    return np.where(by_rounds, valid_t(n.astype(np.float64), level), t) if every_look else t


@functools.lru_cache(maxsize=8)
def pairs_of(count: int) -> tuple[Integers, Integers]:
    """Return the positions of the first and the second candidate of each pair of `count` candidates, in order."""
    first, second = (one.astype(np.int64) for one in np.triu_indices(count, 1))
    first.flags.writeable = second.flags.writeable = False
    return first, second


_Place = TypeVar("_Place", int, Integers)


def place_of(first: _Place, second: _Place, count: int) -> _Place:
    """Return the positions in `pairs_of(count)` of pairs of candidates, first < second."""
    return first * count - first * (first + 1) // 2 + second - first - 1


class Rounds:
    """The rounds of a study as whole numbers, the same in all its cells; those in `known` are numbered in its order."""

    def __init__(self, known: Iterable[_Round] = ()) -> None:
        self._numbers = {one: number for number, one in enumerate(dict.fromkeys(known))}
        self._known: dict[tuple[tuple[str | None, ...], tuple[int | None, ...]], Integers | None] = {}

    def of(self, one: Estimate) -> Integers | None:
        """Return the round of each launch of an estimate; None if one is unknown."""
        key = (one.sessions, one.rounds)
        if key not in self._known:
            numbers = [self._numbers.setdefault(each, len(self._numbers)) for each in zip(*key, strict=True)]
            self._known[key] = None if None in one.rounds else np.array(numbers, dtype=np.int64)
        return self._known[key]


def launches_of(estimates: Sequence[Estimate], by_difference: bool, rounds: Rounds, studies: Sequence[int]) -> Launches:
    """Return the launch values of one cell; a candidate with a value of 0 or below has none, unless `by_difference`.

    `studies` has the number of each estimate's study.
    """
    values, keys, round_values = [], [], []
    for one in estimates:
        measured = np.array(one.values, dtype=np.float64)
        if measured.size and (by_difference or measured.min() > 0.0):
            measured = finite(measured, "launch values") if by_difference else np.log(finite(measured, "launch values"))
        else:
            measured = np.empty(0)
        own, averaged = rounds.of(one) if measured.size else np.empty(0, dtype=np.int64), measured
        if own is not None and np.unique(own).size < own.size:
            own, averaged = _averaged(own, measured)
        values.append(measured)
        keys.append(own)
        round_values.append(averaged)
    return Launches(tuple(values), tuple(keys), tuple(round_values), np.array(studies, dtype=np.int64))


def _averaged(rounds: Integers, values: Floats) -> tuple[Integers, Floats]:
    """Return each round once, with the mean of its values."""
    by_round: dict[int, list[float]] = {}
    for at, value in zip(rounds.tolist(), values.tolist(), strict=True):
        by_round.setdefault(at, []).append(value)
    means = [some[0] if len(some) == 1 else mean(some) for some in by_round.values()]
    return np.array(list(by_round), dtype=np.int64), np.array(means)


def figures_of(launches: Launches, *, every_look: bool = False, limit: float | None = None) -> Figures:
    """Compare every candidate of a cell with every other.

    Launches of the same session and round are paired, and the paired t test decides. If a round of either candidate is
    unknown, or they are of different studies, Welch's t test decides. Ratios come from differences of natural
    logarithms. With `every_look`, pairs by rounds are decided by evidence that holds at every look, and `limit` is the
    difference below which two are practically the same; rounds must be numbered in the order of time.
    """
    a, b = pairs_of(len(launches.values))
    usable, by_rounds = launches.usable, launches.by_rounds(a, b)
    able = usable[a] & usable[b]
    n, centre, error, df, p_welch = _welch(launches, a, b, able)
    p, spread = p_welch.copy(), error * np.sqrt(n)
    paired = np.flatnonzero(by_rounds & able)
    n[by_rounds], p_same = 0, np.full(p.shape, np.nan)
    for column in (centre, error, df, p, spread):
        column[by_rounds] = np.nan
    for at, rows in _differences(launches, a[paired], b[paired]):
        where, size = paired[at], rows.shape[1]
        n[where] = size
        centre[where], spread[where] = many.moments(rows)
        df[where] = size - 1
        error[where] = spread[where] / np.sqrt(size)
        if every_look:
            p[where] = np.minimum(1.0, 2.0 * np.where(centre[where] > 0.0, *valid_p(rows)))
            p_same[where] = np.nan if limit is None else np.maximum(*valid_p(rows, limit))
    if not every_look:
        p[paired] = many.t_test(centre[paired], error[paired], df[paired])
    p_welch[(n == 0) | (every_look & by_rounds)] = np.nan  # Welch's test holds at a single look
    with np.errstate(divide="ignore", invalid="ignore"):
        half_95, half_90 = (
            np.where(by_rounds, t * spread / np.sqrt(n), t * error)
            for t in (_critical(n, df, by_rounds, level, every_look=every_look) for level in (0.95, 0.90))
        )
    return Figures(n, by_rounds, centre, error, df, half_95, half_90, p, p_welch, spread, p_same, every_look)


_Welch = tuple[Integers, Floats, Floats, Floats, Floats]


def _welch(launches: Launches, a: Integers, b: Integers, able: Flags) -> _Welch:
    """Return n, difference of the means, standard error, degrees of freedom and p of Welch's test for each pair."""
    size = np.array([one.size for one in launches.values], dtype=np.int64)
    means, sds = np.full(size.shape, np.nan), np.full(size.shape, np.nan)
    for each in np.unique(size[size > 0]):
        at = np.flatnonzero(size == each)
        means[at], sds[at] = many.moments(np.array([launches.values[one] for one in at]))
    counts = np.maximum(size, 1).astype(np.float64)
    centre, error, df = many.welch((means[a], means[b]), (sds[a], sds[b]), (counts[a], counts[b]))
    n = np.where(able, np.minimum(size[a], size[b]), 0)
    return n, centre, error, df, many.t_test(centre, error, df)


def _differences(launches: Launches, a: Integers, b: Integers) -> Iterator[tuple[Integers, Floats]]:
    """Yield positions of pairs, and their differences by round: rows of equal length, for pairs with common rounds."""
    widest = 1 + max((int(one.max()) for one in launches.rounds if one is not None and one.size), default=-1)
    for at, rows in (
        _of_matrix(launches, a, b, widest)
        if len(launches.values) * widest <= _LARGEST
        else _of_rows(launches, a, b, widest)
    ):
        missing = np.isnan(rows)
        if not missing.any():
            yield at, rows
            continue
        order = np.argsort(missing, axis=1, kind="stable")
        packed, sizes = np.take_along_axis(rows, order, axis=1), rows.shape[1] - missing.sum(axis=1)
        for size in np.unique(sizes[sizes > 0]):
            some = sizes == size
            yield at[some], np.ascontiguousarray(packed[some, :size])


def _of_matrix(launches: Launches, a: Integers, b: Integers, widest: int) -> Iterator[tuple[Integers, Floats]]:
    matrix = np.full((len(launches.values), widest), np.nan)
    for row, rounds, values in zip(matrix, launches.rounds, launches.round_values, strict=True):
        if rounds is not None:
            row[rounds] = values
    matrix = matrix[:, ~np.isnan(matrix).all(axis=0)]  # rounds in which this cell was not measured
    step = max(1, _AT_ONCE // max(1, matrix.shape[1]))
    for first in range(0, len(a), step):
        some = slice(first, first + step)
        yield np.arange(len(a))[some], matrix[a[some]] - matrix[b[some]]


def _of_rows(launches: Launches, a: Integers, b: Integers, widest: int) -> Iterator[tuple[Integers, Floats]]:
    """Yield the differences of candidates that share few rounds, one candidate at a time, without a matrix of all."""
    places = np.full(widest, -1, dtype=np.int64)
    for one in np.unique(a):
        own, at = launches.rounds[one], np.flatnonzero(a == one)
        if own is None:
            continue
        places[own] = np.arange(own.size)
        for pair in at:
            theirs = launches.rounds[b[pair]]
            if theirs is None:
                continue
            common = places[theirs]
            common, values = common[common >= 0], launches.round_values[b[pair]][common >= 0]
            order = np.argsort(common)
            if common.size:
                yield np.array([pair]), (launches.round_values[one][common[order]] - values[order])[None, :]
        places[own] = -1


def robust_of(launches: Launches, a: Integers, b: Integers, by_rounds: Flags) -> tuple[Floats, Floats]:
    """Return the Hodges-Lehmann centre and Cliff's delta of some pairs.

    Both are expensive to compute, so pass only the pairs that are shown.
    """
    centre, delta = np.full(len(a), np.nan), np.full(len(a), np.nan)
    sizes = np.array([one.size for one in launches.values], dtype=np.int64)
    able = (sizes[a] > 0) & (sizes[b] > 0)
    paired = np.flatnonzero(by_rounds & able)
    for at, rows in _differences(launches, a[paired], b[paired]):
        centre[paired[at]] = many.hodges_lehmann_rows(rows)
    shapes = sizes[a] * (int(sizes.max(initial=0)) + 1) + sizes[b]
    for shape in np.unique(shapes[able]):
        some = np.flatnonzero(shapes == shape)
        first, second = (np.array([launches.values[one] for one in side[some]]) for side in (a, b))
        delta[some] = many.cliffs_deltas(first, second)
        apart = ~by_rounds[some]
        if apart.any():
            centre[some[apart]] = many.hodges_lehmann_shifts(first[apart], second[apart])
    return centre, delta
