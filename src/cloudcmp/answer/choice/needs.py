"""Needs of an application, such as `memory_gib >= 16`, `region in eu-north-1, europe-west1` or `rtt_s <= 2 ms`."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from cloudcmp import units
from cloudcmp.answer.choice.lookup import column_of
from cloudcmp.errors import UserMistake
from cloudcmp.model.market import Market, Numbers, Texts

WHERE = "--require"
EXAMPLE = "memory_gib >= 16"
_FORM = re.compile(r"\s*(?P<name>.+?)\s*(?P<op>>=|<=|!=|>|<|\s=\s|\s==\s|\sin\s)\s*(?P<value>.+?)\s*")
_PLAIN = re.compile(r"\s*(?P<name>[A-Za-z][\w.]*)(?P<op>=)(?P<value>[^=;]+?)\s*")
_MEMORY_GIB = {"MiB": 1 / 1024, "GiB": 1.0, "TiB": 1024.0, "GB": 1e9 / 2**30, "": 1.0}


class Op(StrEnum):
    """How a value must stand to that of a need."""

    AT_LEAST = ">="
    AT_MOST = "<="
    ABOVE = ">"
    BELOW = "<"
    IS = "="
    IS_NOT = "!="
    IN = "in"


@dataclass(frozen=True, slots=True)
class Need:
    """A column, how it must stand, and the values: several for `in`; `number` is in the unit of the column.

    With `like` the number is itself a single measurement: of the offering in that row, or of a machine elsewhere (-1).
    """

    text: str
    name: str
    op: Op
    values: tuple[str, ...]
    number: float | None = None
    like: int | None = None

    @property
    def is_least(self) -> bool:
        """True if more of it is better."""
        return self.op in {Op.AT_LEAST, Op.ABOVE}


@dataclass(frozen=True, slots=True, eq=False)
class Met:
    """For each offering whether it meets a need, and whether that is unknown because a fact is missing."""

    need: Need
    yes: NDArray[np.bool_]
    unknown: NDArray[np.bool_]


def parse_need(text: str, where: str = WHERE, example: str = EXAMPLE) -> Need:
    """Parse a need; raises UserMistake, at `where` and with an `example`, for any text that is none."""
    found = _FORM.fullmatch(text) or _PLAIN.fullmatch(text)
    if found is None:
        raise UserMistake.at(where, f"{text!r} is no requirement", f"write e.g. '{example}'")
    op = Op(found["op"].strip().replace("==", "="))
    values = tuple(one.strip() for one in found["value"].split(",")) if op is Op.IN else (found["value"],)
    if not all(values):
        raise UserMistake.at(where, f"{text!r} has an empty value", "write e.g. 'provider in aws, gcp'")
    return Need(text.strip(), found["name"].strip(), op, values)


def bound_need(need: Need, market: Market) -> Need:
    """Return a need with its number in the unit of the column it names.

    Raises UserMistake if no column has that name, an order is asked of texts, or a unit does not fit.
    """
    column = column_of(market, need.name, WHERE)
    if isinstance(column, Texts):
        if need.op not in {Op.IS, Op.IS_NOT, Op.IN}:
            what = f"{column.name!r} is a text, which has no order"
            raise UserMistake.at(WHERE, what, f"write e.g. '{column.name} = {next(filter(None, column.value), 'x')}'")
        return need
    if need.op is Op.IN:
        raise UserMistake.at(WHERE, f"{need.text!r}: {column.name!r} is a number", "write two requirements, >= and <=")
    return replace(need, name=column.name, number=number_of(need, column))


def number_of(need: Need, column: Numbers, where: str = WHERE) -> float:
    """The number of a need in the unit of a column; raises UserMistake, at `where`, for a unit that does not fit."""
    text, unit = need.values[0], column.unit
    try:
        number = float(text)
    except ValueError:
        pass
    else:
        if column.freedom is not None and unit == "ratio" and number > 1.0:
            raise UserMistake.at(where, f"{need.text!r}: a variation of {text} is {number * 100:g} %",
                                 f"write '{text} %', or a share such as 0.05")  # fmt: skip
        return number
    try:
        if column.name == "memory_gib":
            amount, _, size = text.partition(" ")
            return float(amount) * _MEMORY_GIB[size]
        parse = _PARSERS.get(unit)
        if parse is None:
            raise ValueError
        return parse(text)
    except (ValueError, KeyError):
        shown = {"": "a plain number", "1": "a plain number", "ratio": "a share"}.get(unit, f"a number in {unit}")
        example = "5 %" if unit == "ratio" else "12.5"
        raise UserMistake.at(where, f"{need.text!r}: {text!r} is not {shown}", f"write e.g. {example}") from None


_PARSERS: dict[str, Callable[[str], float]] = {
    "s": units.parse_seconds,
    "B/s": units.parse_rate,
    "B": units.parse_bytes,
    "ratio": units.parse_ratio,
    "1/h": lambda text: float(units.parse_price_per_hour(text).amount),
}


def met(need: Need, market: Market) -> Met:
    """Return which offerings meet a need by the values of its column alone.

    An unknown fact neither meets nor misses a need.
    """
    column = column_of(market, need.name, WHERE)
    if isinstance(column, Texts):
        wanted = {one.casefold() for one in need.values}
        has = np.array([one.casefold() in wanted for one in column.value], np.bool_)
        unknown = np.array([not one for one in column.value], np.bool_)
        return Met(need, (has ^ (need.op is Op.IS_NOT)) & ~unknown, unknown)
    unknown = ~np.isfinite(column.value)
    return Met(need, holds(need, np.where(unknown, np.nan, column.value)), unknown)


def holds(need: Need, values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether numbers meet a need that `bound_need` returned; NaN meets none. Shape as `values`."""
    wanted = np.float64(need.number if need.number is not None else np.nan)
    return _HOLDS[need.op](values, wanted)


_HOLDS: dict[Op, Callable[[NDArray[np.float64], np.float64], NDArray[np.bool_]]] = {
    Op.AT_LEAST: np.greater_equal,
    Op.AT_MOST: np.less_equal,
    Op.ABOVE: np.greater,
    Op.BELOW: np.less,
    Op.IS: np.equal,
    Op.IS_NOT: lambda values, wanted: np.isfinite(values) & (values != wanted),
}
