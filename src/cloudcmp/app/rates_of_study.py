"""The throughput between places that a study measured."""

from statistics import median

from cloudcmp.app.several import folders_of
from cloudcmp.app.study_view import Measured, noted
from cloudcmp.app.tool_files import ImportOptions
from cloudcmp.catalog.tables.network import DIRECTION, INBOUND
from cloudcmp.errors import UserMistake
from cloudcmp.model.cell import Cell
from cloudcmp.model.plan import Candidate
from cloudcmp.store import StudyStore
from cloudcmp.store.throughputs import Pair, Throughputs

_PAGES, _BETWEEN = "wan_transfer_s", "tcp_bytes_per_s"
_REGIONS = ("path", "regions")
_LEAST_BYTES = 16 * 2**20
"""The smallest page that tells a rate: the time of a shorter one is that of slow start over most ways."""


def rates_of_study(source: str) -> Throughputs:
    """The rates (B/s) of a study's launches: from regions to vantage points, and between two regions.

    To a vantage point it is the size of pages of at least 16 MiB by the median time from their first byte to their
    last. That counts slow start, so that the rate of a long copy is no less. Nothing measures the way back. Of several
    streams and sizes that were measured between two places, the fastest cell counts.

    Raises UserMistake if there is no such folder, and if it has no such values.
    """
    with folders_of([source], ImportOptions()) as folders, StudyStore.open(folders[0], write=False) as store:
        measured = Measured.of(store, noted(store), drawn=False)
        plan, name = measured.plan, folders[0].resolve().name
    best: dict[Pair, tuple[float, ...]] = {}
    notes: dict[str, None] = {}
    for one in measured.estimates:
        cell = Cell.parse(one.cell)
        pair = _pair(cell, plan.candidates[one.candidate])
        if pair is None or not one.values:
            continue
        if plan.candidates[one.candidate].simulated:
            notes[f"{name}: SIMULATED, planted values and not measured ones"] = None
        rates = tuple(one.values)
        if cell.metric == _PAGES:
            rates = tuple(_page_bytes(cell) / seconds for seconds in one.values)
            notes[f"{name}: a rate of pages counts their slow start: a long copy may be quicker"] = None
        if pair not in best or median(rates) > median(best[pair]):
            best[pair] = rates
    if not best:
        what = f"no throughput between places ({_PAGES} of at least 16 MiB, or {_BETWEEN} with path: regions)"
        raise UserMistake.at(source, what, "measure it, or give it with --rate")
    return Throughputs(best, name, tuple(notes))


def _pair(cell: Cell, candidate: Candidate) -> Pair | None:
    """From where to where a cell's bytes go; None for another cell."""
    sold = candidate.service or candidate.offering
    here = f"{sold.provider}/{sold.region}"
    if cell.metric == _PAGES and _page_bytes(cell) >= _LEAST_BYTES and cell.get("percentile") == "50":
        return here, cell.get("vantage") or ""
    if cell.metric == _BETWEEN and cell.get(_REGIONS[0]) == _REGIONS[1] and candidate.far is not None:
        far = f"{candidate.far.offering.provider}/{candidate.far.offering.region}"
        return (far, here) if cell.get(DIRECTION) == INBOUND else (here, far)
    return None


def _page_bytes(cell: Cell) -> int:
    """The bytes of a cell's pages; 0 if they are pages of another kind."""
    text = cell.get("size_bytes") or ""
    return int(text) if text.isdigit() and cell.get("resource") in {None, "bytes"} else 0
