"""Short labels and figures out of a document's tables, shared by the relations and the claims."""

import re

from cloudcmp.analysis.published.number import Number, read
from cloudcmp.published import Document, Table

_COV = "Coefficient of Variation %"
_UNIT_IN_HEAD = re.compile(r" \([^)]*\)$")


def label(document: Document, name: str) -> str:
    """The short form of a row or column name: a platform without its unit, a pair joined by a stroke."""
    if " Vs " in name:
        return "/".join(label(document, part) for part in name.split(" Vs "))
    bare = _UNIT_IN_HEAD.sub("", name)
    return document.labels.get(name, document.labels.get(bare, name))


def row_label(document: Document, table: Table, row: tuple[str, ...]) -> str:
    """The short form of a row's keys, joined by a space."""
    return " ".join(label(document, key) for key in row[: table.keys])


def printed(document: Document, table: Table, column: str) -> dict[str, str]:
    """The cells of a column as printed, by the short labels of their rows."""
    cells = table.column(column).values()
    return {row_label(document, table, row): cell for row, cell in zip(table.rows, cells, strict=True)}


def numbers(document: Document, table: Table, column: str) -> dict[str, Number]:
    """The figures of a column by the short labels of their rows; cells without one are left out."""
    found = {row: read(cell) for row, cell in printed(document, table, column).items()}
    return {row: number for row, number in found.items() if number is not None}


def sessions(document: Document, table: Table) -> dict[str, list[Number]]:
    """The session values of each platform, in order, of a table with a row a session and a column a platform."""
    found = {}
    for column in table.figures():
        rows = table.column(column)
        values = [read(cell) for row, cell in rows.items() if row != _COV]
        found[label(document, column)] = [value for value in values if value is not None]
    return found


def cov_row(document: Document, table: Table) -> dict[str, str]:
    """The printed coefficient of variation of each platform, with its percent sign."""
    return {label(document, column): table.column(column)[_COV] for column in table.figures()}


def columns(document: Document, reference: str) -> list[tuple[Table, str]]:
    """The columns that `table` or `table:column` names: that one, or all that hold figures."""
    number, _, column = reference.partition(":")
    table = document.table(number)
    return [(table, column)] if column else [(table, name) for name in table.figures()]


def pair_of(row: str, names: tuple[str, ...]) -> str | None:
    """The pair among `names` that a row of p values is about; None when it is about another."""
    return next((name for name in names if row == name or row.startswith(f"{name} ")), None)
