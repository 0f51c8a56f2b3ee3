"""Writes the report of a study and its figures."""

from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path

from cloudcmp.app.over_time import over_time
from cloudcmp.app.study_view import view
from cloudcmp.model.fleet import FleetAnswer
from cloudcmp.model.placement import RegionsAnswer
from cloudcmp.model.platform import PlatformFigures
from cloudcmp.model.price import Purchase
from cloudcmp.model.reach import WideAreaAnswer
from cloudcmp.model.recommendation import Recommendation
from cloudcmp.model.simulation import Simulation
from cloudcmp.model.sla import SlaAnswer
from cloudcmp.model.view import View
from cloudcmp.owned_folder import FOR_ALL, OwnedPath, write_whole
from cloudcmp.store.output_files import check_replaceable

Page = View | Recommendation | FleetAnswer | SlaAnswer | Simulation | WideAreaAnswer | RegionsAnswer | PlatformFigures
_PAGES = {
    View: "html", Recommendation: "recommendation_page", FleetAnswer: "fleet_page", SlaAnswer: "sla_page",
    Simulation: "simulation_page", WideAreaAnswer: "wide_area_page", RegionsAnswer: "placement_page",
    PlatformFigures: "paas_page",
}  # fmt: skip
"""The module of `report` that renders each kind of answer; they are loaded only to write one."""


@dataclass(frozen=True, slots=True)
class ReportFiles:
    """A study's report: what it shows, the HTML file, and the files of figures."""

    view: View
    path: Path
    figures: tuple[Path, ...]


def report(
    folder: Path, out: Path | None = None, figures: Path | None = None, *, reprice: bool = False,
    purchase: Purchase | None = None, terms: Path | None = None, include_ids: bool = False,
    anonymise: bool = False,
) -> ReportFiles:  # fmt: skip
    """Write a study's report to `out`, and its figures into `figures` if given.

    The default of `out` is `report.html` in the study's folder, or `report-anonymous.html` with `anonymise`.
    The options are those of `view`. Raises UserMistake and CorruptStore as `view` does, and UserMistake if a file
    that is no report has the name.
    """
    shown = view(folder, reprice=reprice, include_ids=include_ids, purchase=purchase, terms=terms,
                 steadiness=True, anonymise=anonymise)  # fmt: skip
    shown = replace(
        shown, history=over_time(shown, folder, anonymise=anonymise), reach=_reach(shown, folder, anonymise=anonymise)
    )
    path = write_page(shown, out or folder / ("report-anonymous.html" if anonymise else "report.html"))
    return ReportFiles(shown, path, write_figures(shown, figures) if figures is not None else ())


def _reach(shown: View, folder: Path, *, anonymise: bool) -> WideAreaAnswer | None:
    """How the candidates are reached from the study's vantage points; None without round trips from any.

    New names are given last: places are known by the real ones.
    """
    if not any(one.cell.startswith("wan_rtt_s") and one.n_ok for one in shown.analysis.estimates):
        return None
    from cloudcmp.analysis.wide_area.places import located
    from cloudcmp.answer.reach.answer import reach
    from cloudcmp.app.wide_area_study import area_of_estimates, area_of_study
    from cloudcmp.report.wide_area_names import anonymous_area

    if anonymise:
        return reach(anonymous_area(located(area_of_study(str(folder)))))
    area = area_of_estimates(shown.plan, shown.analysis.estimates, shown.attempts, shown.plan.name)
    return None if area is None else reach(located(area))


def write_page(found: Page, path: Path) -> Path:
    """Write an answer as one HTML file, whole or not at all; replaces a link of that name.

    Raises UserMistake if another file has the name.
    """
    from cloudcmp.report import html

    check_replaceable(path, "report of cloudcmp", html.is_report)
    path.parent.mkdir(parents=True, exist_ok=True)
    page: str = import_module(f"cloudcmp.report.{_PAGES[type(found)]}").render(found)
    with OwnedPath(path.parent).folder() as folder:
        write_whole(folder, path.name, page.encode(), FOR_ALL)
    return path


def write_figures(shown: View, folder: Path) -> tuple[Path, ...]:
    """Write each figure as SVG and PNG with its data as CSV."""
    from cloudcmp.report import figures

    folder.mkdir(parents=True, exist_ok=True)
    return tuple(figures.write_figures(shown, folder))
