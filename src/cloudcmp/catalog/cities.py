"""The positions of cities that people name: those of the time-zone database, about 420 all over the world.

Source: `zone.tab` of the IANA time-zone database (public domain), in the package `tzdata`.
"""

import math
import re
import unicodedata
from functools import cache
from importlib import resources

from cloudcmp.catalog.places import PLACES

_ISO_6709 = re.compile(r"([+-])(\d{2})(\d{2})(\d{2})?([+-])(\d{3})(\d{2})(\d{2})?")
_POSITION = re.compile(r"\s*([+-]?\d{1,2}(?:\.\d+)?)\s*,\s*([+-]?\d{1,3}(?:\.\d+)?)\s*")


def position_of(place: str, country: str = "") -> tuple[float, float] | None:
    """The latitude and longitude (degrees) of a city, of a region's place, or of `59.3,18.1`; None if unknown.

    Case, accents and the characters between words do not count. With a `country` (ISO 3166), only places in it are
    known: London in Canada is not that in the United Kingdom.
    """
    if found := _POSITION.fullmatch(place):
        lat, lon = float(found[1]), float(found[2])
        return (lat, lon) if abs(lat) <= 90 and abs(lon) <= 180 else None
    key = _key(place)
    return _positions_by_country().get((key, country.upper())) if country else _positions().get(key)


def country_of(place: str) -> str:
    """The country (ISO 3166) of a city or of a region's place; empty if unknown, as that of a position is."""
    return _countries().get(_key(place), "")


def nearest_country(at: tuple[float, float]) -> str:
    """The country of the nearest known city: good for the continent of a position, not for its country."""
    x, y, z = _on_sphere(at)
    return max(_spots(), key=lambda spot: x * spot[0] + y * spot[1] + z * spot[2])[3]


def known_cities() -> tuple[str, ...]:
    """The names that `position_of` knows, as it looks them up."""
    return tuple(_positions())


@cache
def _positions() -> dict[str, tuple[float, float]]:
    known = {_key(place.name): place.at for place in PLACES.values()}
    for _, name, coordinates in _cities():
        known.setdefault(name, _parsed(coordinates))
    return known


@cache
def _positions_by_country() -> dict[tuple[str, str], tuple[float, float]]:
    known = {(_key(place.name), place.country): place.at for place in PLACES.values()}
    for country, name, coordinates in _cities():
        known.setdefault((name, country), _parsed(coordinates))
    return known


@cache
def _countries() -> dict[str, str]:
    known = {_key(place.name): place.country for place in PLACES.values()}
    for country, name, _ in _cities():
        known.setdefault(name, country)
    return known


@cache
def _spots() -> list[tuple[float, float, float, str]]:
    """Each known city on a sphere of radius 1, with its country."""
    positions = _positions()
    return [(*_on_sphere(positions[name]), country) for name, country in _countries().items() if country != "AQ"]


def _on_sphere(at: tuple[float, float]) -> tuple[float, float, float]:
    lat, lon = math.radians(at[0]), math.radians(at[1])
    return math.cos(lat) * math.cos(lon), math.cos(lat) * math.sin(lon), math.sin(lat)


def _cities() -> list[tuple[str, str, str]]:
    """The country, the name as it is looked up, and the position of each city of the time zones."""
    text = resources.files("tzdata").joinpath("zoneinfo/zone.tab").read_text("utf-8")
    rows = (line.split("\t") for line in text.splitlines() if not line.startswith("#"))
    return [(country, _key(zone.rpartition("/")[2]), coordinates) for country, coordinates, zone, *_ in rows]


def _parsed(coordinates: str) -> tuple[float, float]:
    """Degrees of a position such as `+5920+01803` or `-345531+1383527` (ISO 6709: degrees, minutes, seconds)."""
    found = _ISO_6709.fullmatch(coordinates)
    if found is None:
        raise ValueError(f"{coordinates!r} is no position of ISO 6709")
    parts = [int(one or 0) for one in found.group(2, 3, 4, 6, 7, 8)]
    lat, lon = (sum(one / 60**at for at, one in enumerate(some)) for some in (parts[:3], parts[3:]))
    return lat if found[1] == "+" else -lat, lon if found[5] == "+" else -lon


def _key(name: str) -> str:
    plain = unicodedata.normalize("NFKD", name.casefold()).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")
