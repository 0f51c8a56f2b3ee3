"""What lies around a choice: how far its numbers may move, near misses, the price front, and its family's sizes."""

import math
import re
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from cloudcmp.answer.choice.field import Field, pick_of
from cloudcmp.answer.choice.needs import Need
from cloudcmp.model.market import COST, Numbers, OfferKey, Texts, single
from cloudcmp.model.metric import Better
from cloudcmp.model.recommendation import Front, Margin, Miss, Pick, Step

_MISSES = 3
_NEAR_MISS = 1.0
"""Of a limit: what is further from it is no near miss, nor is nothing at all."""
_LOOKED_AT = 200
_BETTER = 0.001
"""Of the logarithm of the objective: what misses a need for less is no loss."""
_FRONT = 8
_STEPS = 6
_DIGITS = re.compile(r"\d+")


def margins_of(field: Field, chosen: int, second: int | None) -> tuple[Margin, ...]:
    """Return how far each number of the choice may move before another offering is better, or a need is missed.

    Each measurement and the price alone, the others staying as they are; the nearest first. Facts do not move.
    """
    found: dict[str, Margin] = {}
    if second is not None:
        lead = float(field.score[chosen] - field.score[second])
        sign = 1.0 if field.objective.most else -1.0
        for name, power in field.objective.factors:
            found[name] = Margin(name, math.exp(-sign * lead / power), f"{field.market.keys[second]} is better")
    for need in field.needs:
        column = field.columns.get(need.name)
        if column is None or need.number is None or not (column.is_measured or need.name == COST):
            continue
        value = float(column.value[chosen])
        if not (need.number > 0 and value > 0):
            continue
        margin = Margin(need.name, need.number / value, f"it misses {need.text}")
        if need.name not in found or _far(margin) < _far(found[need.name]):
            found[need.name] = margin
    return tuple(sorted(found.values(), key=_far))


def _far(margin: Margin) -> float:
    return abs(math.log(margin.ratio))


def misses_of(field: Field, chosen: int | None) -> tuple[Miss, ...]:
    """Return the offerings that miss exactly one need, the smallest miss first; only those better than the choice."""
    if not field.needs:
        return ()
    missed = np.sum([~one.yes for one in field.met], axis=0)
    better = np.isfinite(field.score) & (missed == 1) & ~field.burstable
    if chosen is not None:
        better &= field.score > field.score[chosen] + _BETTER
    near: list[tuple[float, int, Need]] = []
    for one in field.met:
        column, limit = field.columns.get(one.need.name), one.need.number
        rows = np.flatnonzero(better & ~one.yes & ~one.unknown)
        if column is None or limit is None or not len(rows):
            continue
        gaps = np.abs(column.value[rows] - limit) / (abs(limit) or 1.0)
        near_enough = (gaps <= _NEAR_MISS) & (column.value[rows] != 0)
        rows, gaps = rows[near_enough], gaps[near_enough]
        near += [(float(gaps[at]), int(rows[at]), one.need) for at in np.argsort(gaps, kind="stable")[:_LOOKED_AT]]
    near.sort(key=lambda one: (one[0], -float(field.score[one[1]])))
    first: dict[tuple[str, str], Miss] = {}
    for _, row, need in near:
        key = field.market.keys[row]
        miss = Miss(pick_of(field, row), need.text, need.name, float(field.columns[need.name].value[row]))
        first.setdefault((key.provider, single(key.name)[0]), miss)
    return tuple(first.values())[:_MISSES]


def fronts_of(field: Field, eligible: NDArray[np.bool_]) -> tuple[Front, ...]:
    """Return, for each measurement that decides, the offerings that no other beats in price and in it at once.

    Only eligible offerings that meet the needs on facts; cheapest first, thinned to eight.
    """
    price = field.columns.get(COST)
    if price is None:
        return ()
    rows = np.flatnonzero(field.certain & eligible)
    measured = [one for one in field.columns.values() if one.is_measured]
    return tuple(Front(one.name, tuple(_front(field, one, price, rows))) for one in measured)


def _front(field: Field, column: Numbers, price: Numbers, rows: NDArray[np.int64]) -> Iterator[Pick]:
    sign = 1.0 if higher_is_better(field, column) else -1.0
    value, cost = sign * column.value[rows], price.value[rows]
    known = np.flatnonzero(np.isfinite(value) & np.isfinite(cost))
    order = known[np.lexsort((-value[known], cost[known]))]
    kept = [at for at, best in zip(order, _before(value[order]), strict=True) if value[at] > best]
    for at in np.unique(np.linspace(0, len(kept) - 1, min(len(kept), _FRONT)).round().astype(int)) if kept else ():
        yield pick_of(field, int(rows[kept[at]]))


def _before(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The greatest value before each one."""
    return np.concatenate([[-np.inf], np.maximum.accumulate(values)[:-1]]) if len(values) else values


def higher_is_better(field: Field, column: Numbers) -> bool:
    """True if more of a column is better: as the objective or a need says, else as its metric does, else true."""
    for name, power in field.objective.factors:
        if name == column.name:
            return (power > 0) == field.objective.most
    for need in field.needs:
        if need.name == column.name:
            return need.is_least
    return column.better is not Better.LOWER


def ladder_of(field: Field, chosen: int) -> tuple[Step, ...]:
    """Return the other sizes of the choice's family in its region: their price and speed as ratios to the choice's.

    Speed is the first measurement that decides; without one there is no ladder.
    """
    measured = next((one for one in field.columns.values() if one.is_measured and one.freedom is None), None)
    price = field.columns.get(COST)
    if measured is None or price is None:
        return ()
    own = field.market.keys[chosen]
    own_family = family(field, chosen)
    steps = []
    for row, key in enumerate(field.market.keys):
        if (
            row == chosen
            or key[:2] != own[:2]
            or single(key.name)[1] != single(own.name)[1]
            or not own_family
            or family(field, row) != own_family
        ):
            continue
        cost = float(price.value[row] / price.value[chosen])
        work = float(measured.value[row] / measured.value[chosen])
        if math.isfinite(cost) and math.isfinite(work) and work > 0:
            steps.append(Step(key, cost, work if higher_is_better(field, measured) else 1 / work))
    steps.sort(key=lambda one: abs(math.log(one.cost)))
    return tuple(sorted(steps[:_STEPS], key=lambda one: one.cost))


def family(field: Field, row: int) -> str:
    """The family of an offering: as a source says, else by its cloud's way of naming; empty if unknown."""
    column = field.market.columns.get("family")
    if isinstance(column, Texts) and column.value[row]:
        return column.value[row]
    return family_of(field.market.keys[row])


def family_of(key: OfferKey) -> str:
    """The family of an instance type, without its size, by its cloud's way of naming; empty if that is unknown."""
    name, _ = single(key.name)
    match key.provider:
        case "aws" | "alicloud":
            return name.rpartition(".")[0]
        case "gcp":
            return name.rpartition("-")[0]
        case "azure":
            return _DIGITS.sub("#", name, count=1)
        case _:
            return ""
