"""Renders the answer about service levels as one HTML file: the sentence, what to mind, the tables."""

from cloudcmp import __version__
from cloudcmp.answer.sla.words import target_words
from cloudcmp.model.sla import SlaAnswer
from cloudcmp.model.untrusted_text import one_line
from cloudcmp.report.grids import sheet_of
from cloudcmp.report.html import styled, template
from cloudcmp.report.sla import grids, lines

MIND = "MIND"


def render(found: SlaAnswer) -> str:
    """Return the page of an answer; it runs no script and loads nothing."""
    style, digest = styled()
    told = [(label, one_line(text, 2000)) for label, text, _ in lines(found)]
    return template("sla.html.j2").render(
        style=style,
        digest=digest,
        version=__version__,
        origin="SIMULATED" if found.simulated else "",
        headline=one_line(found.sentence, 2000),
        lines=[(label.capitalize(), text) for label, text in told if label != MIND],
        cautions=[text for label, text in told if label == MIND],
        sheets=[sheet_of(grid) for grid in grids(found)],
        confidence=target_words(found.confidence),
    )
