"""Small worlds with planted times: sites and vantage points on a grid, people between them."""

from collections.abc import Callable

import numpy as np

from cloudcmp.answer.placement.geometry import distances_km
from cloudcmp.model.placement import People
from cloudcmp.model.wide_area import PathTime, Phase, Site, VantagePoint, WideArea
from cloudcmp.stats.check import Floats

INTERCEPT_S, S_PER_KM = 0.004, 1.6e-5
SITES = (
    Site("a", "north", (55.0, 10.0), "DK"),
    Site("a", "south", (40.0, -4.0), "ES"),
    Site("a", "west", (40.0, -75.0), "US"),
    Site("b", "east", (35.0, 140.0), "JP"),
    Site("b", "middle", (50.0, 8.0), "DE"),
    Site("b", "far", (-34.0, 151.0), "AU"),
)
VANTAGES = (
    (52.0, 5.0), (41.0, 2.0), (59.0, 18.0), (42.0, -71.0), (37.0, -122.0), (34.0, 135.0), (1.0, 104.0), (-33.0, 151.0),
    (19.0, 73.0), (-23.0, -46.0),
)  # fmt: skip


def line(distance: Floats) -> Floats:
    """Times (s) of distances (km) in the planted world."""
    return INTERCEPT_S + S_PER_KM * distance


def world(noise: float = 0.0, seed: int = 1, keep: Callable[[int, int], bool] = lambda *_: True) -> WideArea:
    """All times between vantage points and sites, on a line of distance times lognormal noise."""
    times = line(distances_km(np.array(VANTAGES), np.array([one.at for one in SITES])))
    times *= np.random.default_rng(seed).lognormal(0, noise, times.shape)
    vantages = tuple(VantagePoint(f"v{at}", place) for at, place in enumerate(VANTAGES))
    paths = tuple(PathTime(v, s, Phase.RTT, float(times[v, s]), 5, 5) for v in range(len(VANTAGES))
                  for s in range(len(SITES)) if keep(v, s))  # fmt: skip
    return WideArea(vantages, SITES, paths, "planted")


def crowd(many: int = 40, seed: int = 2) -> tuple[People, ...]:
    """People in places near the vantage points."""
    random = np.random.default_rng(seed)
    found = []
    for at in range(many):
        lat, lon = VANTAGES[at % len(VANTAGES)]
        place = (float(lat + random.normal(0, 3)), float(lon + random.normal(0, 3)))
        found.append(People(f"p{at}", float(random.lognormal(10, 1)), place, "DE" if at % 5 == 0 else "US"))
    return tuple(found)
