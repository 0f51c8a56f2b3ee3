"""The time of a page: what slow start takes at a round-trip time, beside measured pages.

Sources: RFC 5681 and RFC 6928 (slow start, an initial window of ten segments); Cardwell, Savage and Anderson, "Modeling
TCP latency", INFOCOM 2000, section III (rounds of slow start); Delgado's thesis of 2010, section 4.1.2 (an initial
window of 4 KB); Li et al., "CloudCmp", IMC 2010, section 6 and figure 15 (pages of 1 KB and 100 KB from the site that
is nearest to each vantage point).
"""

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from cloudcmp.analysis.wide_area.best import curve, quantiles, weights_of
from cloudcmp.analysis.wide_area.vantage_clusters import cluster_codes
from cloudcmp.model.reach import PAGE_BYTES, BestTimes, PageFigure, ReachCurve
from cloudcmp.model.wide_area import Phase, WideArea
from cloudcmp.stats.check import Floats

if TYPE_CHECKING:
    from numpy.typing import NDArray

SEGMENT_BYTES = 1460
"""The payload of a full TCP segment on Ethernet without options."""
INITIAL_WINDOW = 10 * SEGMENT_BYTES
"""What Linux sends before the first acknowledgement, since 2011 (RFC 6928)."""
OLD_INITIAL_WINDOW = 3 * SEGMENT_BYTES
"""What it sent before that (RFC 3390): the 4 KB of Delgado's thesis."""


@dataclass(frozen=True, slots=True)
class PageModel:
    """How a page is fetched: the bytes before the first acknowledgement, and whether over TLS.

    `bytes_per_s` is the rate of the path; None if it never limits. `server_s` is what the server takes to answer.
    """

    initial_window: int = INITIAL_WINDOW
    tls: bool = True
    bytes_per_s: float | None = None
    server_s: float = 0.0


def rounds(size_bytes: int, initial_window: int = INITIAL_WINDOW) -> int:
    """The round trips in which slow start sends a body: its window doubles with each, and nothing is lost.

    ceil(log2(size / window + 1)): the sum of the first n windows is window (2^n - 1).
    """
    if size_bytes < 1 or initial_window < 1:
        raise ValueError(f"rounds: {size_bytes} bytes in a window of {initial_window}; give at least one of each")
    return max(1, (math.ceil(size_bytes / initial_window)).bit_length())


def transfer_s(size_bytes: int, rtt_s: float, model: PageModel) -> float:
    """The time from the first to the last byte of a body.

    After the first window a round trip passes for each further one. With a rate, the rest is sent at that rate once a
    window fills the path. It knows no loss, no receiver that is slow, and no queue.
    """
    if model.bytes_per_s is None:
        return (rounds(size_bytes, model.initial_window) - 1) * rtt_s
    left, window, time = float(size_bytes), float(model.initial_window), 0.0
    while left > window and window < model.bytes_per_s * rtt_s:
        left -= window
        window *= 2
        time += rtt_s
    return time + left / model.bytes_per_s


def page_s(size_bytes: int, rtt_s: float, model: PageModel, dns_s: float | None = None) -> float:
    """The time of a page: lookup of its name if its time is known, then connect, TLS, first byte and transfer.

    Connect and first byte take a round trip each, and so does TLS 1.3.
    """
    handshakes = 3 if model.tls else 2
    return (dns_s or 0.0) + handshakes * rtt_s + model.server_s + transfer_s(size_bytes, rtt_s, model)


def page_figures(
    area: WideArea, times: BestTimes, model: PageModel
) -> tuple[tuple[PageFigure, ...], tuple[ReachCurve, ...]]:
    """Return the times of pages from the nearest site of each provider, and their distributions, as figure 15.

    A lookup counts in the model where it was measured for all vantage points, as it is part of every measured page. TLS
    does not for a provider of which connections were measured and none had it.
    """
    seen = {(area.sites[one.site].provider, one.phase) for one in area.paths if one.median_s is not None}
    figures: list[PageFigure] = []
    drawn: list[ReachCurve] = []
    sizes = {*PAGE_BYTES, *(one.size_bytes for one in area.paths if one.phase is Phase.PAGE and one.size_bytes)}
    lookups = area.matrix(Phase.DNS)
    for size in sorted(sizes):
        whole = _measured(area, size)
        for at, provider in enumerate(times.providers):
            who = np.flatnonzero(times.site[at] >= 0)
            if not who.size:
                continue
            tls = model.tls and ((provider, Phase.TLS) in seen or (provider, Phase.CONNECT) not in seen)
            own, site = replace(model, tls=tls), times.site[at][who]
            dns = lookups[who, site]
            has_dns = not np.isnan(dns).any()
            modelled = np.array([
                page_s(size, float(rtt), own, float(lookup) if has_dns else None)
                for rtt, lookup in zip(times.time_s[at][who], dns, strict=True)
            ])  # fmt: skip
            figure, some = _figure(area, provider, size, who, modelled, whole[who, site])
            figures.append(replace(figure, has_dns=has_dns, has_tls=tls))
            drawn += some
    return tuple(figures), tuple(drawn)


def _figure(
    area: WideArea, provider: str, size: int, who: "NDArray[np.int64]", modelled: Floats, measured: Floats
) -> tuple[PageFigure, list[ReachCurve]]:
    weight, code = weights_of(area)[who], cluster_codes(area)[who]
    there = ~np.isnan(measured)
    drawn = [curve(provider, "modelled", modelled, weight, code, size)]
    middle, off = None, None
    if there.any():
        drawn.append(curve(provider, "measured", measured[there], weight[there], code[there], size))
        (middle,) = quantiles(measured[there], weight[there], code[there], (0.5,))
        off = float(np.median(measured[there] / modelled[there]))
    (expected,) = quantiles(modelled, weight, code, (0.5,))
    return PageFigure(provider, size, len(who), expected, middle, int(there.sum()), off), drawn


def _measured(area: WideArea, size: int) -> Floats:
    """Whole pages of a size, or the sums of all their phases, shape (vantages, sites); not a number where unknown."""
    whole, tls = area.matrix(Phase.PAGE, size), area.matrix(Phase.TLS)
    total = area.matrix(Phase.DNS) + area.matrix(Phase.CONNECT) + (0.0 if np.isnan(tls).all() else tls)
    total += area.matrix(Phase.FIRST_BYTE, size) + area.matrix(Phase.TRANSFER, size)
    return np.where(np.isnan(whole), total, whole)
