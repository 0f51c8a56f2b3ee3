"""Areas with planted times."""

from collections.abc import Mapping, Sequence

import numpy as np

from cloudcmp.catalog.places import distance_km
from cloudcmp.model.wide_area import PathTime, Phase, Position, Site, VantagePoint, WideArea


def area_of(
    times: Mapping[tuple[str, str, str], float | None], vantages: Mapping[str, VantagePoint] | None = None,
    sites: Mapping[str, Site] | None = None, phase: Phase = Phase.RTT,
) -> WideArea:  # fmt: skip
    """An area with times (s) by vantage, provider and region; places of vantages by name, of sites by region."""
    who = list(dict.fromkeys(vantage for vantage, _, _ in times))
    where = list(dict.fromkeys((provider, region) for _, provider, region in times))
    paths = tuple(
        PathTime(who.index(vantage), where.index((provider, region)), phase, time, int(time is not None), 1)
        for (vantage, provider, region), time in times.items()
    )
    return WideArea(
        tuple((vantages or {}).get(name, VantagePoint(name)) for name in who),
        tuple((sites or {}).get(region, Site(provider, region)) for provider, region in where),
        paths, "planted",
    )  # fmt: skip


def planted(
    providers: Mapping[str, float], count: int, seed: int, *, spread: float = 0.3, networks: int = 0
) -> WideArea:
    """An area in which each provider's times have a factor on a time that they share at each of `count` vantages."""
    random = np.random.default_rng(seed)
    times = {}
    base = np.exp(random.normal(np.log(0.03), 0.5, count))
    for provider, factor in providers.items():
        for at in range(count):
            times[f"v{at}", provider, "one"] = float(base[at] * factor * np.exp(random.normal(0, spread)))
    vantages = {
        f"v{at}": VantagePoint(f"v{at}", country="DE", network=f"AS{at % (networks or count)}") for at in range(count)
    }
    return area_of(times, vantages)


def light_s(a: Position, b: Position) -> float:
    """The round trip of light in fibre, straight."""
    return 2 * distance_km(a, b) / 199_861.639


def spots(seed: int, count: int) -> Sequence[Position]:
    """Random places on land and sea."""
    random = np.random.default_rng(seed)
    return [
        (float(lat), float(lon))
        for lat, lon in zip(random.uniform(-60, 70, count), random.uniform(-180, 180, count), strict=True)
    ]
