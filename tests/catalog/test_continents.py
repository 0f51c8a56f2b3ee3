"""The continents of countries, with the list of GeoNames as a second witness."""

import csv
import os
from pathlib import Path

import pytest

from cloudcmp.catalog.cities import country_of, nearest_country
from cloudcmp.catalog.continents import NAMES, continent_of
from cloudcmp.model.wide_area import Continent

DATA = os.environ.get("CLOUDCMP_DATA")
needs_data = pytest.mark.skipif(not DATA, reason="CLOUDCMP_DATA names no folder of real measurements")


def test_a_country_has_a_continent_in_any_case_and_an_unknown_one_none() -> None:
    assert continent_of("de") is continent_of("DE") is Continent.EUROPE
    assert (continent_of(""), continent_of("ZZ"), continent_of("AQ")) == (None, None, None)
    assert set(NAMES) == set(Continent)


@needs_data
def test_continents_are_those_of_geonames() -> None:
    with (Path(str(DATA)) / "geonames_cities" / "countries.csv").open(encoding="utf-8") as file:
        rows = [(one["iso2"], one["continent"]) for one in csv.DictReader(file)]
    dissolved = {"AN", "CS"}
    differ = [code for code, continent in rows if code not in dissolved and (continent_of(code) or "AN") != continent]
    assert differ == []
    assert len(rows) > 240


@needs_data
def test_the_continent_of_a_position_is_that_of_the_nearest_city() -> None:
    with (Path(str(DATA)) / "geonames_cities" / "cities_100k.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))[::40]
    right = sum(
        continent_of(nearest_country((float(one["lat"]), float(one["lon"])))) is continent_of(one["country"])
        for one in rows
    )
    assert right / len(rows) > 0.95


def test_the_country_of_a_city_is_known() -> None:
    assert (country_of("stockholm"), country_of("Northern Virginia"), country_of("59.3,18.1")) == ("SE", "US", "")
