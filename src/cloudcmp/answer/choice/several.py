"""Several machines of an offering as one candidate: their price, and the totals of what adds up."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cloudcmp.answer.choice.lookup import columns_of
from cloudcmp.answer.choice.needs import Need
from cloudcmp.answer.choice.objective import Objective
from cloudcmp.catalog.adding_up import NotAdded, width_of
from cloudcmp.errors import UserMistake
from cloudcmp.model.market import COST, MACHINES, TOTAL, Market, Numbers, OfferKey, Texts, counted, single

MOST = 64
_VCPUS = "vcpus"
Floats = NDArray[np.float64]
Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """For each new row: its name, how many machines it is, and the rows that its columns come from.

    `single` is the row of one machine, from which totals follow. `group` is the row of several machines that a source
    has, else -1: with `measured` its values are those of all its machines, else those of one of them, as the cells of
    a study's candidate are.
    """

    keys: tuple[OfferKey, ...]
    machines: Rows
    single: Rows
    group: Rows
    measured: NDArray[np.bool_]

    @property
    def own(self) -> Rows:
        """The rows of all columns but totals and prices."""
        return np.where((self.group >= 0) & ~self.measured, self.group, self.single)


def several_of(market: Market, most: int, declared: Sequence[str] = ()) -> tuple[Market, frozenset[OfferKey]]:
    """Return the market of `with_several`, and the machines of which a source measured several together."""
    known = market.columns.get(MACHINES)
    of_group = known.value.tolist() if isinstance(known, Numbers) else [math.nan] * len(market.keys)
    names = ((key, *single(key.name), many) for key, many in zip(market.keys, of_group, strict=True))
    measured = frozenset(key._replace(name=name) for key, name, count, many in names if count > 1 and count == many)
    return with_several(market, most, declared), measured


def with_several(market: Market, most: int, declared: Sequence[str] = ()) -> Market:
    """Return the market with every offering also as 2, 3, ... `most` machines of it.

    The cost is that of all machines, and a column `total X` is there for each X that adds up: an advertised size, the
    rate or score of a whole machine, or a column in `declared`. All other columns are those of each machine. Where a
    source measured n machines of an offering (its column `machines`), totals of n are the measured ones, and those of
    other numbers follow by Amdahl's law; else n machines are taken to do n times the work of one.

    Raises UserMistake for a declared name that no column of numbers has, and for too many machines.
    """
    if not 1 < most <= MOST:
        raise UserMistake.at("--machines", f"{most} is not between 2 and {MOST}", "write e.g. 8")
    for name in declared:
        if not columns_of(market, name):
            raise UserMistake.at("--adds", f"no source has a column of numbers {name!r}", "--columns lists all")
    added = {one.name for name in declared for one in columns_of(market, name)}
    groups = _groups(market, most)
    columns: dict[str, Numbers | Texts] = {}
    for name, column in market.columns.items():
        if isinstance(column, Texts):
            texts = np.array(column.value, object)[groups.own]
            columns[name] = replace(column, value=tuple(texts.tolist()))
            continue
        marks = _marks(column, groups, market.keys)
        columns[name] = replace(_each_machine(column, groups), marks=marks)
        if (total := _total(market, column, groups, added)) is not None:
            columns[total.name] = replace(total, marks=marks)
    columns[MACHINES] = Numbers(MACHINES, groups.machines.astype(np.float64))
    rows = zip(groups.keys, groups.own.tolist(), strict=True)
    simulated = frozenset(key for key, row in rows if market.keys[row] in market.simulated)
    note = f"an offering counts once for each number of machines, 1 to {most}"
    return Market(groups.keys, columns, market.currency, (*market.notes, note), simulated)


def _groups(market: Market, most: int) -> Groups:
    """The rows of one machine, each times 1 to `most`; several machines stay alone where one of them is not sold."""
    at = {key: row for row, key in enumerate(market.keys)}
    known = market.columns.get(MACHINES)
    of_group = known.value if isinstance(known, Numbers) else np.full(len(market.keys), math.nan)
    rows: list[tuple[OfferKey, int, int, int]] = []
    for row, key in enumerate(market.keys):
        name, count = single(key.name)
        if count == 1:
            rows.append((key, 1, row, -1))
            for number in range(2, most + 1):
                several = OfferKey(key.provider, key.region, counted(name, number))
                rows.append((several, number, row, at.get(several, -1)))
        elif key._replace(name=name) not in at or count > most:
            rows.append((key, count, row, row))
    keys, *columns = zip(*rows, strict=True)
    machines, singles, group = (np.array(one, np.int64) for one in columns)
    return Groups(tuple(keys), machines, singles, group, (group >= 0) & (of_group[group] == machines))


def _marks(column: Numbers, groups: Groups, before: Sequence[OfferKey]) -> dict[OfferKey, tuple[str, ...]]:
    """What a reader must know beside one machine, beside every number of them."""
    if not column.marks:
        return {}
    pairs = zip(groups.keys, (before[row] for row in groups.own), strict=True)
    return {key: column.marks[one] for key, one in pairs if one in column.marks}


def _each_machine(column: Numbers, groups: Groups) -> Numbers:
    """A column of each machine; a price is that of all, and the own price of several counts."""
    moved = _rows(column, groups.own)
    if column.name != COST:
        return moved
    sold = np.where(groups.group >= 0, column.value[groups.group], np.nan)
    return replace(moved, value=np.where(np.isfinite(sold), sold, column.value[groups.single] * groups.machines))


def _rows(column: Numbers, rows: Rows) -> Numbers:
    """A column in other rows; what was one measurement stays one."""
    origin = None
    if column.is_measured:
        origin = rows if column.origin is None else column.origin[rows]
    return replace(
        column,
        value=column.value[rows],
        launches=None if column.launches is None else column.launches[rows],
        day=None if column.day is None else column.day[rows],
        elsewhere=None if column.elsewhere is None else column.elsewhere[rows],
        freedom=None if column.freedom is None else column.freedom[rows],
        origin=origin,
    )


def _total(market: Market, column: Numbers, groups: Groups, declared: set[str]) -> Numbers | None:
    """The total of a column over all machines; None if it does not add up."""
    width = math.inf if column.name in declared else width_of(column.name)
    if isinstance(width, NotAdded):
        return None
    factor = groups.machines * _efficiency(column, groups)
    if math.isfinite(width):  # of so many processors at once: a larger machine is not measured whole
        vcpus = market.columns.get(_VCPUS)
        known = vcpus.value[groups.single] if isinstance(vcpus, Numbers) else np.full(len(factor), np.nan)
        factor = np.where(known <= width, factor, np.nan)
    moved = _rows(column, groups.single)
    value, launches = moved.value * factor, None if moved.launches is None else moved.launches * factor[:, None]
    own = groups.measured & np.isfinite(column.value[groups.group])
    value = np.where(own, column.value[groups.group], value)
    if launches is not None and column.launches is not None:
        launches = np.where(own[:, None], column.launches[groups.group], launches)
    origin = None if moved.origin is None else np.where(own, groups.group, moved.origin)
    return replace(moved, name=TOTAL + column.name, value=value, launches=launches, origin=origin)


def _efficiency(column: Numbers, groups: Groups) -> Floats:
    """The work of each row's machines together over that of as many single ones: 1 where no group was measured.

    Of the largest measured group of an offering, n machines of efficiency e, Amdahl's law gives the share s that does
    not divide: e = 1 / (1 + s (n - 1)); s is 0 for a group that does more than its parts. Source: Amdahl, AFIPS 1967.
    """
    shares: dict[int, tuple[int, float]] = {}
    for row in np.flatnonzero(groups.measured & (groups.single != groups.group)):
        count, one = int(groups.machines[row]), int(groups.single[row])
        together, alone = column.value[groups.group[row]], column.value[one]
        if together > 0 and alone > 0 and count > shares.get(one, (0, 0.0))[0]:
            shares[one] = count, max(0.0, (count * alone / together - 1) / (count - 1))
    if not shares:
        return np.ones(len(groups.single))
    share = np.array([shares.get(int(one), (0, 0.0))[1] for one in groups.single])
    return 1 / (1 + share * (groups.machines - 1))


def check_totals(market: Market, objective: Objective, needs: Sequence[Need]) -> None:
    """Raises UserMistake, with the reason, for a total of something that does not add up."""
    named = {name: "--maximise" if objective.most else "--minimise" for name, _ in objective.factors}
    named |= {one.name: "--require" for one in needs}
    for name, where in named.items():
        if name.startswith(TOTAL) and name not in market.columns and not columns_of(market, name):
            _refuse(market, name.removeprefix(TOTAL), where)


def _refuse(market: Market, name: str, where: str) -> None:
    reasons = list(_reasons(market.columns, columns_of(market, name)))
    if not reasons:
        return
    column, reason = reasons[0]
    advice = (
        f"--adds '{column}' declares that it does"
        if reason is NotAdded.UNDECLARED
        else f"require {name!r} of each machine"
    )
    raise UserMistake.at(where, f"there is no total of {column!r}: {reason.value}", advice)


def _reasons(columns: Mapping[str, Numbers | Texts], found: Sequence[Numbers]) -> Iterator[tuple[str, NotAdded]]:
    for one in found:
        width = width_of(one.name)
        if isinstance(width, NotAdded) and TOTAL + one.name not in columns:
            yield one.name, width
