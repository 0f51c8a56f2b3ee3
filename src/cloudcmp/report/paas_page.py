"""Renders the figures of platforms as one HTML file: the answer, the figures, the tables, how to read them."""

from cloudcmp import __version__
from cloudcmp.model.platform import PlatformFigures
from cloudcmp.model.untrusted_text import one_line
from cloudcmp.report.charts import platforms
from cloudcmp.report.grids import sheet_of
from cloudcmp.report.html import picture_of, styled, template
from cloudcmp.report.paas import cautions, grids, headline, lines


def render(found: PlatformFigures) -> str:
    """Return the page of a measurement; it runs no script and loads nothing."""
    style, digest = styled()
    return template("paas.html.j2").render(
        style=style,
        digest=digest,
        version=__version__,
        origin="",
        headline=headline(found),
        lines=[(label, one_line(text, 2000)) for label, text in lines(found)],
        cautions=[one_line(text, 2000) for text in (*cautions(found), *found.notes)],
        pictures=[picture_of(one) for one in platforms.figures(found)],
        sheets=[sheet_of(one) for one in grids(found)],
    )
