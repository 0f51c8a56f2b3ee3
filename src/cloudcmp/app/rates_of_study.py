"""The throughput between places that a study measured."""

from cloudcmp.app.several import folders_of
from cloudcmp.app.study_view import Measured, noted
from cloudcmp.app.tool_files import ImportOptions
from cloudcmp.catalog.tables.network import DIRECTION, INBOUND
from cloudcmp.errors import UserMistake
from cloudcmp.model.cell import Cell
from cloudcmp.model.plan import Candidate
from cloudcmp.store import StudyStore
from cloudcmp.store.throughputs import Pair, Throughputs

_WIDE, _BETWEEN = "wan_bytes_per_s", "tcp_bytes_per_s"
_REGIONS = ("path", "regions")


def rates_of_study(source: str) -> Throughputs:
    """The rates (B/s) of a study's launches: between vantage points and regions, and between two regions.

    Of several streams and sizes that were measured between two places, the fastest cell counts.

    Raises UserMistake if there is no such folder, and if it has no such values.
    """
    with folders_of([source], ImportOptions()) as folders, StudyStore.open(folders[0], write=False) as store:
        measured = Measured.of(store, noted(store), drawn=False)
        plan, name = measured.plan, folders[0].resolve().name
    best: dict[Pair, tuple[float, ...]] = {}
    for one in measured.estimates:
        pair = _pair(Cell.parse(one.cell), plan.candidates[one.candidate])
        if pair is None or not one.values:
            continue
        if pair not in best or sorted(one.values)[len(one.values) // 2] > sorted(best[pair])[len(best[pair]) // 2]:
            best[pair] = tuple(one.values)
    if not best:
        what = f"no throughput between places ({_WIDE}, or {_BETWEEN} with path: regions)"
        raise UserMistake.at(source, what, "measure it, or give it with --rate")
    return Throughputs(best, name)


def _pair(cell: Cell, candidate: Candidate) -> Pair | None:
    """From where to where a cell's bytes go; None for another cell."""
    here = f"{candidate.offering.provider}/{candidate.offering.region}"
    if cell.metric == _WIDE and (vantage := cell.get("vantage")):
        return (here, vantage) if cell.get("direction") == "down" else (vantage, here)
    if cell.metric == _BETWEEN and cell.get(_REGIONS[0]) == _REGIONS[1] and candidate.far is not None:
        far = f"{candidate.far.offering.provider}/{candidate.far.offering.region}"
        return (far, here) if cell.get(DIRECTION) == INBOUND else (here, far)
    return None
