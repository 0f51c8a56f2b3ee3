"""The best site of each provider for each vantage point, how these times are distributed, and where a site is missing.

Source: Li et al., "CloudCmp: Comparing Public Cloud Providers", IMC 2010, sections 3.3.4 and 5.4: the optimal wide-area
latency is the lowest one between a vantage point and any data centre of the provider.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from cloudcmp.analysis.wide_area.vantage_clusters import cluster_codes
from cloudcmp.catalog.places import PLACES, distance_km, place_of
from cloudcmp.model.reach import BestTimes, MissingRegion, Quantile, ReachCurve, Reached, Share
from cloudcmp.model.result import Bounds
from cloudcmp.model.wide_area import Continent, Phase, Position, WideArea
from cloudcmp.stats import clusters

if TYPE_CHECKING:
    from numpy.typing import NDArray

SHOWN = (0.5, 0.9)
"""The quantiles that are told."""
SEED = 1
SAME_CITY_KM = 100.0
"""Regions within this distance are in one place: each is stated by its city or the middle of its area."""
_POINTS = 200
"""The most points of a curve."""


def best_times(area: WideArea) -> BestTimes:
    """Return the lowest round-trip time of each provider from each vantage point, and where it was seen.

    A provider is not judged from inside its own network.
    """
    providers = tuple(dict.fromkeys(one.provider for one in area.sites))
    times = area.matrix(Phase.RTT)
    own = np.array([[vantage.network == one for vantage in area.vantages] for one in providers], dtype=np.bool_)
    best, site = np.full(own.shape, np.nan), np.full(own.shape, -1, dtype=np.int64)
    for at, provider in enumerate(providers):
        columns = np.array([number for number, one in enumerate(area.sites) if one.provider == provider])
        theirs = np.where(own[at][:, None], np.nan, times[:, columns])
        known = ~np.isnan(theirs).all(axis=1)
        nearest = np.nanargmin(theirs[known], axis=1)
        best[at, known] = theirs[known, nearest]
        site[at, known] = columns[nearest]
    return BestTimes(providers, best, site, own)


def asked(area: WideArea, times: BestTimes) -> "NDArray[np.bool_]":
    """Whether a site of each provider was asked from each vantage point, shape (providers, vantages)."""
    found = np.zeros(times.own.shape, dtype=np.bool_)
    number = {provider: at for at, provider in enumerate(times.providers)}
    for path in area.paths:
        if path.phase is Phase.RTT:
            found[number[area.sites[path.site].provider], path.vantage] = True
    return found & ~times.own


def weights_of(area: WideArea) -> "NDArray[np.float64]":
    """The weight of each vantage point."""
    return np.array([one.weight for one in area.vantages], dtype=np.float64)


def reached(area: WideArea, times: BestTimes, limit_s: float) -> tuple[Reached, ...]:
    """Return how each provider reaches all vantage points, then those of each continent that has some."""
    parts: list[Continent | None] = [
        None,
        *(one for one in Continent if any(v.continent is one for v in area.vantages)),
    ]
    weight, code, tried = weights_of(area), cluster_codes(area), asked(area, times)
    found = []
    for part in parts:
        inside = np.array([part is None or one.continent is part for one in area.vantages])
        for at, provider in enumerate(times.providers):
            among = inside & tried[at]
            if among.any():
                found.append(_reached(provider, part, times.time_s[at][among], weight[among], code[among], limit_s))
    return tuple(found)


def _reached(
    provider: str, part: Continent | None, time_s: "NDArray[np.float64]", weight: "NDArray[np.float64]",
    code: "NDArray[np.int64]", limit_s: float,
) -> Reached:  # fmt: skip
    known = ~np.isnan(time_s)
    values = np.where(known, time_s, np.inf)
    over = (values > limit_s).astype(np.float64)
    share, low, high = clusters.share_bounds(over, weight, code, [0.0])
    within = Share(float(share[0]), _bounds(low[0], high[0]))
    some = quantiles(time_s[known], weight[known], code[known]) if known.any() else ()
    return Reached(provider, part, int(known.sum()), len(values), len(set(code[known].tolist())), some, within)


def quantiles(
    values: "NDArray[np.float64]", weight: "NDArray[np.float64]", code: "NDArray[np.int64]",
    shown: Iterable[float] = SHOWN,
) -> tuple[Quantile, ...]:  # fmt: skip
    """Weighted quantiles with intervals that draw whole clusters."""
    return tuple(
        Quantile(p, clusters.weighted_quantile(values, weight, p), _interval(values, weight, code, p)) for p in shown
    )


def _interval(
    values: "NDArray[np.float64]", weight: "NDArray[np.float64]", code: "NDArray[np.int64]", p: float
) -> Bounds | None:
    found = clusters.quantile_interval(values, weight, code, p, seed=SEED)
    return None if found is None else Bounds(found.low, found.high)


def _bounds(low: float, high: float) -> Bounds | None:
    return None if np.isnan(low) else Bounds(float(low), float(high))


def curve(
    provider: str, kind: str, values: "NDArray[np.float64]", weight: "NDArray[np.float64]",
    code: "NDArray[np.int64]", size_bytes: int | None = None,
) -> ReachCurve:  # fmt: skip
    """The cumulative distribution of times with its band, at up to 200 of them; at least one value, no NaN."""
    x = np.unique(values)
    if x.size > _POINTS:
        x = x[np.linspace(0, x.size - 1, _POINTS).round().astype(np.int64)]
    share, low, high = clusters.share_bounds(values, weight, code, x)
    has_band = not np.isnan(low).any()
    return ReachCurve(
        provider, kind, tuple(x.tolist()), tuple(share.tolist()), tuple(low.tolist()) if has_band else None,
        tuple(high.tolist()) if has_band else None, len(values), size_bytes,
    )  # fmt: skip


def curves(area: WideArea, times: BestTimes) -> tuple[ReachCurve, ...]:
    """The distribution of the lowest times of each provider, as figure 12 of CloudCmp."""
    weight, code = weights_of(area), cluster_codes(area)
    known = ~np.isnan(times.time_s)
    return tuple(
        curve(provider, "optimal", times.time_s[at][known[at]], weight[known[at]], code[known[at]])
        for at, provider in enumerate(times.providers) if known[at].any()
    )  # fmt: skip


def missing(area: WideArea, times: BestTimes, limit_s: float) -> tuple[MissingRegion, ...]:
    """Return where each provider is above the limit by continent, and the site of another provider that helps most.

    With it comes the provider's own region in that place, if it is known to have one: then it does not lack a region.

    A site helps a vantage point that gets a reply from it within the limit; one inside the site's network does not
    count. Those with most vantage points above the limit come first.
    """
    found: list[MissingRegion] = []
    tried = asked(area, times)
    for at, provider in enumerate(times.providers):
        over = tried[at] & ~(times.time_s[at] <= limit_s)
        for part in dict.fromkeys(one.continent for one, is_over in zip(area.vantages, over, strict=True) if is_over):
            inside = np.array([one.continent is part for one in area.vantages])
            found.append(_missing(area, provider, part, over & inside, int((tried[at] & inside).sum()), limit_s))
    return tuple(sorted(found, key=lambda one: (times.providers.index(one.provider), -one.over)))


def _missing(
    area: WideArea, provider: str, part: Continent | None, over: "NDArray[np.bool_]", n: int, limit_s: float
) -> MissingRegion:
    some = np.flatnonzero(over)
    site, helps = _helpful(area, provider, some, limit_s)
    countries = sorted({area.vantages[at].country for at in some} - {""})
    own, is_measured = _own_site(area, provider, area.sites[site].at) if helps else ("", False)
    return MissingRegion(
        provider, part, len(some), n, tuple(countries), tuple(area.vantages[at].name for at in some),
        str(area.sites[site]) if helps else "", _place_words(area, site) if helps else "", helps, own, is_measured,
    )  # fmt: skip


def _own_site(area: WideArea, provider: str, at: Position | None) -> tuple[str, bool]:
    """A region of a provider in a place, and whether the area has it; empty if none is known to be there."""
    if at is None:
        return "", False
    measured = {str(one): one.at for one in area.sites if one.provider == provider and one.at is not None}
    listed = {f"{who}/{region}": one.at for (who, region), one in PLACES.items() if who == provider}
    for places in (measured, listed):
        near = min(places, key=lambda name: distance_km(places[name], at), default="")
        if near and distance_km(places[near], at) <= SAME_CITY_KM:
            return near, places is measured
    return "", False


def _helpful(area: WideArea, provider: str, some: "NDArray[np.int64]", limit_s: float) -> tuple[int, int]:
    """The site of another provider that brings most of some vantage points under the limit, and how many."""
    times, weight = area.matrix(Phase.RTT), weights_of(area)
    best = (-1.0, -1, 0)
    for number, site in enumerate(area.sites):
        if site.provider == provider:
            continue
        near = [at for at in some if area.vantages[at].network != site.provider and times[at, number] <= limit_s]
        gain = float(weight[near].sum())
        if near and gain > best[0]:
            best = (gain, number, len(near))
    return best[1], best[2]


def _place_words(area: WideArea, number: int) -> str:
    site = area.sites[number]
    place = place_of(site.provider, site.region)
    return ", ".join(_words(place.name if place else "", site.country))


def _words(*texts: str) -> Iterator[str]:
    return (text for text in texts if text)
