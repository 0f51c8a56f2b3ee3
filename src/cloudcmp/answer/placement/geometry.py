"""Distances on the globe for many places at once, and the time that light needs for them."""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from cloudcmp.stats.check import Floats

_EARTH_KM = 6371.0
FIBRE_S_PER_KM = 1e-5
"""Round trip of light in fibre: two ways at 200,000 km/s (refractive index 1.5). No path can be faster."""


def distances_km(one: "Floats", other: "Floats") -> "Floats":
    """Great-circle distances (km) of places in degrees, shape (one, other); as `catalog.places.distance_km`."""
    a, b = np.radians(one), np.radians(other)
    lat = (a[:, None, 0] - b[None, :, 0]) / 2
    lon = (a[:, None, 1] - b[None, :, 1]) / 2
    half = np.sin(lat) ** 2 + np.cos(a[:, None, 0]) * np.cos(b[None, :, 0]) * np.sin(lon) ** 2
    return np.asarray(2 * _EARTH_KM * np.arcsin(np.minimum(1.0, np.sqrt(half))))
