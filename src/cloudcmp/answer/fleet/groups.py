"""Machines of a fleet with the same needs as one group: what is computed grows with the groups, not with the rows."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date

from cloudcmp.answer.fleet.space import AS_TODAY, FleetQuestion, Space
from cloudcmp.errors import UserMistake
from cloudcmp.model.fleet import FleetMachine, Inventory, Untold

_ABOVE = 1.005
_LEAST_SHARE = 0.01
"""Of its measurement, what even an idle machine needs."""


@dataclass(frozen=True, slots=True)
class GroupKey:
    """What machines of a group have in common.

    `row` is that of their type in the market, `share` the part of its measured work that they need, `memory` what they
    need in GiB, `price` what an hour costs, at most the list price: what is paid above it, such as a licence, does not
    end with a move. `since` is the end of a commitment that is still to come.
    """

    row: int
    share: float
    memory: float
    architecture: str
    price: float
    since: date | None = None


@dataclass(slots=True)
class Group:
    """Equal machines: their places in the inventory, how many they are, and their hours a month together."""

    key: GroupKey
    at: list[int] = field(default_factory=list)
    machines: int = 0
    hours: float = 0.0


@dataclass(frozen=True, slots=True)
class Grouped:
    """The groups of an inventory, and the rows of it that belong to none.

    `untold` has the reason for each row about which nothing can be told, `committed` the rows that do not move because
    their commitment's end is unknown. `price` is that of an hour of each row, NaN if unknown, and `listed` the same by
    list prices. `hot` counts the machines that use more than the head-room leaves, `unmeasured` those of unknown
    use, `dear` those that cost more than the list price of their type.
    """

    groups: tuple[Group, ...]
    untold: dict[int, Untold]
    committed: frozenset[int]
    price: tuple[float, ...]
    listed: tuple[float, ...]
    hot: int
    unmeasured: int
    dear: int


def grouped(inventory: Inventory, space: Space, today: date) -> Grouped:
    """Put equal machines together.

    Raises UserMistake if the inventory's prices are in another currency than the market's.
    """
    market = space.market
    if inventory.currency and market.currency and inventory.currency != market.currency:
        what = f"the inventory is in {inventory.currency} and the prices are in {market.currency}"
        raise UserMistake.at("--fleet", what, "exchange rates are not known here: give prices of one currency")
    groups: dict[GroupKey, Group] = {}
    untold: dict[int, Untold] = {}
    committed: set[int] = set()
    prices, listed = [], []
    for at, one in enumerate(inventory.machines):
        row = space.row_of(one.key)
        list_price = math.nan if row is None or one.system else float(space.cost[row])
        price = one.price if one.price is not None else list_price if one.has_list_price else math.nan
        prices.append(price)
        listed.append(list_price)
        found = _group_key(one, row, price, space, today)
        if isinstance(found, Untold):
            untold[at] = found
        elif one.commitment and one.until is None:
            committed.add(at)
        else:
            group = groups.setdefault(found, Group(found))
            group.at.append(at)
            group.machines += one.count
            group.hours += one.count * one.hours
    question = space.question
    return Grouped(
        tuple(groups.values()), untold, frozenset(committed), tuple(prices), tuple(listed),
        sum(one.count for one in inventory.machines if one.cpu is not None and one.cpu * (1 + question.headroom) > 1),
        sum(one.count for one in inventory.machines if one.cpu is None),
        sum(one.count for one, paid, usual in zip(inventory.machines, prices, listed, strict=True)
            if paid > usual * _ABOVE),
    )  # fmt: skip


def _group_key(one: FleetMachine, row: int | None, price: float, space: Space, today: date) -> GroupKey | Untold:
    if one.system or row is None:
        return Untold.OTHER_SYSTEM if one.system else Untold.NO_OFFERING
    memory, architecture = float(space.memory[row]), space.architecture_for(row, one.architecture)
    known = {
        Untold.NO_PRICE: price > 0,
        Untold.ACCELERATED: not space.accelerated[row],
        Untold.NO_METRIC: all(math.isfinite(logs[row]) for logs in space.logs),
        Untold.NO_MEMORY: math.isfinite(memory),
        Untold.NO_ARCHITECTURE: bool(architecture),
    }
    for reason, is_known in known.items():
        if not is_known:
            return reason
    since = one.until if one.commitment and one.until is not None and one.until > today else None
    listed = float(space.cost[row])
    return GroupKey(
        row, needed_share(one.cpu, space.question), memory * min(1.0, _used(one.memory, space.question)), architecture,
        min(price, listed) if listed > 0 else price, since,
    )  # fmt: skip


def needed_share(cpu: float | None, question: FleetQuestion) -> float:
    """The part of a machine's measured work that it needs: what is in use with head-room, never more than it has."""
    return max(_LEAST_SHARE, min(AS_TODAY, _used(cpu, question)))


def _used(share: float | None, question: FleetQuestion) -> float:
    return 1.0 if share is None else share * (1 + question.headroom)


def rows_of(grouped: Grouped) -> Iterator[tuple[int, Group]]:
    """Yield each row of the inventory that is in a group, with it."""
    for group in grouped.groups:
        for at in group.at:
            yield at, group
