"""Columns of a market by the names that people write."""

from collections.abc import Iterable

from cloudcmp.catalog.parameters import nearest
from cloudcmp.errors import UserMistake
from cloudcmp.model.market import COST, TOTAL, Market, Numbers, Texts

_ALIASES = {"price": COST, "price_per_hour": COST, "memory": "memory_gib", "cpus": "vcpus"}


def column_of(market: Market, name: str, where: str) -> Numbers | Texts:
    """Return the column of a name, of a metric with a single cell, or of a cell with some of its parameters.

    Raises UserMistake, with `where`, for an unknown name and for one that several columns have.
    """
    wanted = _ALIASES.get(name.lower(), name)
    if wanted in market.columns:
        return market.columns[wanted]
    found = [one for key, one in market.columns.items() if _fits(key, wanted)]
    if len(found) == 1:
        return found[0]
    if found:
        cells = "; ".join(sorted(one.name for one in found)[:4])
        raise UserMistake.at(where, f"{name!r} is {len(found)} measurements: {cells}", "name one with its parameters")
    if wanted == COST:
        raise UserMistake.at(where, "no source has a price", "add a table of prices, or `prices` for the price book")
    raise UserMistake.at(where, f"no source has a column {name!r}", _advice(name, market.columns))


def columns_of(market: Market, name: str) -> list[Numbers]:
    """Return every column of numbers that a metric, with or without some parameters, names."""
    return [one for key, one in market.columns.items() if isinstance(one, Numbers) and _fits(key, name)]


def numbers_of(market: Market, name: str, where: str) -> Numbers:
    """Return a column of numbers; raises UserMistake as `column_of`, and for one of texts."""
    column = column_of(market, name, where)
    if isinstance(column, Numbers):
        return column
    texts = list(dict.fromkeys(one for one in column.value if one))
    raise UserMistake.at(where, f"{column.name!r} has texts such as {texts[0]!r}", "name a column of numbers")


def _fits(column: str, wanted: str) -> bool:
    if column.startswith(TOTAL) != wanted.startswith(TOTAL):
        return False
    metric, _, params = column.removeprefix(TOTAL).lower().partition(" ")
    name, _, some = wanted.removeprefix(TOTAL).lower().partition(" ")
    return metric == name and set(filter(None, some.split(";"))) <= set(params.split(";"))


def _advice(name: str, known: Iterable[str]) -> str:
    if name.startswith(TOTAL) and not any(one.startswith(TOTAL) for one in known):
        return "totals need several machines, such as --machines 8"
    close = nearest(name, known)
    return f"did you mean {close}? --columns lists all" if close else "--columns lists all"
