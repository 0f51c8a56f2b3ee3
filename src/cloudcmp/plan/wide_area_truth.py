"""The planted times of pages from vantage points: round trips from the distance, and phases that follow from them."""

import math
from collections.abc import Sequence
from dataclasses import replace

from cloudcmp.catalog.places import distance_km, place_of
from cloudcmp.catalog.tables.wan import rounds
from cloudcmp.model.cell import Cell
from cloudcmp.model.offering import CellTruth
from cloudcmp.model.plan import Candidate
from cloudcmp.model.wide_area import Position, VantagePoint
from cloudcmp.plan.trials import generator
from cloudcmp.plan.truth_draws import PlantedCell, best, drawn_spreads, planted, tail, without

FIBRE_KM_PER_S = 204_190.0
"""Light in glass of a refractive index of 1.4682: 299792 km/s divided by it."""
DETOUR = 1.6
"""How much longer than the great circle a path is; measured ones are between about 1.2 and 2.5."""
_LAST_MILE_S, _NAME_S, _SERVER_S = 3e-3, 8e-3, 2e-3
_TYPICAL_S = 0.09
_RTT, _TLS, _SIZE = "wan_rtt_s", "wan_tls_s", "size_bytes"


class Ways:
    """The truths of a candidate's pages from the vantage points of a study; a study's own values come first.

    A place that is known has a round trip of light in fibre over the great circle, with detours and a last mile. Else
    it is drawn. A page is its phases added; a transfer takes the round trips of slow start from ten segments on
    (RFC 6928), without a limit on the rate.
    """

    def __init__(
        self, candidate: Candidate, vantages: Sequence[VantagePoint], written: Sequence[PlantedCell], seed: int
    ) -> None:
        self._candidate = candidate
        self._at = {one.name: one.at for one in vantages}
        self._written = written
        self._seed = seed
        self._tls = bool(candidate.service and candidate.service.endpoint.startswith("https"))

    def lacks(self, cell: Cell) -> bool:
        """True for the handshake of an endpoint without TLS, unless the study plants it: there is none."""
        return cell.metric == _TLS and not self._tls and best(cell, self._written) is None

    def truth(self, cell: Cell) -> CellTruth | None:
        """The truth of a cell; None if the study plants it, or has no such vantage point."""
        if not cell.metric.startswith("wan_") or cell.get("vantage") not in self._at or best(cell, self._written):
            return None
        mean = self._mean(cell)
        if mean is None:
            return None
        cov, between = drawn_spreads(self._seed, self._candidate.index, without(cell, "percentile"))
        return CellTruth(float(f"{mean * tail(self._candidate.index, _way(cell), self._seed):.4g}"), cov, between)

    def _mean(self, cell: Cell) -> float | None:
        vantage, size = cell.get("vantage") or "", float(cell.get(_SIZE) or 0)
        rtt = self._rtt_s(vantage)
        trips = rounds(size)
        parts = {
            "wan_dns_s": _NAME_S,
            _RTT: rtt,
            "wan_connect_s": rtt,
            **({_TLS: rtt + _SERVER_S} if self._tls else {}),
            "wan_first_byte_s": rtt + _SERVER_S,
            "wan_transfer_s": max(trips - 1, 0) * rtt + 1e-5,
        }
        parts["wan_page_s"] = sum(parts.values()) - rtt
        return parts.get(cell.metric)

    def _rtt_s(self, vantage: str) -> float:
        own = planted(Cell.of(_RTT, {"vantage": vantage, "percentile": "50"}), self._written)
        if own is not None:
            return own.mean
        there, here = self._place(), self._at.get(vantage)
        if there is not None and here is not None:
            return _LAST_MILE_S + 2 * DETOUR * distance_km(here, there) / FIBRE_KM_PER_S
        draw = generator(self._seed, "way", self._candidate.index, vantage)
        return _TYPICAL_S * math.exp(draw.gauss(0.0, 0.5))

    def _place(self) -> Position | None:
        sold = self._candidate.service or self._candidate.offering
        found = place_of(sold.provider, sold.region)
        return found.at if found else None


def _way(cell: Cell) -> Cell:
    """The cell without its size and metric: all phases of a way have the same tail."""
    return replace(without(cell, _SIZE, "resource"), metric=_RTT)
