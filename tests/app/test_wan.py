"""`cloudcmp wan` from files to the answer, its document, its page and its figures."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from cloudcmp.answer.reach.answer import reach
from cloudcmp.app.wide_area import wide_area
from cloudcmp.model.reach import ImpossibleTime
from cloudcmp.model.wide_area import Phase
from cloudcmp.report.charts.wide_area import figures
from cloudcmp.report.wide_area_page import render
from tests.cli.command import cloudcmp

CITIES = ["Paris", "London", "Madrid", "Rome", "Oslo", "Warsaw", "Tokyo", "Singapore", "Sydney", "Johannesburg"]


def table(folder: Path, *, seed: int = 1, gain: float = 1.6) -> Path:
    """Ten cities from which `near` is faster than `wide` by a factor, but for Johannesburg."""
    random = np.random.default_rng(seed)
    lines = ["vantage,provider,region,site_lat,site_lon,ms"]
    for city in CITIES:
        base = random.uniform(20, 40)
        for provider, region, place, factor in (("near", "alps", "47,8", 1.0), ("wide", "coast", "38,-9", gain)):
            far = 12 if city == "Johannesburg" and provider == "near" else 6 if city in {"Tokyo", "Sydney", "Singapore",
                  "Johannesburg"} else 1  # fmt: skip
            lines.append(f"{city},{provider},{region},{place},{base * factor * far * random.uniform(0.97, 1.03):.3f}")
    path = folder / "times.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def document(*words: str) -> dict[str, Any]:
    done = cloudcmp("wan", *words, "--json")
    assert done.code == 0, done.err
    data: dict[str, Any] = json.loads(done.out)["data"]
    return data


def test_the_planted_winner_is_named_first(tmp_path: Path) -> None:
    done = cloudcmp("wan", str(table(tmp_path, gain=3.0)))
    assert done.code == 0, done.err
    assert done.out.splitlines()[0] == "near reaches these 10 vantage points best"
    assert "above 100 ms" in done.out
    assert max(map(len, done.out.splitlines())) <= 80


def test_the_document_has_each_vantage_point_and_the_lacks(tmp_path: Path) -> None:
    data = document(str(table(tmp_path, gain=1.1)), "--over", "150 ms")
    assert data["answer"] == "Cannot tell yet which provider reaches these 10 vantage points best"
    assert data["limit_s"] == 0.15
    paris = next(one for one in data["vantages"] if one["name"] == "Paris")
    assert paris["country"] == "FR"
    assert {one["provider"] for one in paris["best"]} == {"near", "wide"}
    lack = next(one for one in data["missing"] if (one["provider"], one["continent"]) == ("near", "AF"))
    assert (lack["over"], lack["n"], lack["countries"]) == (1, 1, ["ZA"])
    assert len(data["pages"]) == 8
    assert all(one["measured"] is None for one in data["pages"])


def test_weights_and_places_come_from_a_file(tmp_path: Path) -> None:
    weights = tmp_path / "people.csv"
    weights.write_text("vantage,population,lat,lon\nJohannesburg,1000000,-26,28\n", encoding="utf-8")
    data = document(str(table(tmp_path)), "--vantages", str(weights))
    (pair,) = data["pairs"]
    assert pair["ratio"] > 1
    assert next(one for one in data["vantages"] if one["name"] == "Johannesburg")["weight"] == 1e6


def test_atlas_results_with_probes_and_targets_are_an_answer(tmp_path: Path) -> None:
    results = [
        {"fw": 5080, "type": "ping", "prb_id": probe, "dst_name": f"{place}.example", "dst_addr": address, "sent": 3,
         "rcvd": 3, "result": [{"rtt": rtt + extra} for extra in (0.0, 0.5, 9.0)]}
        for probe, (rtt_a, rtt_b) in {1: (12.0, 40.0), 2: (15.0, 33.0)}.items()
        for place, address, rtt in (("a", "192.0.2.1", rtt_a), ("b", "192.0.2.2", rtt_b))
    ]  # fmt: skip
    spot = {"type": "Point", "coordinates": [8.0, 50.0]}
    probes = {"results": [{"id": at, "country_code": "DE", "asn_v4": at, "geometry": spot} for at in (1, 2)]}
    for name, what in (("atlas.json", results), ("probes.json", probes)):
        (tmp_path / name).write_text(json.dumps(what), encoding="utf-8")
    (tmp_path / "targets.csv").write_text(
        "target,provider,region\na.example,one,x\nb.example,two,y\n", encoding="utf-8"
    )
    given = "--vantages", str(tmp_path / "probes.json"), "--targets", str(tmp_path / "targets.csv")
    data = document(str(tmp_path / "atlas.json"), *given)
    assert [(one["name"], one["network"]) for one in data["vantages"]] == [("1", "AS1"), ("2", "AS2")]
    assert data["vantages"][0]["best"] == [{"provider": "one", "time_s": 0.0125, "region": "x"},
                                           {"provider": "two", "time_s": 0.0405, "region": "y"}]  # fmt: skip
    assert data["pairs"][0]["reason"] == "2 of at least 6 networks or places"


def test_a_city_of_another_country_has_no_known_place_and_one_point_is_spoken_of_as_one(tmp_path: Path) -> None:
    path = tmp_path / "times.csv"
    path.write_text("vantage,country,provider,region,ms\nLondon,CA,aws,ca-central-1,14\nLondon,CA,gcp,us-east4,20\n")
    data = document(str(path))
    (one,) = data["vantages"]
    assert (one["at"], one["country"], data["impossible"]) == (None, "CA", [])
    said = cloudcmp("wan", str(path)).out
    assert said.splitlines()[0] == "Cannot tell yet which provider reaches this vantage point best"
    assert "the London that is known is in GB, not in CA" in said


def test_a_tidy_table_with_vantages_is_a_source(tmp_path: Path) -> None:
    rows = [f"ep,p{at % 2},r,wan_rtt_s,vantage={city};percentile=50,s,0.0{at + 1}{number},lower"
            for number, city in enumerate(CITIES) for at in range(2)]  # fmt: skip
    rows += [f"ep,p0,r,wan_page_s,vantage={city};size_bytes=102400;resource=bytes,s,0.2,lower" for city in CITIES]
    path = tmp_path / "tidy.csv"
    path.write_text(
        "\n".join(["offering,provider,region,metric,params,unit,value,better", *rows]) + "\n", encoding="utf-8"
    )
    area = wide_area([str(path)])
    assert (len(area.vantages), len(area.sites), len(area.paths), area.kind) == (10, 2, 30, "imported")
    found = reach(area)
    assert found.best == ("p0",)
    measured = [one for one in found.pages if one.measured is not None]
    assert [(one.provider, one.size_bytes, one.measured.value_s) for one in measured if one.measured] == [
        ("p0", 102400, 0.2)
    ]


def test_two_sources_are_one_area(tmp_path: Path) -> None:
    first = table(tmp_path)
    second = tmp_path / "more.csv"
    second.write_text(
        "vantage,provider,region,ms,n,started\nParis,near,alps,1,5,5\nLima,near,alps,90,,\n", encoding="utf-8"
    )
    area = wide_area([str(first), str(second)])
    assert len(area.vantages) == 11
    paris = next(one for one in area.paths if one.vantage == 0 and area.sites[one.site].region == "alps")
    assert paris.median_s == 0.001
    assert area.notes == ("1 time is in two sources: the one with more attempts counts",)


def test_new_names_hide_providers_and_regions_and_keep_the_numbers(tmp_path: Path) -> None:
    path = table(tmp_path)
    page = tmp_path / "page.html"
    done = cloudcmp("wan", str(path), "--anonymise", "--page", str(page))
    assert done.code == 0, done.err
    shown = done.out.replace(str(page), "") + page.read_text(encoding="utf-8")
    for name in ("near ", "wide ", "alps", "coast", "Paris", "times.csv"):
        assert name not in shown, name
    assert "C1.DC1" in shown
    named, hidden = document(str(path)), document(str(path), "--anonymise")
    assert [one["ratio"] for one in named["pairs"]] == [one["ratio"] for one in hidden["pairs"]]


def test_the_page_has_a_map_and_figures_runs_nothing_and_replaces_only_a_page(tmp_path: Path) -> None:
    page = tmp_path / "reach.html"
    path = table(tmp_path)
    assert cloudcmp("wan", str(path), "--page", str(page)).code == 0
    text = page.read_text(encoding="utf-8")
    assert all(f'id="figure-{name}"' in text for name in ("world-map", "wan-round-trips", "wan-pages"))
    assert not re.search(r"<script|https?://(?!www\.w3\.org)", text)
    assert "Johannesburg: " in text
    assert text.index("Lowest round trip from each vantage point") < text.index("The rest in numbers")
    assert text.index("The rest in numbers") < text.index("The same by continent")
    assert cloudcmp("wan", str(path), "--page", str(page)).code == 0
    other = tmp_path / "mine.html"
    other.write_text("mine", encoding="utf-8")
    refused = cloudcmp("wan", str(path), "--page", str(other))
    assert refused.code == 2
    assert other.read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (["nowhere.csv"], "no such file"),
        (["times.csv", "--over", "fast"], "--over"),
        (["times.csv", "--over", "0 ms"], "'0 ms' is not more than zero"),
        (["times.csv", "--initial-window", "0 B"], "--initial-window"),
        (["times.csv", "--vantages", "times.csv"], "vantage Paris is there twice"),
        (["times.csv", "--targets", "times.csv"], "no column target"),
        (["silent.csv"], "no round trip came back from any region"),
    ],
)
def test_a_mistake_is_one_line(tmp_path: Path, words: list[str], fault: str) -> None:
    table(tmp_path)
    (tmp_path / "silent.csv").write_text("vantage,provider,region,ms\nParis,p,r,\n", encoding="utf-8")
    done = cloudcmp("wan", *words, cwd=tmp_path)
    assert done.code == 2
    assert fault in done.err
    assert "Traceback" not in done.err


STUDY = """
schema: 1
question: Which is nearer?
candidates:
  - {provider: aws, region: us-east-1, service: http, endpoint: "http://a.example"}
  - {provider: gcp, region: europe-west1, service: http, endpoint: "http://b.example"}
wan: {vantages: [{name: west, at: New York, country: US}, {name: east, at: Vienna, country: AT}], sizes: [1], pages: 2}
launches: 2
runs: 1
"""


def test_the_report_of_a_study_shows_its_vantage_points_without_names_if_asked(tmp_path: Path) -> None:
    (tmp_path / "two.yaml").write_text(STUDY, encoding="utf-8")
    assert cloudcmp("run", "two.yaml", "--on", "simulated", "--out", "two", cwd=tmp_path).code == 0
    assert cloudcmp("report", "two", "--anonymise", cwd=tmp_path).code == 0
    page = (tmp_path / "two" / "report-anonymous.html").read_text(encoding="utf-8")
    assert 'id="figure-world-map"' in page
    assert "Cannot tell yet which provider reaches these 2 vantage points best" in page
    assert not re.search(r"aws|gcp|us-east-1|europe-west1", page)
    area = wide_area([str(tmp_path / "two")])
    assert area.kind == "simulated"
    nearest = {
        area.vantages[one.vantage].name: str(area.sites[one.site])
        for one in sorted(area.paths, key=lambda one: -(one.median_s or 0)) if one.phase is Phase.RTT
    }  # fmt: skip
    assert nearest == {"west": "aws/us-east-1", "east": "gcp/europe-west1"}
    assert not any(one.phase is Phase.TLS and one.median_s is not None for one in area.paths)
    both = [one for one in reach(area).pages if one.off is not None]
    assert both
    assert all(not one.has_tls and one.off is not None and 0.8 < one.off < 1.3 for one in both)


def test_the_page_folds_the_rest_of_long_tables(tmp_path: Path) -> None:
    found = reach(wide_area([str(table(tmp_path))]))
    for many, words in ((12, ""), (40, "28 more rows<")):
        times = tuple(ImpossibleTime(f"v{at}", "near/alps", 0.001, 0.1) for at in range(many))
        text = render(replace(found, impossible=times))
        folded = text.partition(f"<caption>{many} impossible round trips, left out</caption>")[2]
        first, _, rest = folded.partition("<details><summary>")
        assert [f"v{at}<" in first for at in (0, 11)] == [True, True]
        assert rest.startswith(words) if words else "continued" not in folded
        if words:
            assert "v12<" not in first
            assert all(f"v{at}<" in rest for at in range(12, many))


def test_figures_are_drawings_with_their_data(tmp_path: Path) -> None:
    found = reach(wide_area([str(table(tmp_path))]))
    drawn = figures(found)
    assert [one.name for one in drawn] == ["world-map", "wan-round-trips", "wan-pages"]
    for one in drawn:
        assert one.fits
        assert all(ElementTree.fromstring(svg).tag.endswith("svg") for svg in (one.svg, *one.more))
        assert all(len(row) == len(one.columns) for row in one.rows)
    assert len(drawn[0].rows) == len(CITIES)
