"""Renders the answer about a fleet as one HTML file: what it saves, the moves, what is unknown, what to measure."""

from collections.abc import Iterator

from cloudcmp import __version__
from cloudcmp.model.fleet import FleetAnswer
from cloudcmp.model.untrusted_text import one_line
from cloudcmp.report.fleet import Grid, grids, headline, lines
from cloudcmp.report.html import styled, template
from cloudcmp.report.numbers import UNKNOWN
from cloudcmp.report.sheets.sheet import Sheet, columns, row

_MOST = 200


def render(found: FleetAnswer) -> str:
    """Return the page of an answer; it runs no script and loads nothing. Each table has at most 200 rows."""
    style, digest = styled()
    return template("fleet.html.j2").render(
        style=style,
        digest=digest,
        version=__version__,
        origin="SIMULATED" if found.simulated else "",
        headline=headline(found),
        lines=[(label.capitalize(), one_line(text, 2000)) for label, text, _ in lines(found)],
        cautions=[one_line(text, 2000) for text in (*found.cautions, *found.notes)],
        sheets=list(_sheets(found)),
        most=_MOST,
        confidence=f"{found.confidence * 100:g} %",
    )


def _sheets(found: FleetAnswer) -> Iterator[Sheet]:
    for grid in grids(found, _MOST):
        yield sheet_of(grid)


def sheet_of(grid: Grid) -> Sheet:
    """A table of an answer as a table of a page."""
    titles = [head if isinstance(head, str) else head.title for head in grid.heads]
    numeric = [head.title for head in grid.heads if not isinstance(head, str)]
    rows = tuple(row(*(UNKNOWN if text is None else text for text in one)) for one in grid.rows)
    return Sheet(grid.title, columns(*titles, numeric=numeric), rows, grid.note)
