"""The times between vantage points and regions that a study or a tidy table holds."""

from collections.abc import Sequence
from dataclasses import replace

from cloudcmp.app.several import folders_of
from cloudcmp.app.study_view import Measured, noted
from cloudcmp.app.tool_files import ImportOptions
from cloudcmp.app.wide_area_names import names_of
from cloudcmp.errors import UserMistake
from cloudcmp.model.cell import Cell
from cloudcmp.model.plan import Candidate, Plan
from cloudcmp.model.result import Estimate
from cloudcmp.model.wide_area import PathTime, Phase, Site, VantagePoint, WideArea
from cloudcmp.report.anonymity import SIMULATED
from cloudcmp.store import StudyStore

METRICS = {
    "wan_rtt_s": Phase.RTT,
    "wan_dns_s": Phase.DNS,
    "wan_connect_s": Phase.CONNECT,
    "wan_tls_s": Phase.TLS,
    "wan_first_byte_s": Phase.FIRST_BYTE,
    "wan_transfer_s": Phase.TRANSFER,
    "wan_page_s": Phase.PAGE,
}
"""The metrics that hold times of the wide area, and their phase."""
_MEDIAN = "50"


def area_of_study(source: str) -> WideArea:
    """Read the medians of a study's folder or a tidy table, one for each vantage, region, phase and size.

    The value of a path is the median of its launches; `n` of `started` trials gave values.

    Raises UserMistake if there is no such folder or file, and if it has no such values.
    """
    with folders_of([source], ImportOptions()) as folders, StudyStore.open(folders[0], write=False) as store:
        measured = Measured.of(store, noted(store), drawn=False)
        plan = measured.plan
        area = area_of_estimates(plan, measured.estimates, folders[0].resolve().name)
    if area is None:
        raise UserMistake.at(
            source, "no times between vantage points and regions (wan_rtt_s)", "measure or import them"
        )
    return replace(area, kind="imported") if plan.imported else area


def area_of_estimates(plan: Plan, estimates: Sequence[Estimate], source: str) -> WideArea | None:
    """The times of the wide area among the estimates of a study; None if there are none."""
    candidates = plan.candidates
    vantage_at: dict[str, int] = {}
    site_at: dict[tuple[str, str], int] = {}
    paths = []
    for one in estimates:
        cell = Cell.parse(one.cell)
        phase = METRICS.get(cell.metric)
        if phase is None or not one.n_started or cell.get("percentile") not in {None, _MEDIAN}:
            continue
        vantage = cell.get("vantage")
        if vantage is None:
            raise UserMistake.at(source, f"{cell.metric} without a vantage", "write vantage=NAME in its params")
        paths.append(
            PathTime(vantage_at.setdefault(vantage, len(vantage_at)),
                     site_at.setdefault(_site(candidates[one.candidate]), len(site_at)), phase, one.median, one.n_ok,
                     one.n_started, _size(cell), min(one.values, default=None))
        )  # fmt: skip
    if not paths:
        return None
    simulated = all(one.simulated for one in candidates)
    known = {one.point.name: one.point for one in plan.vantages}
    vantages = (known.get(name, VantagePoint(name)) for name in vantage_at)
    sites = (Site(*key) for key in site_at)
    kind = "simulated" if simulated else "measured"
    names = names_of(measured, vantage_at)
    return WideArea(tuple(vantages), tuple(sites), tuple(paths), source, kind, names)


def _site(candidate: Candidate) -> tuple[str, str]:
    """The provider and region; each region of `simulated` is a provider of its own, as it is in other answers."""
    place = candidate.service or candidate.offering
    provider = f"{SIMULATED}/{place.region}" if place.provider == SIMULATED else place.provider
    return provider, place.region


def _size(cell: Cell) -> int | None:
    text = cell.get("size_bytes") or ""
    return int(text) if text.isdigit() else None
