"""Answers what a fleet costs, what its moves would save, what is unknown, and what to measure."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

import numpy as np

from cloudcmp.answer.fleet.choose import Choice, Chosen, choose, saved_an_hour
from cloudcmp.answer.fleet.groups import Grouped, grouped
from cloudcmp.answer.fleet.measure import Undecided, ranked, undecided
from cloudcmp.answer.fleet.space import FleetQuestion, Space, space_of
from cloudcmp.model.fleet import (
    Fate,
    FleetAnswer,
    Inventory,
    MachineAnswer,
    Measurement,
    Move,
    Untold,
    UntoldGroup,
)
from cloudcmp.model.market import Market, OfferKey
from cloudcmp.units import Money

MEASUREMENTS = 10
_CENTS = 4


def fleet_answer(inventory: Inventory, market: Market, question: FleetQuestion, today: date) -> FleetAnswer:
    """Answer a question about a fleet; `market` has the columns of `with_attributes`.

    A machine moves to the cheapest offering that is enough with the chance that is asked: at least the work that it
    uses, with head-room, and its memory; in its place, with its architecture, unless they may change. Its need is never
    more than what it has. Prices and hours count as certain. What is unknown is never no saving: it is listed.

    It does not measure what a move costs, nor whether a program can make use of other processors.

    Raises UserMistake as `space_of` does, and if the inventory's prices are in another currency.
    """
    space = space_of(market, question)
    groups = grouped(inventory, space, today)
    chosen = choose(groups.groups, space)
    currency = inventory.currency or market.currency
    answers = tuple(_answers(inventory, groups, chosen, space, currency))
    moves = tuple(_moves(answers, chosen, space, currency))
    savings = _savings(moves, chosen, currency)
    open_money = undecided(chosen.choices, space)
    return FleetAnswer(
        currency=currency,
        metric=space.metrics[0].name,
        kept=tuple(one.name for one in space.metrics[1:]),
        headroom=question.headroom,
        confidence=question.confidence,
        spread=question.spread,
        machines=sum(one.count for one in answers),
        cost=_sum((one.cost for one in answers), currency),
        saving=savings.sure,
        bounds=savings.bounds,
        chance=savings.chance,
        single=savings.single,
        later=savings.later,
        later_from=savings.later_from,
        stays=_count(answers, Fate.STAYS),
        committed=_count(answers, Fate.COMMITTED),
        moves=moves,
        untold=tuple(_untold(answers, currency)),
        undecided=_money(open_money.money, currency),
        close=_money(open_money.close, currency),
        measurements=tuple(_measurements(open_money, space, currency)),
        answers=answers,
        hot=groups.hot,
        unmeasured=groups.unmeasured,
        dear=groups.dear,
        paid=_paid(inventory, groups),
        simulated=bool(market.simulated),
        skipped=inventory.skipped,
        notes=(*inventory.notes, *_renamed(space), *market.notes),
    )


@dataclass(frozen=True, slots=True)
class _Savings:
    """What moves save a month: surely, by single values, and once commitments end."""

    sure: Money
    bounds: tuple[Money, Money] | None
    chance: float | None
    single: Money
    later: Money
    later_from: date | None


def _savings(moves: Sequence[Move], chosen: Chosen, currency: str) -> _Savings:
    now = [one for one in moves if one.since is None]
    sure = [one.saving for one in now if one.chance is not None]
    return _Savings(
        sure=_sum(sure, currency),
        bounds=_bounds(chosen, currency) if sure else None,
        chance=float((chosen.saving > 0).mean()) if sure else None,
        single=_sum((one.saving for one in now if one.chance is None), currency),
        later=_sum((one.saving for one in moves if one.since is not None), currency),
        later_from=min((one.since for one in moves if one.since is not None), default=None),
    )


def _money(amount: float, currency: str) -> Money:
    return Money(Decimal(repr(round(amount, _CENTS))), currency)


def _sum(some: Iterable[Money | None], currency: str) -> Money:
    return Money(sum((one.amount for one in some if one is not None), Decimal(0)), currency)


def _count(answers: Sequence[MachineAnswer], fate: Fate) -> int:
    return sum(one.count for one in answers if one.fate is fate)


def _bounds(chosen: Chosen, currency: str) -> tuple[Money, Money]:
    low, high = np.quantile(chosen.saving, (0.025, 0.975)).tolist()
    return _money(low, currency), _money(high, currency)


def _answers(
    inventory: Inventory, groups: Grouped, chosen: Chosen, space: Space, currency: str
) -> Iterator[MachineAnswer]:  # fmt: skip
    """Yield the answer of each row of the inventory, in its order."""
    of = {at: choice for choice in chosen.choices for at in choice.group.at}
    for at, one in enumerate(inventory.machines):
        price = groups.price[at]
        cost = _money(price * one.hours * one.count, currency) if math.isfinite(price) else None
        choice = of.get(at)
        if choice is None:
            untold = groups.untold.get(at)
            fate = Fate.UNTOLD if untold else Fate.COMMITTED
            yield MachineAnswer(one.name, one.key, one.count, fate, cost, untold=untold)
        elif choice.row is None:
            yield MachineAnswer(one.name, one.key, one.count, Fate.STAYS, cost)
        else:
            saving = _money(saved_an_hour(choice, space) * one.hours * one.count, currency)
            fate = Fate.MAY_MOVE if choice.chance is None else Fate.MOVES
            yield MachineAnswer(one.name, one.key, one.count, fate, cost, space.market.keys[choice.row], saving,
                                choice.chance, choice.group.key.since)  # fmt: skip


def _moves(
    answers: Sequence[MachineAnswer], chosen: Chosen, space: Space, currency: str
) -> Iterator[Move]:  # fmt: skip
    """Yield the moves of equal types together, the largest saving first; those with and without a chance apart."""
    found: dict[tuple[OfferKey, OfferKey, date | None, bool], list[tuple[Choice, MachineAnswer]]] = {}
    for choice in chosen.choices:
        for at in choice.group.at if choice.row is not None else ():
            one = answers[at]
            if one.to is not None:
                key = (space.market.keys[choice.group.key.row], one.to, one.since, one.chance is None)
                found.setdefault(key, []).append((choice, one))
    moves = []
    for (of, to, since, _), some in found.items():
        chances = [one.chance for _, one in some if one.chance is not None]
        rows = {choice.row for choice, _ in some} | {choice.group.key.row for choice, _ in some}
        moves.append(Move(
            of, to, sum(one.count for _, one in some), _sum((one.saving for _, one in some), currency),
            min(chances, default=None), min(choice.speed for choice, _ in some), since,
            any(one.elsewhere is not None and bool(one.elsewhere[row])
                for one in space.metrics for row in rows if row is not None),
        ))  # fmt: skip
    yield from sorted(moves, key=lambda one: (one.since is not None, -one.saving.amount, one.of, one.to))


def _untold(answers: Sequence[MachineAnswer], currency: str) -> Iterator[UntoldGroup]:
    """Yield what nothing can be told about, by reason and type, the most money first."""
    found: dict[tuple[Untold, OfferKey], list[MachineAnswer]] = {}
    for one in answers:
        if one.untold is not None:
            found.setdefault((one.untold, one.of), []).append(one)
    groups = [
        UntoldGroup(why, of, sum(one.count for one in some), _known_cost(some, currency))
        for (why, of), some in found.items()
    ]
    yield from sorted(groups, key=lambda one: (-(one.cost.amount if one.cost else 0), -one.machines, one.of))


def _known_cost(some: Sequence[MachineAnswer], currency: str) -> Money | None:
    """What some machines cost a month; None if the price of one is unknown."""
    return None if any(one.cost is None for one in some) else _sum((one.cost for one in some), currency)


def _measurements(found: Undecided, space: Space, currency: str) -> Iterator[Measurement]:
    for plan in ranked(found, space, MEASUREMENTS):
        pair = plan.pair
        yield Measurement(
            of=space.market.keys[pair.of],
            to=space.market.keys[pair.to],
            money=_money(pair.money, currency),
            expected=_money(pair.expected, currency) if pair.known else None,
            chance=pair.expected / pair.money if pair.known and pair.money else None,
            launches=pair.launches or 0,
            price=_money(plan.price, currency),
            settled=plan.settled,
        )


def _paid(inventory: Inventory, groups: Grouped) -> float | None:
    """The ratio of what is paid to list prices, over the machines for which both are known."""
    both: Mapping[int, float] = {
        at: one.hours * one.count for at, one in enumerate(inventory.machines)
        if one.price is not None and math.isfinite(groups.listed[at])
    }  # fmt: skip
    if not both:
        return None
    paid = math.fsum(groups.price[at] * hours for at, hours in both.items())
    return paid / math.fsum(groups.listed[at] * hours for at, hours in both.items())


def _renamed(space: Space) -> Iterator[str]:
    if space.renamed:
        yield f"{space.renamed} types have another architecture by their names than in a source: the name counts"
