"""Who is where: cities, bases and countries of a CSV file, and what is wrong with one."""

import os
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloudcmp.analysis.wide_area.people import read_people
from cloudcmp.errors import UserMistake
from cloudcmp.model.placement import People
from cloudcmp.model.wide_area import Continent

DATA = os.environ.get("CLOUDCMP_DATA")


def written(folder: Path, text: str) -> Path:
    path = folder / "people.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_positions_names_and_vantage_points_place_people(tmp_path: Path) -> None:
    path = written(tmp_path, "base,country,lat,lon,users\nHQ,DE,52.5,13.4,10\nTokyo,JP,,,30\nv1,,,,20\nEmpty,,1,1,0\n")
    found = read_people(path, vantages={"v1": ""})
    assert found.groups == (
        People("Tokyo", 30.0, (35.7, 139.7), "JP", Continent.ASIA),
        People("v1", 20.0),
        People("HQ", 10.0, (52.5, 13.4), "DE", Continent.EUROPE),
    )
    assert found.total == 60
    assert found.notes == ("people.csv: no people in Empty: left out",)


def test_people_of_a_country_are_spread_over_its_cities(tmp_path: Path) -> None:
    (tmp_path / "cities.csv").write_text("name,country,lat,lon,population\nX,FR,48,2,300\nY,FR,45,4,100\nZ,DE,50,8,9\n")
    cities = read_people(tmp_path / "cities.csv")
    found = read_people(written(tmp_path, "iso2,people\nFR,1000\nDE,50\n"), cities=cities)
    assert [(one.name, one.count) for one in found.groups] == [("X", 750.0), ("Y", 250.0), ("Z", 50.0)]


def test_a_city_in_another_country_is_not_the_known_one(tmp_path: Path) -> None:
    text = "name,country,people\nLondon,CA,5\n"
    with pytest.raises(
        UserMistake, match="'London' has no position, and the known one is in GB; write its lat and lon"
    ):
        read_people(written(tmp_path, text), vantages={"London": "GB"})
    (tmp_path / "cities.csv").write_text("name,country,lat,lon,population\nLondon,CA,43,-81.2,300\nX,CA,45,-75,900\n")
    cities = read_people(tmp_path / "cities.csv")
    (one,) = read_people(written(tmp_path, text), cities=cities).groups
    assert (one.at, one.count) == ((43.0, -81.2), 5.0)
    (there,) = read_people(written(tmp_path, text), vantages={"London": "CA"}).groups
    assert there.at is None


def test_rows_of_one_place_and_columns_that_are_not_used_are_named(tmp_path: Path) -> None:
    text = "name,lat,lon,people,users\na,0,0,60,1\na,0,0,30,2\nb,1,1,5,3\n"
    assert read_people(written(tmp_path, text)).notes == (
        "people.csv: people are counted by 'people', and 'users' is not used",
        "people.csv: several rows have the place a: their people are added",
    )


def test_only_the_largest_places_can_be_asked_for(tmp_path: Path) -> None:
    found = read_people(written(tmp_path, "name,lat,lon,people\na,0,0,60\nb,0,0,30\nc,0,0,10\n"), most=2)
    assert [one.name for one in found.groups] == ["a", "b"]
    assert found.notes == ("people.csv: only the 2 largest places, with 90.0 % of the people",)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("name,lat,lon,people\na,0,0,-5\n", "people.csv:2: -5 people; write a number above zero"),
        ("name,lat,lon,people\na,0,0,many\n", "people.csv:2: 'many' is no number of people"),
        ("name,lat,lon,people\na,0,0,nan\n", "people.csv:2: nan people"),
        ("name,lat,lon,people\na,95,0,5\n", "people.csv:2: '95,0' is no latitude and longitude"),
        (
            "name,people\nAtlantis,5\n",
            "people.csv:2: 'Atlantis' has no position, and is no vantage point and no",
        ),
        ("name,country,people\nx,FR,5\n", "write its lat and lon, or give --cities with cities of FR"),
        ("name,country,people\nx,France,5\n", "people.csv:2: 'FRANCE' is no country"),
        ("name,lat,lon,continent,people\nx,0,0,XX,5\n", "people.csv:2: 'XX' is no continent"),
        ("name,lat\nx,0\n", "people.csv:1: no column 'people'"),
        ("lat,people\n0,5\n", "people.csv:1: no column 'name'"),
        ("name,lat,lon,people\na,0,0,0\n", "people.csv: nobody is in it"),
    ],
)
def test_a_mistake_is_one_line_with_its_place(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(UserMistake) as refused:
        read_people(written(tmp_path, text))
    assert told in str(refused.value)
    assert len(str(refused.value).splitlines()) == 1


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused_in_one_line(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any-people.csv"
    path.write_bytes(data)
    with suppress(UserMistake):
        assert read_people(path).total > 0


@pytest.mark.skipif(DATA is None, reason="$CLOUDCMP_DATA is not set: no table of cities")
def test_the_cities_of_the_world_are_read() -> None:
    folder = Path(DATA or "") / "geonames_cities"
    cities = read_people(folder / "cities_100k.csv")
    assert len(cities.groups) == 6204
    assert {one.continent for one in cities.groups} == set(Continent)
    with pytest.raises(UserMistake, match="give --cities with cities of AG"):  # no city of 100,000 is there
        read_people(folder / "countries.csv", cities=cities)
