"""Renders a simulated service as one HTML file: the answer, response times by base and hour, printed tables, cost."""

from cloudcmp import __version__
from cloudcmp.model.simulation import Simulation
from cloudcmp.model.untrusted_text import one_line
from cloudcmp.report.charts.response_times import figure, map_of
from cloudcmp.report.grids import sheet_of
from cloudcmp.report.html import picture_of, styled, template
from cloudcmp.report.simulation import ORIGIN, basis, grids, lines


def render(found: Simulation) -> str:
    """Return the page of a simulation; it runs no script and loads nothing."""
    style, digest = styled()
    shown = [one for one in lines(found) if one[0] != "MORE"]
    return template("simulation.html.j2").render(
        style=style,
        digest=digest,
        version=__version__,
        origin=ORIGIN,
        question=one_line(found.scenario.question or found.scenario.name, 2000),
        basis=basis(found.scenario),
        lead=one_line(shown[0][1], 2000),
        lines=[(label.capitalize(), one_line(text, 2000)) for label, text, _ in shown[1:]],
        cautions=[one_line(text, 2000) for text in found.cautions],
        pictures=[picture_of(one) for one in (figure(found), map_of(found)) if one is not None],
        sheets=[sheet_of(one) for one in grids(found)],
    )
