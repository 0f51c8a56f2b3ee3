"""How far the addresses that a provider's name servers give are from the best ones, and which addresses are anycast.

Source: Li et al., "CloudCmp", IMC 2010, section 5.4 and figure 12, where one provider maps its users by itself.
"""

from typing import TYPE_CHECKING

import numpy as np

from cloudcmp.analysis.wide_area.best import curve, quantiles, weights_of
from cloudcmp.analysis.wide_area.light import least_places
from cloudcmp.analysis.wide_area.vantage_clusters import cluster_codes
from cloudcmp.model.reach import NameMapping, ReachCurve, Share
from cloudcmp.model.result import Bounds
from cloudcmp.model.wide_area import NameAnswers, WideArea
from cloudcmp.stats.check import Floats
from cloudcmp.stats.clusters import share_bounds

if TYPE_CHECKING:
    from numpy.typing import NDArray

NEAR_SHARE, NEAR_S = 0.1, 1e-3
"""An address is as good as the best one within a tenth, or a millisecond, of its time."""


def mappings(area: WideArea) -> tuple[tuple[NameMapping, ...], tuple[ReachCurve, ...]]:
    """Return how well each name is mapped, and the distributions of the given and of the best times."""
    found, drawn = [], []
    for name in area.names:
        times = _times(area, name)
        given = _given(area, name, times)
        best = np.where(np.isnan(times), np.inf, times).min(axis=1, initial=np.inf)
        known = ~np.isnan(given)
        found.append(_mapping(area, name, times, given, best, known))
        if known.any():
            weight, code = weights_of(area)[known], cluster_codes(area)[known]
            drawn += [
                curve(name.provider, "given", given[known], weight, code),
                curve(name.provider, "optimal", best[known], weight, code),
            ]
    return tuple(found), tuple(drawn)


def _times(area: WideArea, name: NameAnswers) -> Floats:
    """The round-trip time from each vantage point to each address, not a number where nothing came back."""
    times = np.full((len(area.vantages), len(name.addresses)), np.nan)
    for one in name.times:
        if one.median_s is not None:
            times[one.vantage, one.address] = one.median_s
    return times


def _given(area: WideArea, name: NameAnswers, times: Floats) -> Floats:
    """The time to the address that each vantage point was given: the median of several, of which clients use any."""
    given = np.full(len(area.vantages), np.nan)
    for vantage in dict.fromkeys(vantage for vantage, _ in name.answers):
        own = np.array([times[vantage, address] for who, address in name.answers if who == vantage])
        if not np.isnan(own).all():
            given[vantage] = np.nanmedian(own)
    return given


def _mapping(
    area: WideArea,
    name: NameAnswers,
    times: Floats,
    given: Floats,
    best: Floats,
    known: "NDArray[np.bool_]",
) -> NameMapping:
    excess = (given - best)[known]
    share = None
    if known.any():
        late = (excess > np.maximum(NEAR_SHARE * best[known], NEAR_S)).astype(np.float64)
        value, low, high = share_bounds(late, weights_of(area)[known], cluster_codes(area)[known], [0.0])
        share = Share(float(value[0]), None if np.isnan(low[0]) else Bounds(float(low[0]), float(high[0])))
    places = [_places(area, times[:, address]) for address in range(len(name.addresses))]
    return NameMapping(
        name.provider, name.name, len(name.addresses), int(known.sum()), share,
        quantiles(excess, weights_of(area)[known], cluster_codes(area)[known]) if known.any() else (),
        tuple((one, count) for one, count in zip(name.addresses, places, strict=True) if count > 1),
    )  # fmt: skip


def _places(area: WideArea, times: Floats) -> int:
    seen = [(one.at, float(time)) for one, time in zip(area.vantages, times, strict=True) if not np.isnan(time)]
    return least_places([at for at, _ in seen], [time for _, time in seen])
