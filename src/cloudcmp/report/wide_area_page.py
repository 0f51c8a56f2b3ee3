"""Renders how providers reach vantage points as one HTML file: the answer, the map, the figures, the tables."""

from collections.abc import Iterator

from cloudcmp import __version__
from cloudcmp.answer.reach.sentences import headline, lines
from cloudcmp.model.reach import WideAreaAnswer
from cloudcmp.model.untrusted_text import one_line
from cloudcmp.report.charts import wide_area as charts
from cloudcmp.report.fleet_page import sheet_of
from cloudcmp.report.html import picture_of, styled, template
from cloudcmp.report.sheets.sheet import Sheet
from cloudcmp.report.wide_area import counts, grids

_MOST = 200
_ORIGINS = {"simulated": "SIMULATED", "modelled": "MODELLED"}


def render(found: WideAreaAnswer) -> str:
    """Return the page of an answer; it runs no script and loads nothing. Each table has at most 200 rows."""
    style, digest = styled()
    return template("wan.html.j2").render(
        style=style,
        digest=digest,
        version=__version__,
        origin=_ORIGINS.get(found.area.kind, ""),
        headline=headline(found),
        counts=one_line(counts(found), 400),
        lines=[(label.capitalize(), one_line(text, 2000)) for label, text in lines(found)],
        cautions=[one_line(text, 2000) for text in found.cautions],
        pictures=[picture_of(figure) for figure in charts.figures(found)],
        sheets=list(sheets(found)),
        most=_MOST,
    )


def sheets(found: WideAreaAnswer) -> Iterator[Sheet]:
    """Yield the tables of an answer."""
    for grid in grids(found, _MOST):
        yield sheet_of(grid)
