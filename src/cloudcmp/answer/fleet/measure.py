"""Which few measurements would settle most of the money that is undecided, and what they cost."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from cloudcmp.answer.fleet.choose import Choice, Doubt, distances, saved_an_hour
from cloudcmp.answer.fleet.space import Space

LEAST_LAUNCHES = 6
"""Fewer give no verdict in a study."""
MOST_LAUNCHES = 30
"""Two offerings that need more are practically the same."""
LAUNCH_HOURS = 0.25
"""An assumption: how long a launch lives for one probe, with its start. `cloudcmp plan` knows better."""
_DETECTED = 1.645 + 0.842
"""Standard errors at which a one-sided test at 5 % sees a difference in 80 % of the studies."""


@dataclass(slots=True)
class Pair:
    """An offering in use and one that may replace it, of any region: the money a month that depends on it.

    `expected` is the sum of the money times its chances, `known` false if a chance is unknown. `launches` is that of
    the largest part of the money; None if more would be needed than are sensible.
    """

    of: int
    to: int
    money: float = 0.0
    expected: float = 0.0
    known: bool = True
    launches: int | None = LEAST_LAUNCHES
    largest: float = 0.0


@dataclass(frozen=True, slots=True)
class Plan:
    """A pair, the price of measuring it after those before it, and the share of the undecided money settled by then."""

    pair: Pair
    price: float
    settled: float


@dataclass(slots=True)
class Undecided:
    """The pairs on which money depends, and the money a month of those that are too close."""

    pairs: list[Pair] = field(default_factory=list)
    money: float = 0.0
    close: float = 0.0


def undecided(choices: Sequence[Choice], space: Space) -> Undecided:
    """Return what depends on measurements: of each group the doubt with the most expected money.

    A group whose commitment runs counts nothing: its money cannot move yet.
    """
    pairs: dict[tuple[str, ...], Pair] = {}
    for choice in choices:
        if choice.group.key.since is None and choice.doubts:
            _add(pairs, choice, space)
    ordered = sorted(pairs.values(), key=lambda one: -one.money)
    return Undecided(
        ordered, math.fsum(one.money for one in ordered),
        math.fsum(one.money for one in ordered if one.launches is None),
    )  # fmt: skip


def _add(pairs: dict[tuple[str, ...], Pair], choice: Choice, space: Space) -> None:
    group = choice.group
    sure = saved_an_hour(choice, space) if choice.is_sure else 0.0

    def gained(doubt: Doubt) -> float:
        return (group.key.price - float(space.cost[doubt.row]) - sure) * group.hours

    def expected(doubt: Doubt) -> float:
        return gained(doubt) * (1.0 if doubt.chance is None else doubt.chance)

    lead = max(choice.doubts, key=lambda one: (expected(one), -one.row))
    of, to = (space.market.keys[row] for row in (group.key.row, lead.row))
    pair = pairs.setdefault((of.provider, of.name, to.provider, to.name), Pair(group.key.row, lead.row))
    pair.money += gained(lead)
    pair.expected += expected(lead)
    pair.known &= lead.chance is not None
    if gained(lead) > pair.largest:
        pair.largest, pair.of, pair.to = gained(lead), group.key.row, lead.row
        pair.launches = launches_needed(choice, lead.row, space)


def launches_needed(choice: Choice, row: int, space: Space) -> int | None:
    """Launches of each offering after which the difference to what is needed would show in 80 % of the studies.

    At least six, also where no spread is known; None if it would be more than thirty.
    """
    distance = distances(choice.group, np.array([row]), space)[0, 0]
    scatter = math.hypot(*(_scatter(one, space) for one in (choice.group.key.row, row)))
    if not math.isfinite(scatter):
        return LEAST_LAUNCHES
    if abs(distance) < 1e-12:
        return None
    needed = math.ceil((_DETECTED * scatter / distance) ** 2)
    return max(LEAST_LAUNCHES, needed) if needed <= MOST_LAUNCHES else None


def _scatter(row: int, space: Space) -> float:
    """The coefficient of variation of an offering's launches; NaN if it is unknown."""
    column = space.metrics[0]
    n = 0 if column.launches is None else int(np.isfinite(column.launches[row]).sum())
    return float(space.errors[0, row]) * math.sqrt(max(1, n))


def ranked(found: Undecided, space: Space, most: int) -> Iterator[Plan]:
    """Yield the pairs whose measurement is worth most: the expected money of a month less the price, each after those
    before it. Without a known chance all the money counts.

    An offering that an earlier pair measures already costs only the launches that it lacks.
    """
    waiting = [one for one in found.pairs if one.launches is not None]
    made: dict[tuple[str, str], int] = {}
    settled = 0.0
    while waiting and most > 0:
        best = max(waiting, key=lambda one: one.expected - _price(one, made, space))
        price = _price(best, made, space)
        waiting.remove(best)
        for row in (best.of, best.to):
            kind = _kind(row, space)
            made[kind] = max(made.get(kind, 0), best.launches or 0)
        settled += best.money
        most -= 1
        yield Plan(best, price, settled / found.money if found.money else 0.0)


def _price(pair: Pair, made: Mapping[tuple[str, str], int], space: Space) -> float:
    """What the launches of a pair cost that were not made yet; an unknown list price counts as that of the other."""
    costs = [float(space.cost[row]) for row in (pair.of, pair.to)]
    known = max(one for one in costs if one > 0)
    total = 0.0
    for row, cost in zip((pair.of, pair.to), costs, strict=True):
        lacking = max(0, (pair.launches or 0) - made.get(_kind(row, space), 0))
        total += lacking * LAUNCH_HOURS * (cost if cost > 0 else known)
    return total


def _kind(row: int, space: Space) -> tuple[str, str]:
    key = space.market.keys[row]
    return key.provider, key.name
