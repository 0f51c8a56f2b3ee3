"""Renders how providers reach vantage points as one HTML file: the answer, the map, the figures, the tables."""

from cloudcmp import __version__
from cloudcmp.answer.reach.sentences import headline, lines
from cloudcmp.model.reach import WideAreaAnswer
from cloudcmp.model.untrusted_text import one_line
from cloudcmp.report.charts import wide_area as charts
from cloudcmp.report.html import picture_of, styled, template
from cloudcmp.report.wide_area import counts
from cloudcmp.report.wide_area_sheets import MOST, SHOWN, sheets

_ORIGINS = {"simulated": "SIMULATED", "modelled": "MODELLED"}


def render(found: WideAreaAnswer) -> str:
    """Return the page of an answer; it runs no script and loads nothing. The rest of long tables is folded."""
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
        shown=SHOWN,
        most=MOST,
    )
