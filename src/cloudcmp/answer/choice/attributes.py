"""Facts of offerings that follow from their names and places: burstable, country, jurisdiction, distance."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import numpy as np

from cloudcmp.catalog.burst import is_burstable
from cloudcmp.catalog.countries import EUROPEAN_UNION
from cloudcmp.catalog.places import Place, distance_km, place_of
from cloudcmp.model.market import Market, Numbers, OfferKey, Texts

BURSTABLE, DISTANCE = "burstable", "distance_km"
NAMED = ("provider", "region", "offering")
"""The columns that repeat the key of an offering."""
_YES_NO = {True: "yes", False: "no", None: ""}


def with_attributes(market: Market, near: tuple[float, float] | None = None) -> Market:
    """Return the market with the columns provider, region, offering, burstable, country, jurisdiction and continent.

    With `near`, a latitude and longitude in degrees, also with the distance of each region. A column of the same name
    that a source has stays. `jurisdiction` is EU for its members, else the country; it is that of the place, not that
    of the company that runs it.
    """
    derived = {one.name: one for one in _derived(market, near)}
    return replace(market, columns={**derived, **market.columns})


def _derived(market: Market, near: tuple[float, float] | None) -> Iterator[Numbers | Texts]:
    for at, name in enumerate(NAMED):
        yield Texts(name, tuple(key[at] for key in market.keys))
    allocation = market.columns.get("cpu_allocation")
    said = allocation.value if isinstance(allocation, Texts) else ("",) * len(market.keys)
    asked = cache(is_burstable)
    known = (asked(key.provider, key.name, word) for key, word in zip(market.keys, said, strict=True))
    yield Texts(BURSTABLE, tuple(_YES_NO[one] for one in known))
    places = [_place(key) for key in market.keys]
    yield Texts("country", tuple(one.country if one else "" for one in places))
    yield Texts("jurisdiction", tuple(_jurisdiction(one) for one in places))
    yield Texts("continent", tuple(one.part if one else "" for one in places))
    if near is not None:
        away = cache(lambda at: distance_km(near, at))
        km = [away(one.at) if one else np.nan for one in places]
        yield Numbers(DISTANCE, np.array(km, np.float64), "km")


def _place(key: OfferKey) -> Place | None:
    return place_of(key.provider, key.region)


def _jurisdiction(place: Place | None) -> str:
    if place is None:
        return ""
    return "EU" if place.country in EUROPEAN_UNION else place.country
