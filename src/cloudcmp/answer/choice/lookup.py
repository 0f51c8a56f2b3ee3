"""Columns of a market by the names that people write."""

from collections.abc import Iterable

from cloudcmp.catalog.parameters import nearest
from cloudcmp.errors import UserMistake
from cloudcmp.model.market import COST, TOTAL, Market, Numbers, Texts

BETWEEN, WITHIN = "variation of ", "variation within launches of "
"""Before the name of a measurement: how much it varies between launches, or inside them."""
_VARIATIONS = {BETWEEN: BETWEEN, "variation between launches of ": BETWEEN, WITHIN: WITHIN}
_ALIASES = {"price": COST, "price_per_hour": COST, "memory": "memory_gib", "cpus": "vcpus"}


def column_of(market: Market, name: str, where: str) -> Numbers | Texts:
    """Return the column of a name, of a metric with a single cell, or of a cell with some of its parameters.

    Raises UserMistake, with `where`, for an unknown name and for one that several columns have.
    """
    wanted = "".join(split_variation(_ALIASES.get(name.lower(), name)))
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
    kind, base = split_variation(wanted)
    if kind and columns_of(market, base):
        raise UserMistake.at(where, *_unknown_variation(kind, base))
    raise UserMistake.at(where, f"no source has a column {name!r}", _advice(base, market.columns))


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


def split_variation(name: str) -> tuple[str, str]:
    """The statistic that a name asks for, empty for the value itself, and the name of the measurement."""
    written = next((one for one in _VARIATIONS if name.lower().startswith(one)), "")
    return _VARIATIONS.get(written, ""), name[len(written) :]


def _unknown_variation(kind: str, base: str) -> tuple[str, str]:
    if kind == WITHIN:
        return f"no launch has several runs of {base!r}: its variation within launches is unknown", "set runs: 3"
    what = f"each value of {base!r} is a single one: how much it varies is unknown"
    return what, "a study with 6 launches or more of each candidate tells it"


def _fits(column: str, wanted: str) -> bool:
    if column.startswith(TOTAL) != wanted.startswith(TOTAL):
        return False
    (kind, column), (asked, wanted) = (split_variation(one.removeprefix(TOTAL).lower()) for one in (column, wanted))
    metric, _, params = column.partition(" ")
    name, _, some = wanted.partition(" ")
    return kind == asked and metric == name and set(filter(None, some.split(";"))) <= set(params.split(";"))


def _advice(name: str, known: Iterable[str]) -> str:
    if name.startswith(TOTAL) and not any(one.startswith(TOTAL) for one in known):
        return "totals need several machines, such as --machines 8"
    close = nearest(name, known)
    return f"did you mean {close}? --columns lists all" if close else "--columns lists all"
