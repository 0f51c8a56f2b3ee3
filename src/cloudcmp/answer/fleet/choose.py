"""Chooses for each group of machines the cheapest offering that is surely enough, and what may be cheaper still."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cloudcmp.answer.choice.chances import DRAWS, OUT_OF_QUESTION, SURELY, drawn_values, least_chance
from cloudcmp.answer.fleet.groups import Group
from cloudcmp.answer.fleet.space import AS_TODAY, Floats, Rows, Space

_MOST_ASKED = 40
"""Offerings in question that are asked for one group: the chance that the last one must have is nearly 1."""
_SEED = 1
_CHEAPER = 1 - 1e-9


@dataclass(frozen=True, slots=True)
class Doubt:
    """An offering cheaper than the choice that may be enough: its row, and the chance, None if no spread is known."""

    row: int
    chance: float | None


@dataclass(frozen=True, slots=True)
class Choice:
    """What a group moves to: the row, and the chance that it is enough; both None if it stays.

    `chance` is None too for a move that only single values speak for; such a move is also the first of the doubts.
    `speed` is the least ratio of the offering's measurements to what is needed.
    """

    group: Group
    row: int | None = None
    chance: float | None = None
    speed: float = 1.0
    doubts: tuple[Doubt, ...] = ()

    @property
    def is_sure(self) -> bool:
        """True for a move with a known chance."""
        return self.row is not None and self.chance is not None


@dataclass(frozen=True, slots=True, eq=False)
class Chosen:
    """The choice of each group, and draws of the saving of all sure moves that are not put off, an hour's prices."""

    choices: tuple[Choice, ...]
    saving: Floats


@dataclass(frozen=True, slots=True, eq=False)
class _Options:
    """Offerings that are cheaper than a group's, cheapest first, up to the first that is enough beyond doubt.

    `rows` have a known spread; `single` is the first that is enough by single values alone.
    """

    group: Group
    rows: Rows
    single: int | None


def choose(groups: Sequence[Group], space: Space) -> Chosen:
    """Choose for each group; what a move saves in a draw counts only if the offering is enough in that draw."""
    options = [_options(group, space) for group in groups]
    asked = np.unique(np.concatenate([np.empty(0, np.int64), *(
        np.append(one.rows, one.group.key.row) for one in options if len(one.rows))]))  # fmt: skip
    drawn = _Drawn(space, asked)
    saving = np.zeros(DRAWS)
    choices = []
    for one in options:
        choice, holds = _choice(one, drawn, space)
        choices.append(choice)
        if holds is not None and choice.row is not None and one.group.key.since is None:
            saving += holds * (saved_an_hour(choice, space) * one.group.hours)
    return Chosen(tuple(choices), saving)


def saved_an_hour(choice: Choice, space: Space) -> float:
    """What an hour of a machine costs less after its move; 0 if it stays."""
    return 0.0 if choice.row is None else choice.group.key.price - float(space.cost[choice.row])


def shares(group: Group, space: Space) -> Floats:
    """The part of each of its measurements that a group needs: work as it is used, all others as they are."""
    return np.array([group.key.share, *[AS_TODAY] * (len(space.metrics) - 1)])


def distances(group: Group, rows: Rows, space: Space) -> Floats:
    """The logarithms of the ratios of offerings to what a group needs, shape (metrics, rows)."""
    needed = space.logs[:, group.key.row] + np.log(shares(group, space))
    return np.asarray(space.logs[:, rows] - needed[:, None])


def _options(group: Group, space: Space) -> _Options:
    key = group.key
    pool = space.pool(key.row, key.architecture)
    rows = pool.rows[: np.searchsorted(pool.cost, key.price * _CHEAPER, side="left")]
    enough = (space.memory[rows] >= key.memory * _CHEAPER) & (rows != key.row)
    for fact in space.facts:
        if fact[key.row] > 0:
            enough &= fact[rows] >= fact[key.row]
    rows = rows[enough]
    distance = distances(group, rows, space)
    error = _errors(key.row, rows, space)
    known = np.isfinite(error).all(axis=0)
    error = np.where(known, error, 0.0)
    could = (distance >= -SURELY * error).all(axis=0)
    surely = (distance >= SURELY * error).all(axis=0)
    singles = np.flatnonzero(could & ~known)
    sure = np.flatnonzero(known & surely)
    last = int(sure[0]) if len(sure) else len(rows)
    asked = np.append(np.flatnonzero(known & could & ~surely)[:_MOST_ASKED], sure[:1])
    asked = asked[asked <= last]
    single = int(rows[singles[0]]) if len(singles) and singles[0] < last else None
    return _Options(group, rows[asked], single)


def _errors(row: int, rows: Rows, space: Space) -> Floats:
    """The relative standard error of the ratio of each offering to a machine's own; 0 for the same measurement."""
    errors = np.hypot(space.errors[:, rows], space.errors[:, [row]])
    for at, metric in enumerate(space.metrics):
        same = rows == row if metric.origin is None else metric.origin[rows] == metric.origin[row]
        errors[at, same] = 0.0
    return np.asarray(errors)


class _Drawn:
    """Draws of the true values of some rows of the market."""

    def __init__(self, space: Space, rows: Rows) -> None:
        self._at = {row: at for at, row in enumerate(rows.tolist())}
        self._values = [drawn_values(one, rows, space.question.spread, _SEED + at).astype(np.float32)
                        for at, one in enumerate(space.metrics)]  # fmt: skip

    def enough(self, group: Group, row: int, space: Space) -> NDArray[np.bool_]:
        """For each draw whether an offering is enough for a group."""
        at, own = self._at[row], self._at[group.key.row]
        met = np.ones(DRAWS, np.bool_)
        for values, share in zip(self._values, shares(group, space).tolist(), strict=True):
            met &= values[at] >= np.float32(share) * values[own]
        return met


def _choice(options: _Options, drawn: _Drawn, space: Space) -> tuple[Choice, NDArray[np.bool_] | None]:
    """The choice of a group, and for each draw whether it is enough; None if that is unknown."""
    group = options.group
    doubts = [Doubt(options.single, None)] if options.single is not None else []
    for row, chance, holds, is_sure in _asked(options, drawn, space):
        if is_sure:
            return Choice(group, row, chance, _speed(group, row, space), tuple(doubts)), holds
        if chance > OUT_OF_QUESTION:
            doubts.append(Doubt(row, chance))
    if options.single is not None:
        return Choice(group, options.single, None, _speed(group, options.single, space), tuple(doubts)), None
    return Choice(group, doubts=tuple(doubts)), None


def _asked(
    options: _Options, drawn: _Drawn, space: Space
) -> Iterator[tuple[int, float, NDArray[np.bool_], bool]]:  # fmt: skip
    """Yield the offerings in question with their chances, and whether each is sure enough."""
    asked = 1
    for row in options.rows.tolist():
        holds = drawn.enough(options.group, row, space)
        chance = float(holds.mean())
        yield row, chance, holds, chance >= least_chance(space.question.confidence, asked)
        asked += chance > OUT_OF_QUESTION


def _speed(group: Group, row: int, space: Space) -> float:
    return float(np.exp(distances(group, np.array([row]), space)[0, 0]))
