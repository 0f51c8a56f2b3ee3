"""Plays a rule of selection on many simulated markets at once."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from cloudcmp.stats.check import Floats, Integers
from cloudcmp.stats.selection import Codes, Flags, Rule, State, next_state

Draw: TypeAlias = Callable[[int], Floats]
"""Returns the costs of all launches of a round, shape (markets, candidates)."""


@dataclass(frozen=True, slots=True, eq=False)
class Played:
    """How a rule ended in each market, shape (markets,) or (markets, candidates).

    `launches` and `rounds` are what it took, `ended` is a code of `selection.ENDS`, 0 if the rounds did not suffice.
    `settled` has shape (markets, candidates, candidates).
    """

    launches: Integers
    rounds: Integers
    ended: Codes
    lead: Integers
    settled: Flags


def play(rule: Rule, draw: Draw, shape: tuple[int, int], most: int) -> Played:
    """Plays at most `most` rounds in markets x candidates of `shape`."""
    count, candidates = shape
    state, open_ = State.new(candidates, (count,)), np.arange(count)
    played = Played(
        np.zeros(count, np.int64), np.zeros(count, np.int64), np.zeros(count, np.int8), np.zeros(count, np.int64),
        np.zeros((count, candidates, candidates), np.bool_),
    )  # fmt: skip
    for number in range(most):
        costs = draw(number)[open_]
        played.launches[open_] += state.active.sum(axis=-1)
        state = next_state(rule, state, costs)
        for name in ("ended", "lead", "settled"):
            getattr(played, name)[open_] = getattr(state, name)
        played.rounds[open_] = number + 1
        goes_on = state.ended == 0
        if not goes_on.all():
            state, open_ = state.among(goes_on), open_[goes_on]
        if not open_.size:
            break
    return played
