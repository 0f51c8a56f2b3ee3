"""Renders the report: one HTML file that runs no script and loads nothing."""

import base64
import hashlib
import re
from dataclasses import dataclass
from functools import cache
from importlib import resources

import jinja2
from markupsafe import Markup

from cloudcmp import __version__
from cloudcmp.model.untrusted_text import one_line, visible
from cloudcmp.model.view import View
from cloudcmp.report import wide_area_sheets
from cloudcmp.report.charts import history as history_charts
from cloudcmp.report.charts import isolation as isolation_charts
from cloudcmp.report.charts import network as network_charts
from cloudcmp.report.charts import scaling as scaling_chart
from cloudcmp.report.charts import services as service_charts
from cloudcmp.report.charts import wide_area as wide_area_charts
from cloudcmp.report.figures import Figure, figures
from cloudcmp.report.inline_svg import inlined
from cloudcmp.report.report_model import StudyView
from cloudcmp.report.sheets import (
    advertised,
    candidates,
    commands,
    estimates,
    grid,
    history,
    hosts,
    isolation,
    network,
    offers,
    outcomes,
    pairs,
    scaling,
    services,
    speedup,
    steadiness,
    summary,
    verdicts,
)

_OF_SECTIONS = {scaling_chart.NAME, *service_charts.NAMES, *isolation_charts.NAMES, *network_charts.NAMES,
                history_charts.NAME, history_charts.UNCHANGED}  # fmt: skip
"""Figures that stand in a section of their own subject."""
_FOLDER = resources.files("cloudcmp.report") / "templates"


@dataclass(frozen=True, slots=True)
class _Picture:
    """A figure as an element of the page, of drawing elements alone: one, or one for each panel if it `fits`."""

    name: str
    title: str
    caption: str
    drawings: tuple[Markup, ...]
    fits: bool

    @classmethod
    def of(cls, figure: Figure) -> "_Picture":
        drawings = tuple(
            Markup(inlined(svg, f"{figure.name}{f'-{at}' if at else ''}"))  # noqa: S704 - cleaned
            for at, svg in enumerate((figure.svg, *figure.more))
        )
        return cls(figure.name, figure.title, figure.caption, drawings, figure.fits)


def is_report(head: bytes) -> bool:
    """True if a file is a report, by its first bytes."""
    return head.startswith(b"<!doctype html>") and b": cloudcmp report" in head


def picture_of(figure: Figure) -> _Picture:
    """A figure as the page's templates show it."""
    return _Picture.of(figure)


def styled() -> tuple[Markup, str]:
    """The style sheet, and the digest by which the page's policy allows it."""
    style = _read("report.css")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode("ascii")
    return Markup(style), digest  # noqa: S704 - our own file, unescaped, so that its digest is valid


@cache
def template(name: str) -> jinja2.Template:
    """A page without its values; compiling it takes as long as half of a small report."""
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True, finalize=_shown,
        loader=jinja2.FunctionLoader(_read),
    )  # fmt: skip
    environment.filters["breakable"] = _breakable
    return environment.get_template(name)


def render(view: View, drawn: tuple[Figure, ...] | None = None) -> str:
    """Return the report of a study as one HTML document; equal views give equal bytes.

    `drawn` are the study's figures, if they are already drawn. Every string of the view is cleaned of invisible
    characters and escaped; the page's policy allows only its own style sheet, by digest.
    Interruptions appear only in the element `interruptions`, the last of the page.
    """
    study = StudyView.of(view)
    style, digest = styled()
    pictures = [_Picture.of(figure) for figure in (figures(view) if drawn is None else drawn)]
    return template("report.html.j2").render(
        style=style,
        digest=digest,
        version=__version__,
        name=one_line(view.plan.name, 120),
        question=one_line(view.plan.question, 2000),
        origin=study.origin,
        answer=[one_line(line, 1000) for line in view.analysis.answer],
        lead=summary.sentences(study),
        cards=summary.cards(study),
        open_lines=summary.open_lines(study),
        warnings=[*history.warnings(study), *outcomes.warnings(study)],
        no_price=candidates.no_price(study),
        offered=offers.sheets(study),
        offered_title=offers.TITLE,
        facts=candidates.facts(study),
        candidates=candidates.candidates(study),
        commands=commands.sheet(study),
        matrix=verdicts.matrix(study),
        winners=verdicts.winners(study),
        pictures=[one for one in pictures if one.name not in _OF_SECTIONS],
        history=history.sentences(study),
        history_title=history.TITLE,
        history_changes=history.changes(study),
        history_pictures=[one for one in pictures if one.name == history_charts.NAME],
        history_unchanged=history.unchanged(study),
        history_unchanged_pictures=[one for one in pictures if one.name == history_charts.UNCHANGED],
        isolation=isolation.sheets(study),
        isolation_title=isolation.TITLE,
        isolation_pictures=[one for one in pictures if one.name in isolation_charts.NAMES],
        isolation_answer=isolation.sentence(study),
        isolation_matrices=isolation.matrices(study),
        advertised=advertised.sheets(study),
        advertised_title=advertised.TITLE,
        network=network.sheets(study),
        network_title=network.TITLE,
        network_pictures=[one for one in pictures if one.name in network_charts.NAMES],
        reach=list(wide_area_sheets.sheets(view.reach)) if view.reach else [],
        reach_shown=wide_area_sheets.SHOWN,
        reach_title=wide_area_sheets.TITLE,
        reach_lines=wide_area_sheets.sentences(view.reach) if view.reach else [],
        reach_pictures=[_Picture.of(one) for one in wide_area_charts.figures(view.reach)] if view.reach else [],
        scaling=scaling.sheets(study),
        scaling_title=scaling.TITLE,
        scaling_pictures=[one for one in pictures if one.name == scaling_chart.NAME],
        services=services.sheets(study),
        services_title=services.TITLE,
        services_pictures=[one for one in pictures if one.name in service_charts.NAMES],
        speedup=speedup.sheets(study),
        speedup_title=speedup.TITLE,
        steadiness=steadiness.sheets(study),
        steadiness_title=steadiness.TITLE,
        grid=grid.sheets(study),
        grid_title=grid.TITLE,
        estimates=estimates.sheets(study),
        pairs=pairs.sheets(study),
        outcomes=outcomes.sheet(study),
        hosts=hosts.sheets(study),
        provenance=[(one_line(name, 80), one_line(text, 600)) for name, text in view.provenance],
        interruptions=[one_line(line, 400) for line in view.interruptions],
    )


def _shown(value: object) -> object:
    """Return the value as the template prints it; a last cleaning removes invisible characters of strings."""
    return visible(value, keep="\n") if type(value) is str else value


def _breakable(name: str) -> Markup:
    """A name that a browser may break after `/` and `-`, but not inside its words."""
    parts = re.split(r"(?<=[/-])(?=\w)", visible(name))
    return Markup("<wbr>").join(parts)


def _read(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")
