"""The countries of cities and of positions, with the list of GeoNames as a second witness."""

import csv
import os
from pathlib import Path

import pytest

from cloudcmp.catalog.cities import country_of, nearest_country, position_of
from cloudcmp.catalog.countries import continent_of

DATA = os.environ.get("CLOUDCMP_DATA")
needs_data = pytest.mark.skipif(not DATA, reason="CLOUDCMP_DATA names no folder of real measurements")


@needs_data
def test_the_continent_of_a_position_is_that_of_the_nearest_city() -> None:
    with (Path(str(DATA)) / "geonames_cities" / "cities_100k.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))[::40]
    right = sum(
        continent_of(nearest_country((float(one["lat"]), float(one["lon"])))) is continent_of(one["country"])
        for one in rows
    )
    assert right / len(rows) > 0.95


def test_a_city_of_the_same_name_in_another_country_is_another_one() -> None:
    assert position_of("London", "GB") == position_of("London")
    assert position_of("London", "ca") is None
    assert position_of("Paris", "US") is None
    assert position_of("48.9,2.4", "US") == (48.9, 2.4)


def test_the_country_of_a_city_is_known() -> None:
    assert (country_of("stockholm"), country_of("Northern Virginia"), country_of("59.3,18.1")) == ("SE", "US", "")
