"""The tables and sentences about the wide area, for a page of its own and for the report of a study."""

from collections.abc import Iterator

from cloudcmp.answer.reach.sentences import headline, lines
from cloudcmp.model.reach import WideAreaAnswer
from cloudcmp.model.untrusted_text import one_line
from cloudcmp.report.grids import sheet_of
from cloudcmp.report.sheets.sheet import Sheet
from cloudcmp.report.wide_area import grids

TITLE = "From the vantage points"
MOST = 200
SHOWN = 12
"""Of the rows of a table, so many are shown; the rest is folded."""


def sheets(found: WideAreaAnswer) -> Iterator[Sheet]:
    """Yield the tables of an answer, each with at most 200 rows."""
    for grid in grids(found, MOST):
        yield sheet_of(grid)


def sentences(found: WideAreaAnswer) -> list[str]:
    """The answer in words, with what a reader must know."""
    told = [f"{label.capitalize()}: {text}" if label else text for label, text in lines(found)]
    return [one_line(text, 2000) for text in (headline(found), *told, *found.cautions)]
