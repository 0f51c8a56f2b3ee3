"""Plausible true values of the numbers that decide, and the chances that follow from them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cloudcmp.answer.choice.needs import Need, holds
from cloudcmp.answer.choice.objective import Objective
from cloudcmp.model.market import Numbers

Floats = NDArray[np.float64]

DRAWS = 4000
"""Draws of every number: a chance of 95 % is then known to 0.7 percentage points."""
NEAR = 0.03
"""Two objectives that differ by less are practically the same, as in comparisons."""
_RUNNERS_UP = 200
SURELY = 4.5
"""Standard errors beyond which an offering is left out: with 5 degrees of freedom 0.3 % of its chance is there."""
_BEYOND = 0.0015
"""The chance that is left out above the highest spread that counts."""


@dataclass(frozen=True, slots=True, eq=False)
class Chances:
    """For each offering the chances of `Pick`; `score` are draws of the logarithm of its objective, more is better.

    Shapes: (offerings,) and (offerings, draws).
    """

    meets: Floats
    best: Floats
    near_best: Floats
    score: Floats


def least_chance(confidence: float, asked: int) -> float:
    """The chance of being enough that the `asked`-th offering in question must have, counted from 1.

    Of an allowed error a = 1 - confidence the r-th gets 6 a / (pi r)^2, so all together err no more often than a.
    """
    return 1 - (1 - confidence) * 6 / (math.pi * asked) ** 2


def point_score(objective: Objective, columns: Mapping[str, Numbers]) -> Floats:
    """The logarithm of each offering's objective by its values, more is better; NaN if a factor is unknown or <= 0."""
    return _score(objective, {name: column.value for name, column in columns.items()})


def _score(objective: Objective, values: Mapping[str, Floats]) -> Floats:
    total: Floats | None = None
    with np.errstate(invalid="ignore", divide="ignore"):
        for name, power in objective.factors:
            known = values[name]
            part = np.where(known > 0, np.log(np.where(known > 0, known, 1.0)), np.nan) * power
            total = part if total is None else total + part
    assert total is not None  # an objective has a factor
    return total if objective.most else -total


def standard_errors(column: Numbers, spread: float | None) -> Floats:
    """The standard error of each value, relative to it; 0 for a fact, NaN for a single value of unknown spread."""
    if column.freedom is not None:
        from cloudcmp.stats.draws import highest_spread

        return (highest_spread(column.freedom, _BEYOND) - 1.0) / SURELY
    if column.launches is None:
        return np.full(len(column.value), (np.nan if spread is None else spread) if column.is_measured else 0.0)
    known = np.isfinite(column.launches)
    n = known.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(known, column.launches, 0.0).sum(axis=1) / n
        squares = np.where(known, (column.launches - mean[:, None]) ** 2, 0.0).sum(axis=1)
        error = np.sqrt(squares / (n - 1) / n) / np.abs(mean)
    return np.where(n >= 2, error, np.nan if spread is None else spread)


def plausible(
    objective: Objective, columns: Mapping[str, Numbers], needs: Sequence[Need], meets: NDArray[np.bool_],
    spread: float | None,
) -> NDArray[np.int64]:  # fmt: skip
    """The offerings that could be the best, and the first 200 that meet the needs by their values.

    Those far behind a sure one, or far from a need, have no chance.
    """
    errors = {name: np.nan_to_num(standard_errors(column, spread)) for name, column in columns.items()}
    score = point_score(objective, columns)
    width = np.sqrt(sum((power * errors[name]) ** 2 for name, power in objective.factors)) * SURELY
    could, surely = np.isfinite(score), np.isfinite(score) & meets
    for need in needs:
        if need.name not in columns:
            continue
        column, error = columns[need.name], errors[need.name] * SURELY
        if need.like is not None and spread is not None:
            error = np.hypot(error, spread * SURELY)
        high, low = column.value * (1 + error), column.value * (1 - error)
        could &= holds(need, high) | holds(need, low) | holds(need, column.value)
        surely &= holds(need, high) & holds(need, low)
    if surely.any():
        could &= score + width >= np.max((score - width)[surely])
    ranked = np.where(meets, score, -np.inf)
    first = np.argsort(-ranked, kind="stable")[:_RUNNERS_UP]
    could[first[np.isfinite(ranked[first])]] = True
    return np.flatnonzero(could)


def chances(
    objective: Objective, columns: Mapping[str, Numbers], needs: Sequence[Need], rows: NDArray[np.int64],
    spread: float | None, seed: int,
) -> Chances:  # fmt: skip
    """Return the chances of some offerings against each other, from plausible true values of their numbers.

    Offerings of one study are drawn with the rounds they share, single values with the declared spread. Only numbers
    are in doubt: facts and prices are taken as they are.
    """
    if not len(rows):
        return Chances(np.empty(0), np.empty(0), np.empty(0), np.empty((0, DRAWS)))
    drawn = {name: drawn_values(column, rows, spread, seed + at) for at, (name, column) in enumerate(columns.items())}
    score = _score(objective, drawn)
    meets = np.isfinite(score)
    for need in needs:
        if need.name in drawn:
            meets = meets & holds(need, drawn[need.name] / _of_reference(need, columns[need.name], rows, drawn, spread))
    reached = np.where(meets, score, -np.inf)
    top = reached.max(axis=0)
    any_ = np.isfinite(top)
    best = np.zeros(len(rows))
    first = reached.argmax(axis=0)[any_]
    np.add.at(best, first, 1.0)
    near = (reached >= top - np.log1p(NEAR)) & any_
    return Chances(meets.mean(axis=1), best / DRAWS, near.mean(axis=1), score)


def _of_reference(
    need: Need, column: Numbers, rows: NDArray[np.int64], drawn: Mapping[str, Floats], spread: float | None
) -> Floats:
    """By how much the true value of the machine that sets a need may differ from what was measured, shape (DRAWS,)."""
    if need.like is None or spread is None:
        return np.ones(DRAWS)
    own = np.flatnonzero(rows == need.like)
    if len(own):
        return np.asarray(drawn[need.name][own[0]] / column.value[need.like])
    return np.asarray(_scattered(np.ones(1), np.zeros(1, np.int64), spread, _REFERENCE)[0])


def drawn_values(column: Numbers, rows: NDArray[np.int64], spread: float | None, seed: int) -> Floats:
    """Draws of the true value of a column, shape (rows, DRAWS)."""
    values = column.value[rows]
    if column.freedom is not None:
        from cloudcmp.stats.draws import drawn_spreads

        return drawn_spreads(values, column.freedom[rows], DRAWS, seed)
    if column.launches is not None:
        from cloudcmp.stats.draws import drawn_means  # scipy takes a second: tables of single values need none

        own = column.launches[rows]
        positive = not (own <= 0).any()
        drawn = drawn_means(np.log(own) if positive else own, DRAWS, _SHARED)
        drawn = np.exp(drawn) if positive else drawn
        single = np.isfinite(own).sum(axis=1) < 2
        if spread is not None and single.any():
            drawn[single] = _scattered(values[single], _origin(column, rows)[single], spread, seed)
        return drawn
    if column.is_measured and spread is not None:
        return _scattered(values, _origin(column, rows), spread, seed)
    return np.repeat(values[:, None], DRAWS, axis=1)


def _origin(column: Numbers, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    return rows if column.origin is None else column.origin[rows]


def _scattered(values: Floats, origin: NDArray[np.int64], spread: float, seed: int) -> Floats:
    """Draws around single values; those of one measurement are drawn together."""
    deviation = np.sqrt(np.log1p(spread**2))
    own, of = np.unique(origin, return_inverse=True)
    disturbance = np.random.default_rng(seed).standard_normal((len(own), DRAWS)) * deviation
    return np.asarray(values[:, None] * np.exp(disturbance[of]))


OUT_OF_QUESTION = 0.01
"""An offering that meets the needs with a lower chance is not counted as asked."""
_REFERENCE = 2
"""The seed of what sets a need, in all its columns: a machine that was measured at a bad moment was so in each."""
_SHARED = 1
"""The seed of all columns with launches: two measurements of the same rounds are drawn together."""
