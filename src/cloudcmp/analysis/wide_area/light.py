"""Round trips that cannot be: shorter than light in fibre needs between the stated places."""

from collections.abc import Sequence
from dataclasses import replace

from cloudcmp.catalog.places import distance_km
from cloudcmp.model.reach import ImpossibleTime
from cloudcmp.model.wide_area import PathTime, Phase, Position, WideArea
from cloudcmp.units import are, counted

FIBRE_KM_PER_S = 299_792.458 * 2 / 3
"""The speed of light in glass of refractive index 1.5."""
SLACK_KM = 100.0
"""How far each end may be from where it is stated: a region is stated by its city or the middle of its area."""


def light_s(a: Position, b: Position, slack_km: float = SLACK_KM) -> float:
    """The least time (s) of a round trip between two places by fibre along the great circle, less the slack of both."""
    return 2 * max(0.0, distance_km(a, b) - 2 * slack_km) / FIBRE_KM_PER_S


def without_impossible(area: WideArea) -> tuple[WideArea, tuple[ImpossibleTime, ...]]:
    """Return an area without the round trips that cannot be, and those, the most impossible first.

    A path is left out whole if its median or its shortest time is below `light_s`: then some of its packets did not go
    there, and nobody knows which. Paths of unknown places stay. It does not find a time that is wrong and still
    possible.
    """
    kept: list[PathTime] = []
    found: list[ImpossibleTime] = []
    for path in area.paths:
        least = least_s(area, path)
        seen = [one for one in (path.median_s, path.least_s) if one is not None]
        if path.phase is Phase.RTT and seen and min(seen) < least:
            vantage, site = area.vantages[path.vantage], area.sites[path.site]
            found.append(ImpossibleTime(vantage.name, str(site), min(seen), least))
        else:
            kept.append(path)
    found.sort(key=lambda one: one.measured_s / one.light_s)
    return replace(area, paths=tuple(kept)), tuple(found)


def impossible_words(impossible: Sequence[ImpossibleTime]) -> tuple[str, ...]:
    """A note on round trips that were left out; none if all can be."""
    n = len(impossible)
    trips, them = f"{counted(n, 'round trip')} {are(n)}", "it" if n == 1 else "them"
    return (f"{trips} left out: light in fibre could not do {them}; 'cloudcmp wan' lists {them}",) if n else ()


def least_s(area: WideArea, path: PathTime) -> float:
    """The least round-trip time of a path; 0 if a place is unknown."""
    a, b = area.vantages[path.vantage].at, area.sites[path.site].at
    return 0.0 if a is None or b is None else light_s(a, b)


def least_places(places: Sequence[Position | None], times_s: Sequence[float]) -> int:
    """The least number of places in which an address must be that answers these places in these round-trip times.

    Each time puts the address in a circle around its place; circles that do not touch need a place each. Circles are
    taken from the smallest on, which finds most of them, not always all.
    Source: Cicalese et al., "A fistful of pings: accurate and lightweight anycast enumeration and geolocation", INFOCOM
    2015, section III.
    """
    circles = sorted(
        (time * FIBRE_KM_PER_S / 2 + SLACK_KM, at) for at, time in zip(places, times_s, strict=True) if at is not None
    )
    chosen: list[tuple[float, Position]] = []
    for radius, at in circles:
        if all(distance_km(at, other) > radius + more for more, other in chosen):
            chosen.append((radius, at))
    return len(chosen)
