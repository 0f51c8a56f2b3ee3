"""Plain tables of times and Skyplane's grid: what is read, and every fault in one line."""

import os
import statistics
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloudcmp.errors import UserMistake
from cloudcmp.model.wide_area import Continent, Phase, Site, VantagePoint
from cloudcmp.store.wide_area import read_targets, read_vantages, read_wide_area, with_vantages

HEAD = "vantage,provider,region,ms\n"
DATA = os.environ.get("CLOUDCMP_DATA")
needs_data = pytest.mark.skipif(not DATA, reason="CLOUDCMP_DATA names no folder of real measurements")


def written(folder: Path, text: str, name: str = "times.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_row_has_a_vantage_a_region_and_a_time(tmp_path: Path) -> None:
    text = (
        "vantage,vantage_lat,vantage_lon,country,population,network,provider,region,phase,ms,n,started,size_bytes,least\n"
        "Paris,48.9,2.4,fr,2000000,AS3215,AWS,eu-west-1,,20,9,10,,18\n"
        "Paris,,,,2000000,,AWS,eu-west-1,transfer,250,5,5,102400,\n"
        "Paris,,,,2000000,,gcp,europe-west1,ping,,0,10,,\n"
    )
    area = read_wide_area(written(tmp_path, text))
    assert area.vantages == (VantagePoint("Paris", (48.9, 2.4), "FR", None, 2e6, "AS3215"),)
    assert area.sites == (Site("aws", "eu-west-1"), Site("gcp", "europe-west1"))
    rtt, transfer, nothing = area.paths
    assert (rtt.median_s, rtt.n, rtt.started, rtt.least_s, rtt.phase) == (0.02, 9, 10, 0.018, Phase.RTT)
    assert (transfer.median_s, transfer.size_bytes, transfer.phase) == (0.25, 102400, Phase.TRANSFER)
    assert (nothing.median_s, nothing.n, nothing.started) == (None, 0, 10)
    assert area.kind == "imported"


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xy"), st.none() | st.floats(1e-3, 1e5)), min_size=1,
                max_size=40))  # fmt: skip
def test_a_path_has_the_median_of_its_rows(rows: list[tuple[str, str, float | None]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        lines = "".join(f"{vantage},p,{region},{'' if ms is None else repr(ms)}\n" for vantage, region, ms in rows)
        area = read_wide_area(written(Path(folder), HEAD + lines))
    for path in area.paths:
        who, region = area.vantages[path.vantage].name, area.sites[path.site].region
        own = [ms for vantage, to, ms in rows if (vantage, to) == (who, region)]
        values = [ms for ms in own if ms is not None]
        assert (path.n, path.started) == (len(values), len(own))
        assert path.median_s == (pytest.approx(statistics.median(values) / 1e3) if values else None)
    assert {(area.vantages[one.vantage].name, area.sites[one.site].region) for one in area.paths} == {
        (vantage, region) for vantage, region, _ in rows
    }


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "is empty"),
        (HEAD, "the table has no rows; write one row for each vantage and region"),
        ("vantage,provider,region\nParis,aws,x\n", "no times between vantage points and regions"),
        ("vantage,provider,region,ms,s\nParis,aws,x,1,1\n", "two columns hold times, s and ms"),
        (HEAD + "Paris,aws,x,-3\n", ":2: ms -3 is not above 0; leave it empty if nothing came back"),
        (HEAD + "Paris,aws,x,0\n", ":2: ms 0 is not above 0"),
        (HEAD + "Paris,aws,x,fast\n", ":2: ms 'fast' is no number"),
        (HEAD + "Paris,aws,x,nan\n", ":2: ms 'nan' is no number"),
        (HEAD + "Paris,aws,x,1e12\n", "more than a day"),
        (HEAD + ",aws,x,1\n", ":2: the vantage is empty"),
        (HEAD + "Paris,,x,1\n", ":2: the provider is empty"),
        (HEAD + "Paris,aws,,1\n", ":2: the region is empty"),
        (HEAD + "Paris,aws,x,1,2\n", ":2: "),
        ("vantage,provider,region,ms,phase\nParis,aws,x,1,pong\n", "phase 'pong' is unknown; write one of dns, rtt"),
        ("vantage,provider,region,ms,n,started\nParis,aws,x,1,3,2\n", "n 3 is more than the 2 started"),
        ("vantage,provider,region,ms,n\nParis,aws,x,,3\n", "3 attempts came back and the time is empty"),
        ("vantage,provider,region,ms,n\nParis,aws,x,5,0\n", "0 attempts came back and the time is given"),
        ("vantage,provider,region,ms,n\nParis,aws,x,5,1.5\n", "n 1.5 is no whole number"),
        ("vantage,provider,region,ms,size_bytes\nParis,aws,x,5,9\n", "a size of a body in phase rtt"),
        ("vantage,provider,region,ms,country\nParis,aws,x,5,France\n", "country 'France' is no code of two letters"),
        ("vantage,provider,region,ms,continent\nParis,aws,x,5,EX\n", "continent 'EX' is unknown; write one of NA"),
        ("vantage,provider,region,ms,population\nParis,aws,x,5,0\n", "population 0 is not above 0"),
        ("vantage,provider,region,ms,vantage_lat,vantage_lon\nParis,aws,x,5,91,0\n", "latitude 91 is not between"),
        ("vantage,provider,region,ms,vantage_lat,vantage_lon\nParis,aws,x,5,9,\n", "a latitude without a longitude"),
        ("vantage,provider,region,ms,name,address\nParis,aws,,5,cdn.example,\n", "a name without an address"),
    ],
)  # fmt: skip
def test_a_fault_is_one_line(tmp_path: Path, text: str, fault: str) -> None:
    with pytest.raises(UserMistake) as found:
        read_wide_area(written(tmp_path, text))
    assert fault in str(found.value)
    assert "\n" not in str(found.value)


def test_all_faults_are_named_at_once_and_hostile_text_is_cleaned(tmp_path: Path) -> None:
    rows = "".join(f"Pa\x1b[31mris,aws,x,{value}\n" for value in ("-1", "\u202e", "5"))
    with pytest.raises(UserMistake) as found:
        read_wide_area(written(tmp_path, HEAD + rows))
    assert [fault.where.rpartition(":")[2] for fault in found.value.faults] == ["2", "3"]
    assert "\x1b" not in str(found.value)
    assert "\u202e" not in str(found.value)


def test_names_have_the_addresses_that_vantages_were_given(tmp_path: Path) -> None:
    text = (
        "vantage,provider,name,address,phase,ms\n"
        "Paris,gcp,App.Example,192.0.2.1,dns,\n"
        "Paris,gcp,app.example,192.0.2.1,rtt,12\n"
        "Paris,gcp,app.example,192.0.2.2,rtt,5\n"
    )
    (name,) = read_wide_area(written(tmp_path, text)).names
    assert (name.provider, name.name, name.addresses) == ("gcp", "app.example", ("192.0.2.1", "192.0.2.2"))
    assert name.answers == ((0, 0),)
    assert [(one.address, one.median_s) for one in name.times] == [(0, 0.012), (1, 0.005)]


def test_places_and_weights_of_vantages_come_from_another_file(tmp_path: Path) -> None:
    area = read_wide_area(written(tmp_path, HEAD + "Paris,aws,x,5\nRome,aws,x,5\n"))
    known = read_vantages(
        written(tmp_path, "vantage,lat,lon,weight,continent\nParis,48,2,7,EU\nOslo,60,11,,\n", "v.csv")
    )
    paris, rome = with_vantages(area, known).vantages
    assert paris == VantagePoint("Paris", (48.0, 2.0), "", Continent.EUROPE, 7.0)
    assert rome == VantagePoint("Rome")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("place,lat\nParis,1\n", "no column vantage"),
        ("vantage,lat,lon\n", "no vantage point"),
        ("vantage,lat,lon\n,1,1\n", ":2: the vantage is empty"),
        ("vantage,lat,lon\nParis,1,1\nParis,1,1\n", ":3: vantage Paris is there twice"),
        ('{"objects": [{"id": 1}, {"id": "x"}]}', "probe 2: no probe with an id"),
        ('{"objects": {}}', "no list of probes"),
        ('[{"id": 1, "latitude": 100, "longitude": 0}]', "probe 1: latitude 100 is not between"),
        ('[{"id": 1, "latitude": "x", "longitude": 0}]', "the position of probe 1 is no pair of numbers"),
        ("[{", "no JSON"),
        ("[" * 100_000, "no JSON"),
    ],
)
def test_a_fault_of_vantages_is_one_line(tmp_path: Path, text: str, fault: str) -> None:
    with pytest.raises(UserMistake) as found:
        read_vantages(written(tmp_path, text))
    assert fault in str(found.value)
    assert "\n" not in str(found.value)


def test_targets_are_names_addresses_and_networks(tmp_path: Path) -> None:
    text = (
        "target,provider,region,site_lat,site_lon\n"
        "web.example.,Mine,north,60,11\n192.0.2.7,mine,south,,\n192.0.2.0/24,mine,east,,\n192.0.0.0/16,mine,west,,\n"
        "cdn.example,mine,,,\n"
    )
    targets = read_targets(written(tmp_path, text))
    assert targets.site_of("WEB.example") == Site("mine", "north", (60.0, 11.0))
    regions = [
        getattr(targets.site_of(one), "region", None) for one in ("192.0.2.7", "192.0.2.8", "192.0.9.9", "8.8.8.8")
    ]
    assert regions == ["south", "east", "west", None]
    assert targets.provider_of("cdn.example") == "mine"


@pytest.mark.parametrize(
    ("host", "site"),
    [
        ("ec2.eu-west-1.amazonaws.com", "aws/eu-west-1"),
        ("s3-ap-southeast-2.amazonaws.com", "aws/ap-southeast-2"),
        ("vm7.westeurope.cloudapp.azure.com", "azure/westeurope"),
        ("europe-west4-docker.pkg.dev", "gcp/europe-west4"),
        ("storage.us-east1.rep.googleapis.com", "gcp/us-east1"),
        ("amazonaws.com", "None"),
        ("eu-west-1.example.org", "None"),
    ],
)
def test_the_providers_own_names_of_hosts_say_the_region(host: str, site: str, tmp_path: Path) -> None:
    targets = read_targets(written(tmp_path, "target,provider,region\nx,y,z\n"))
    assert str(targets.site_of(host)) == site


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("target,provider\n", "no column region"),
        ("target,provider,region\n,aws,x\n", ":2: the target is empty"),
        ("target,provider,region\na,aws,x\na,aws,y\n", ":3: a has another site in an earlier row"),
        ("target,provider,region\n1.2.3/40,aws,x\n", "is no network"),
    ],
)
def test_a_fault_of_targets_is_one_line(tmp_path: Path, text: str, fault: str) -> None:
    with pytest.raises(UserMistake, match=fault):
        read_targets(written(tmp_path, text))


SKYPLANE = "src_region,src_tier,dst_region,dst_tier,min_rtt,avg_rtt,max_rtt\n"


def test_regions_of_skyplane_are_vantages_and_sites(tmp_path: Path) -> None:
    rows = (
        "aws:eu-west-1,PREMIUM,gcp:europe-west1-b,PREMIUM,19,20,30\n"
        "aws:eu-west-1,PREMIUM,gcp:europe-west1-b,STANDARD,1,2,3\n"
        "gcp:europe-west1-b,PREMIUM,gcp:europe-west1-b,PREMIUM,1,2,3\n"
    )
    area = read_wide_area(written(tmp_path, SKYPLANE + rows))
    assert area.vantages == (VantagePoint("aws/eu-west-1", network="aws"),)
    assert area.sites == (Site("gcp", "europe-west1"),)
    assert [(one.median_s, one.least_s, one.n) for one in area.paths] == [(0.02, 0.019, 1)]
    assert [note.partition(": ")[2] for note in area.notes] == [
        "1 row of another network tier than PREMIUM is left out",
        "1 row within a region is left out",
    ]


@pytest.mark.parametrize("region", ["eu-west-1", ":x", "aws:", ""])
def test_a_region_of_skyplane_has_a_provider(tmp_path: Path, region: str) -> None:
    with pytest.raises(UserMistake, match=":2: src_region"):
        read_wide_area(written(tmp_path, SKYPLANE + f"{region},PREMIUM,aws:x,PREMIUM,1,2,3\n"))


@needs_data
def test_skyplanes_grid_is_whole() -> None:
    area = read_wide_area(Path(str(DATA)) / "skyplane_wan" / "latency_rtt_2022-04.csv")
    assert (len(area.vantages), len(area.sites), len(area.paths)) == (69, 69, 69 * 68)
    path = next(
        one
        for one in area.paths
        if area.vantages[one.vantage].name == "aws/eu-north-1" and str(area.sites[one.site]) == "azure/eastus"
    )
    assert path.median_s == pytest.approx(0.105976)
