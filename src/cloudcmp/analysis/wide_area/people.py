"""Reads people and where they are from a CSV file: cities, user bases, or countries."""

import csv
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from cloudcmp.catalog.cities import country_of, position_of
from cloudcmp.catalog.countries import continent_of
from cloudcmp.errors import UserMistake
from cloudcmp.model.placement import People, Population
from cloudcmp.model.untrusted_text import one_line
from cloudcmp.model.wide_area import Continent, Position

_NAMES = ("name", "base", "city", "vantage")
_COUNTS = ("people", "users", "population", "weight")
_COUNTRIES = ("country", "iso2")
_EXAMPLE = "name,country,lat,lon,people"
_SHOWN = 3


def read_people(
    path: Path, *, vantages: Mapping[str, str] | None = None, cities: Population | None = None, most: int | None = None
) -> Population:
    """Read a population: columns `name`, `people`, and `lat` and `lon`, or `country`, or a known name.

    `users`, `population` and `weight` are other names of `people`; `iso2` of `country`; `base`, `city` and `vantage` of
    `name`. A row without position that has the name of one of the `vantages`, given with their countries, is that
    place; else it is at the city of its name, else its people are spread over the `cities` of its country as those
    cities' people are. A place of that name in another country is not it. `most` keeps the places with the most people.
    Rows without people are left out, and named; so are rows of one place, and columns that could be people too.

    Raises UserMistake for an unreadable file, for people below zero, and for a row whose place is unknown.
    """
    where = str(path)
    reader = _Reader(where, vantages or {}, cities)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            groups = [one for row in reader.rows(csv.DictReader(file)) for one in row]
    except OSError as error:
        raise UserMistake.at(where, (error.strerror or str(error)).lower(), "name a CSV file") from None
    except (UnicodeDecodeError, csv.Error):
        raise UserMistake.at(where, "is no CSV text in UTF-8", f"begin with {_EXAMPLE!r}") from None
    if not groups:
        raise UserMistake.at(where, "nobody is in it", f"write {_EXAMPLE!r} and one row for each place")
    notes = [f"{path.name}: {note}" for note in reader.notes()]
    groups.sort(key=lambda one: -one.count)
    if most is not None and most < len(groups):
        whole = sum(one.count for one in groups)
        groups = groups[:most]
        share = sum(one.count for one in groups) / whole
        notes.append(f"{path.name}: only the {most:,} largest places, with {share * 100:.1f} % of the people")
    return Population(tuple(groups), where, tuple(notes))


class _Reader:
    """Turns the rows of a table into groups of people."""

    def __init__(self, where: str, vantages: Mapping[str, str], cities: Population | None) -> None:
        self._empty: list[str] = []
        self._counted, self._unused = "", list[str]()
        self._rows = Counter[tuple[str, ...]]()
        self._where, self._vantages = where, {name.casefold(): country for name, country in vantages.items()}
        self._cities: dict[str, list[People]] = {}
        for one in cities.groups if cities else ():
            self._cities.setdefault(one.country, []).append(one)

    def rows(self, rows: "csv.DictReader[str]") -> Iterator[list[People]]:
        """The groups of each row that has people."""
        heads = {one.strip().lower(): one for one in rows.fieldnames or () if one}
        counts = [heads[one] for one in _COUNTS if one in heads]
        count = next(iter(counts), None)
        name = next((heads[one] for one in (*_NAMES, *_COUNTRIES) if one in heads), None)
        if count is None or name is None:
            missing = "people" if count is None else "name"
            raise UserMistake.at(f"{self._where}:1", f"no column {missing!r}", f"begin with {_EXAMPLE!r}")
        self._counted, *self._unused = counts
        for row in rows:
            place = f"{self._where}:{rows.line_num}"
            called = one_line((row[name] or "").strip(), 60)
            many = _count(place, row[count])
            if many == 0:
                self._empty.append(called)
            else:
                self._count_row(called, _reader(heads, row))
                yield self._groups(place, called, many, _reader(heads, row))

    def _count_row(self, called: str, of: Callable[[str], str]) -> None:
        country = next(filter(None, map(of, _COUNTRIES)), "").upper()
        self._rows[called, country, of("lat"), of("lon")] += 1

    def notes(self) -> Iterator[str]:
        """What a reader must know of the rows and columns of the table."""
        if self._unused:
            yield f"people are counted by {self._counted!r}, and {' and '.join(map(repr, self._unused))} is not used"
        twice = [key[0] for key, many in self._rows.items() if many > 1]
        if twice:
            yield f"several rows have the place {_listed(twice)}: their people are added"
        if self._empty:
            yield f"no people in {_listed(self._empty)}: left out"

    def _groups(self, place: str, called: str, many: float, of: Callable[[str], str]) -> list[People]:
        country = _country(place, of)
        continent = _continent(place, country, of)
        if of("lat") or of("lon"):
            return [People(called, many, _degrees(place, of("lat"), of("lon")), country, continent)]
        if self._vantages.get(called.casefold(), "none") in {"", country} or (
            not country and called.casefold() in self._vantages
        ):
            return [People(called, many, None, country, continent)]
        if (at := position_of(called, country)) is not None:
            return [People(called, many, at, country, continent)]
        cities = self._cities.get(country, [])
        named = [one for one in cities if one.name.casefold() == called.casefold()]
        if named:
            return [replace(max(named, key=lambda one: one.count), count=many)]
        whole = sum(one.count for one in cities)
        if cities:
            return [replace(one, count=many * one.count / whole) for one in cities]
        elsewhere = country_of(called) if country else ""
        known = f"the known one is in {elsewhere}" if elsewhere else "is no vantage point and no known city"
        what = f"{called!r} has no position, and {known}"
        of_country = f", or give --cities with cities of {country}" if country else ""
        raise UserMistake.at(place, what, f"write its lat and lon{of_country}")


def _reader(heads: Mapping[str, str], row: Mapping[str, str | None]) -> Callable[[str], str]:
    return lambda column: (row.get(heads.get(column, "")) or "").strip()


def _count(place: str, text: str | None) -> float:
    shown = one_line(text or "", 40).strip()
    try:
        value = float(shown)
    except ValueError:
        raise UserMistake.at(place, f"{shown!r} is no number of people", "write e.g. 250000") from None
    if not math.isfinite(value) or value < 0:
        raise UserMistake.at(place, f"{shown} people", "write a number above zero, or leave the row out")
    return value


def _degrees(place: str, lat: str, lon: str) -> Position:
    try:
        at = float(lat), float(lon)
    except ValueError:
        at = math.nan, math.nan
    if not (abs(at[0]) <= 90 and abs(at[1]) <= 180):
        shown = one_line(f"{lat},{lon}", 40)
        raise UserMistake.at(place, f"{shown!r} is no latitude and longitude", "write degrees, such as 59.3 and 18.1")
    return at


def _country(place: str, of: Callable[[str], str]) -> str:
    code = next(filter(None, map(of, _COUNTRIES)), "").upper()
    if code and (len(code) != 2 or not code.isalpha()):
        raise UserMistake.at(place, f"{one_line(code, 40)!r} is no country", "write a code of ISO 3166, such as DE")
    return code


def _continent(place: str, country: str, of: Callable[[str], str]) -> Continent | None:
    text = of("continent").upper()
    if not text or text == "AN":  # Antarctica
        return continent_of(country)
    try:
        return Continent(text)
    except ValueError:
        known = ", ".join(Continent)
        raise UserMistake.at(place, f"{one_line(text, 40)!r} is no continent", f"write one of {known}") from None


def _listed(names: list[str]) -> str:
    shown: Iterator[str] = iter(names[:_SHOWN])
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{', '.join(shown)}{more}"
