"""Tables of an answer, alike for a terminal and a page."""

from dataclasses import dataclass

from cloudcmp.report.numbers import UNKNOWN
from cloudcmp.report.sheets.sheet import Sheet, columns, row
from cloudcmp.report.table import Head


@dataclass(frozen=True, slots=True)
class Grid:
    """A table of the answer, for a terminal or a page; None is unknown."""

    title: str
    heads: tuple[str | Head, ...]
    rows: tuple[tuple[str | None, ...], ...]
    note: str = ""


def sheet_of(grid: Grid) -> Sheet:
    """The table as a page shows it."""
    titles = [head if isinstance(head, str) else head.title for head in grid.heads]
    numeric = [head.title for head in grid.heads if isinstance(head, Head) and head.numeric]
    rows = tuple(row(*(UNKNOWN if text is None else text for text in one)) for one in grid.rows)
    return Sheet(grid.title, columns(*titles, numeric=numeric), rows, grid.note)
