"""Renders the answer about a fleet as one HTML file: what it saves, the moves, what is unknown, what to measure."""

from collections.abc import Iterator

from cloudcmp import __version__
from cloudcmp.model.fleet import FleetAnswer
from cloudcmp.model.untrusted_text import one_line
from cloudcmp.report.fleet import grids, headline, lines
from cloudcmp.report.grids import sheet_of
from cloudcmp.report.html import styled, template
from cloudcmp.report.sheets.sheet import Sheet

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
