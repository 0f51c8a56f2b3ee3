"""Clusters of vantage points: those that may share their way to the providers, and so do not tell independently."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from cloudcmp.model.wide_area import Position, VantagePoint, WideArea

if TYPE_CHECKING:
    from numpy.typing import NDArray

SAME_PLACE_KM = 50.0
"""Vantage points of unknown network that are so near to each other may well be in one network."""
_EARTH_KM = 6371.0


def cluster_codes(area: WideArea) -> "NDArray[np.int64]":
    """The number of each vantage point's cluster.

    One cluster are those of a network in a country; of unknown network, those within 50 km of the first of them; of
    unknown position too, those of a country. A vantage point of which none of these is known is one by itself, which is
    too sure if it shares its way with others.
    """
    firsts = _first_of_place([None if one.network else one.at for one in area.vantages])
    keys = [_key(one, area.vantages[first].name) for one, first in zip(area.vantages, firsts, strict=True)]
    number = {key: at for at, key in enumerate(dict.fromkeys(keys))}
    return np.array([number[key] for key in keys], dtype=np.int64)


def _key(one: VantagePoint, first: str) -> tuple[str, str, str]:
    if one.network:
        return "network", one.network, one.country
    return ("country", one.country, "") if one.at is None and one.country else ("place", first, "")


def without_network(area: WideArea) -> tuple[int, int, int]:
    """How many vantage points of unknown network have a place, how many clusters these are, and how many have none.

    A country is a place too.
    """
    unknown = np.array([not one.network for one in area.vantages], dtype=np.bool_)
    placed = unknown & np.array([one.at is not None or bool(one.country) for one in area.vantages], dtype=np.bool_)
    return int(placed.sum()), len(set(cluster_codes(area)[placed].tolist())), int((unknown & ~placed).sum())


def _first_of_place(places: Sequence[Position | None]) -> list[int]:
    """For each place the number of the first one within 50 km of it, which may be its own; its own if it is unknown."""
    points = np.radians(np.array([(math.nan, math.nan) if one is None else one for one in places]).reshape(-1, 2))
    lat, lon = points[:, 0], points[:, 1]
    spots = np.column_stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)])
    most = 2 * math.sin(SAME_PLACE_KM / _EARTH_KM / 2)
    firsts = np.empty((len(places), 3))
    numbers: list[int] = []
    found = []
    for at, spot in enumerate(spots):
        near = np.flatnonzero(np.linalg.norm(firsts[: len(numbers)] - spot, axis=1) <= most)
        if near.size:
            found.append(numbers[int(near[0])])
            continue
        found.append(at)
        if not math.isnan(spot[0]):
            firsts[len(numbers)] = spot
            numbers.append(at)
    return found
