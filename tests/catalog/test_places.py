"""Places of regions and cities, with public positions as a second witness."""

import csv
import os
from pathlib import Path

import pytest

from cloudcmp.catalog.burst import is_burstable
from cloudcmp.catalog.cities import known_cities, position_of
from cloudcmp.catalog.places import PLACES, distance_km

_FAR_KM = 700.0
"""Some regions are areas of hundreds of kilometres, and tables place them differently within."""


@pytest.mark.parametrize("name", ["Stockholm", "stockholm", " STOCKHOLM ", "59.3,18.1", "59.3, 18.1"])
def test_a_city_is_found_in_any_spelling(name: str) -> None:
    at = position_of(name)
    assert at is not None
    assert distance_km(at, (59.33, 18.07)) < 10


@pytest.mark.parametrize(("name", "at"), [("New York", (40.7, -74.0)), ("São Paulo", (-23.5, -46.6)),
                                          ("Buenos_Aires", (-34.6, -58.4)), ("Kolkata", (22.5, 88.4))])  # fmt: skip
def test_cities_of_the_time_zones_are_where_they_are(name: str, at: tuple[float, float]) -> None:
    found = position_of(name)
    assert found is not None
    assert distance_km(found, at) < 30


@pytest.mark.parametrize("name", ["Atlantis", "", "91,0", "0,181", "59.3;18.1"])
def test_what_is_no_place_is_unknown(name: str) -> None:
    assert position_of(name) is None


def test_hundreds_of_cities_are_known() -> None:
    assert len(known_cities()) > 400


def test_distances_are_those_of_the_globe() -> None:
    assert distance_km((0, 0), (0, 180)) == pytest.approx(20015, abs=1)
    assert distance_km((90, 0), (-90, 50)) == pytest.approx(20015, abs=1)
    assert distance_km((51.5, -0.1), (48.9, 2.4)) == pytest.approx(341, abs=5)  # London to Paris
    assert distance_km((10, 20), (10, 20)) == 0


@pytest.mark.skipif("CLOUDCMP_DATA" not in os.environ, reason="$CLOUDCMP_DATA is not set: no data of real clouds")
def test_places_agree_with_a_public_table() -> None:
    path = Path(os.environ["CLOUDCMP_DATA"]) / "sparecores" / "regions.csv"
    with path.open(encoding="utf-8") as file:
        table = {(row["vendor_id"], row["api_reference"]): row for row in csv.DictReader(file)}
    both = PLACES.keys() & table.keys()
    assert len(both) > 90
    far = {
        key: round(distance_km(PLACES[key].at, (float(table[key]["lat"]), float(table[key]["lon"])))) for key in both
    }
    # The table places Azure's Madrid in the sea for want of a sign, and Wyoming in its west.
    known = {("azure", "spaincentral")}
    assert {key: km for key, km in far.items() if km > _FAR_KM and key not in known} == {}
    assert {key for key in both if PLACES[key].country != table[key]["country_id"]} <= {("azure", "mexicocentral")}


@pytest.mark.parametrize(
    ("provider", "name", "allocation", "burstable"),
    [
        ("aws", "t4g.micro", "DEDICATED", True),
        ("aws", "t2.2xlarge", "", True),
        ("aws", "m7i-flex.large", "DEDICATED", True),
        ("aws", "trn1.32xlarge", "", False),
        ("azure", "Standard_B2ts_v2", "", True),
        ("azure", "Standard_D2s_v5", "", False),
        ("gcp", "e2-medium", "", True),
        ("gcp", "e2-standard-2", "", False),
        ("hcloud", "cx22", "SHARED", True),
        ("hcloud", "cx22", "", None),
        ("vultr", "anything", "", None),
    ],
)
def test_burstable_types_are_known_by_name(provider: str, name: str, allocation: str, burstable: bool | None) -> None:
    assert is_burstable(provider, name, allocation) is burstable
