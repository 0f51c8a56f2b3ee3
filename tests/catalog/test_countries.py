"""Continents of countries, and the areas that data may be bound to."""

import csv
import os
from pathlib import Path

import pytest

from cloudcmp.catalog.countries import EUROPEAN_UNION, area_of, continent_of, known_areas
from cloudcmp.catalog.places import PLACES
from cloudcmp.model.wide_area import Continent

DATA = os.environ.get("CLOUDCMP_DATA")


@pytest.mark.skipif(DATA is None, reason="$CLOUDCMP_DATA is not set: no table of countries")
def test_continents_are_those_of_geonames() -> None:
    with (Path(DATA or "") / "geonames_cities" / "countries.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) > 240
    for row in rows:
        if row["continent"] != "AN" and row["iso2"] not in {"CS"}:  # Serbia and Montenegro is no country any more
            assert continent_of(row["iso2"]) == Continent(row["continent"]), row["name"]


def test_every_region_is_in_a_country_with_a_continent() -> None:
    assert all(continent_of(place.country) for place in PLACES.values())


def test_the_union_is_not_the_continent_and_namibia_is_not_north_america() -> None:
    assert area_of("EU") == ("the European Union", EUROPEAN_UNION)
    assert len(EUROPEAN_UNION) == 27
    continent = area_of("Europe")
    assert continent is not None
    assert {"GB", "CH", "NO"} <= continent[1] - EUROPEAN_UNION
    assert area_of("NA") == ("NA", frozenset({"NA"}))
    america = area_of("north america")
    assert america is not None
    assert america == area_of("north-america")
    assert "US" in america[1]
    assert area_of("atlantis") is None
    assert all(area_of(name) for name in known_areas())
