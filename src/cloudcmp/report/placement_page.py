"""Renders the best set of regions as one HTML file: the answer, the map, the tables, and what to mind."""

from cloudcmp import __version__
from cloudcmp.model.placement import RegionsAnswer
from cloudcmp.model.untrusted_text import one_line
from cloudcmp.report.charts import placement as charts
from cloudcmp.report.grids import sheet_of
from cloudcmp.report.html import picture_of, styled, template
from cloudcmp.report.placement import answer, basis, grids, headline

_MOST, _SHOWN = 200, 12
_ORIGINS = {"simulated": "SIMULATED"}


def render(found: RegionsAnswer) -> str:
    """Return the page of an answer; it runs no script and loads nothing. Each table has at most 200 rows, of which
    12 are not folded."""
    style, digest = styled()
    return template("regions.html.j2").render(
        style=style,
        digest=digest,
        version=__version__,
        origin=_ORIGINS.get(found.kind, ""),
        headline=headline(found),
        counts=one_line(basis(found), 400),
        lines=[(label.capitalize(), one_line(text, 2000)) for label, text, _ in answer(found)],
        cautions=[one_line(text, 2000) for text in (*found.cautions, *found.notes)],
        pictures=[picture_of(figure) for figure in charts.figures(found)],
        sheets=[sheet_of(grid) for grid in grids(found, _MOST)],
        left=[(str(site), why) for site, why in found.left_out],
        shown=_SHOWN,
        most=_MOST,
    )
