"""`regions` and `predict move` as commands."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.answer.placement.worlds import SITES, VANTAGES, crowd, world

from .command import cloudcmp


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Times between planted places, people, prices, and throughput of two directions."""
    area = world(0.2)
    rows = ["vantage,vantage_lat,vantage_lon,provider,region,site_lat,site_lon,site_country,seconds"]
    for one in area.paths:
        site, at = SITES[one.site], VANTAGES[one.vantage]
        assert site.at
        rows.append(f"v{one.vantage},{at[0]},{at[1]},{site.provider},{site.region},{site.at[0]},{site.at[1]},"
                    f"{site.country},{one.median_s}")  # fmt: skip
    (tmp_path / "times.csv").write_text("\n".join(rows), encoding="utf-8")
    people = [f"{one.name},{one.country},{one.at[0]},{one.at[1]},{one.count}" for one in crowd() if one.at]
    (tmp_path / "people.csv").write_text("\n".join(["name,country,lat,lon,people", *people]), encoding="utf-8")
    prices = [f"{site.provider},{site.region},{0.05 + at / 100}" for at, site in enumerate(SITES)]
    (tmp_path / "prices.csv").write_text("\n".join(["provider,region,usd_per_gb", *prices]), encoding="utf-8")
    runs = ["from,to,bytes_per_s", "b/far,a/west,9e7", "b/far,a/west,11e7", "a/west,b/far,8e7"]
    (tmp_path / "runs.csv").write_text("\n".join(runs), encoding="utf-8")
    (tmp_path / "cdn.yaml").write_text(
        "name: c\nhit_ratio: 80 %\nedge: 9 ms\nprices: [{per_gb: 0.02}]\n", encoding="utf-8"
    )
    return tmp_path


ASKED = ("regions", "times.csv", "--people", "people.csv", "--sites", "2")
MONEY = ("--egress", "prices.csv", "--gb", "2", "--users", "100000", "--site-cost", "200 USD/month")


def test_the_set_comes_first_and_fits_the_terminal(folder: Path) -> None:
    said = cloudcmp(*ASKED, *MONEY, "--cdn", "cdn.yaml", cwd=folder)
    assert said.code == 0, said.err
    lines = said.out.splitlines()
    assert lines[0] == "2 regions with the least mean round trip of people"
    assert lines[3] == "LIKELY BEST  b/east, b/middle"
    assert any(line.startswith("PROOF        proven") for line in lines)
    titles = ("Whom each region serves", "The best set of each provider", "Fewer and more regions", "Behind c",
              "None is both cheaper and better: time against money")  # fmt: skip
    assert all(title in lines for title in titles)
    assert any("modelled round trips" in line for line in lines)
    assert max(map(len, lines)) <= 80


def test_the_document_has_the_sets_and_how_sure_the_answer_is(folder: Path) -> None:
    found = cloudcmp(*ASKED, *MONEY, "--mix", "--keep", "DE=DE", "--json", cwd=folder).json
    assert found["schema"] == "cloudcmp.regions/1"
    data = found["data"]
    assert {one["site"]["country"] for one in data["best"]["regions"]} >= {"DE"}
    assert (data["best"]["proven"], data["currency"], data["whole"]) == (True, "USD", True)
    assert data["certainty"]["draws"] == 200
    assert 0 <= data["certainty"]["unbeaten"] <= data["certainty"]["near"] <= 1
    assert len(data["front"]) >= 1
    assert data["by_provider"] == []


def test_the_page_has_a_map_and_runs_nothing(folder: Path) -> None:
    said = cloudcmp(*ASKED, *MONEY, "--page", "page.html", cwd=folder)
    assert (said.code, said.out.splitlines()[-1]) == (0, "page.html")
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert "Whom each region serves" in page
    assert page.count("<svg") >= 2
    assert "<script" not in page
    (folder / "notes.html").write_text("mine", encoding="utf-8")
    assert cloudcmp(*ASKED, "--page", "notes.html", cwd=folder).code == 2
    assert (folder / "notes.html").read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--sites", "0"), "--sites: 0 regions; ask for one or more"),
        (("--sites", "9"), "--sites: 9 regions are asked for, and 3 of one provider can be chosen; ask for at most 3"),
        (("--goal", "p0"), "--goal: 'p0' is no goal; write mean, p95, worst or 'within 100 ms'"),
        (("--goal", "within 5"), "--goal: '5' needs a unit of time"),
        (("--within", "atlantis"), "--within: 'atlantis' is no area; write a country as of ISO 3166"),
        (("--keep", "DE"), "--keep: 'DE' does not say from where; write e.g. DE=EU"),
        (("--keep", "FR=EU"), "--keep: nobody is in the area of 'FR=EU'"),
        (("--keep", "DE=FR"), "--keep: no region that can be chosen is where 'DE=FR' asks for one"),
        (("--provider", "c"), "--provider: no region of 'c' was measured; write one of a, b"),
        (("--egress", "prices.csv"), "--egress: how much is sent is unknown; add --gb"),
        (("--budget", "5 USD/month"), "--budget: prices are unknown; add --egress"),
        ((*MONEY, "--budget", "5 EUR/month"), "--budget: it is in EUR and the prices are in USD"),
        ((*MONEY, "--budget", "5 USD/month"), "--budget: no set of regions costs so little"),
        ((*MONEY[:-1], "0 USD/month"), "--site-cost: '0 USD' is not more than zero"),
        (("--egress", "prices.csv", "--gb", "-2"), "--gb: -2 is not more than zero"),
        (("--last-mile", "-5 ms"), "--last-mile: '-5 ms' is not more than zero"),
        (("--largest", "0"), "--largest: 0 places; ask for one or more"),
    ],
)
def test_a_mistake_about_regions_is_one_line(folder: Path, words: tuple[str, ...], told: str) -> None:
    said = cloudcmp(*ASKED, *words, cwd=folder)
    assert (said.code, said.out) == (2, "")
    assert said.err.splitlines()[-1].startswith(told)


def test_new_names_hide_providers_regions_and_places_and_keep_the_numbers(folder: Path) -> None:
    words = (*ASKED, *MONEY, "--cdn", "cdn.yaml", "--mix")
    said = cloudcmp(*words, "--anonymise", "--page", "page.html", "--all", cwd=folder)
    assert said.code == 0, said.err
    page = (folder / "page.html").read_text(encoding="utf-8").replace("page.html", "")
    shown = said.out.replace("page.html", "") + re.sub(r"(?s)<style>.*?</style>", "", page)
    names = [*(one.name for one in crowd()), *(str(one) for one in SITES), *(one.region for one in SITES)]
    assert not [name for name in names if re.search(rf"(?<![\w]){re.escape(name)}(?![\w])", shown)]
    assert not [file for file in ("times.csv", "people.csv", "prices.csv", "cdn.yaml") if file in shown]
    assert "Behind a delivery network" in shown
    named, hidden = (cloudcmp(*words, *more, "--json", cwd=folder).json["data"] for more in ((), ("--anonymise",)))
    assert [one["value"] for one in named["front"]] == [one["value"] for one in hidden["front"]]
    assert {one["site"]["provider"] for one in hidden["best"]["regions"]} <= {"C1", "C2"}
    assert all(re.fullmatch(r"C\d\.DC\d+", one["site"]["region"]) for one in hidden["best"]["regions"])


MOVE = ("predict", "move", "runs.csv", "--size", "10 TB", "--from", "b/far", "--to", "a/west")


def test_a_move_has_its_days_and_money(folder: Path) -> None:
    said = cloudcmp(*MOVE, "--egress", "prices.csv", "--ingress", "none", "--refresh", "50 GB/day", cwd=folder)
    assert said.code == 0, said.err
    lines = said.out.splitlines()
    assert lines[0] == "10.0 TB from b/far to a/west"
    assert lines[2].startswith("BRING IN     1 d 3 h (")
    assert lines[2].endswith(", 1,000 USD")
    assert any(line.startswith("LEAVE        1 d 10 h, 700 USD") for line in lines)
    assert any(line.startswith("TOTAL        3,525 USD over 12 months") for line in lines)
    assert max(map(len, lines)) <= 80


def test_a_move_hides_its_places_and_devices(folder: Path) -> None:
    said = cloudcmp(*MOVE, "--egress", "prices.csv", "--anonymise", cwd=folder)
    assert said.code == 0, said.err
    assert said.out.splitlines()[0] == "10.0 TB from C1/C1.DC1 to C2/C2.DC1"
    assert not re.search(r"\bb/|\ba/|far\b|west|runs\.csv|prices\.csv", said.out)
    words = ("predict", "move", "--size", "200 TB", "--to", "aws/us-east-1", "--rate", "500 Mbit/s", "--anonymise")
    told = cloudcmp(*words, cwd=folder).out
    assert not re.search(r"(?i)aws|us-east-1|snow", told)
    assert "device 1" in told
    assert "from your own place to C1/C1.DC1" in told


def test_a_move_to_a_large_cloud_is_set_beside_its_devices(folder: Path) -> None:
    words = ("predict", "move", "--size", "200 TB", "--to", "aws/us-east-1", "--rate", "500 Mbit/s", "--json")
    found = cloudcmp(*words, cwd=folder).json
    assert found["schema"] == "cloudcmp.predict-move/1"
    data = found["data"]
    assert data["total"] is None
    assert {one["step"] for one in data["shipments"]} == {"bring", "leave"}
    assert any("from memory (R" in text for text in found["warnings"])


def test_a_given_rate_says_that_it_replaces_measured_ones_and_only_its_own_way(folder: Path) -> None:
    rows = "from,to,bytes_per_s\nhere,a/west,5e7\na/west,here,2e7\n"
    (folder / "both.csv").write_text(rows, encoding="utf-8")
    words = ("predict", "move", "both.csv", "--size", "5 TB", "--from", "here", "--to", "a/west", "--rate", "1 GB/s")
    found = cloudcmp(*words, "--json", cwd=folder).json
    assert [one["rate"]["value"] for one in found["data"]["parts"]] == pytest.approx([1e9, 2e7])
    assert "the rate given from here to a/west stands in place of 1 measured" in found["warnings"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--size", "10"), "--size: '10' needs a unit of size"),
        (("--to", "west"), "--to: 'west' names no region"),
        (("--from", "home"), "--rate: no throughput from home to a/west is known; measured to a/west are b/far"),
        (("--rate", "0 MB/s"), "--rate: '0 MB/s' is not more than zero"),
        (("--refresh", "5 GB"), "--refresh: '5 GB' is no amount for a day"),
        (("--months", "0"), "--months: 0 is no number above zero"),
        (("--months", "nan"), "--months: nan is no number above zero"),
        (("--months", "24"), "--months: nothing is refreshed; add --refresh"),
        (("--ingress", "0 USD/GB"), "--ingress: '0 USD' is not more than zero"),
        (("--from", "a/west"), "--from: the data are in a/west already"),
        (("--ingress", "1 EUR/GB"), "--ingress: it is in EUR and the prices are in USD"),
        (("--put", "1 USD/1000"), "--put: how many requests there are is unknown; add --object"),
        (("--egress", "none.csv"), "none.csv: no such file or directory; name a CSV file"),
        (("--disks", "runs.csv"), "runs.csv:1: no column 'name'"),
    ],
)
def test_a_mistake_about_a_move_is_one_line(folder: Path, words: tuple[str, ...], told: str) -> None:
    said = cloudcmp(*MOVE, *words, cwd=folder)
    assert (said.code, said.out) == (2, "")
    assert said.err.splitlines()[-1].startswith(told)


PAGES = "wan_transfer_s,percentile=50;size_bytes="
FAR = ("predict", "move", "rates", "--size", "5 TB", "--from", "office", "--to", "a/west", "--rate", "50 MB/s")


@pytest.fixture
def pages(folder: Path) -> Callable[[str, float], Path]:
    """A study's folder of transfers to the office, each of so many seconds."""

    def imported(cell: str, seconds: float) -> Path:
        rows = [f"a,west,m,{at},{cell};vantage=office,s,lower,{seconds}" for at in range(3)]
        rows += [f"a,west,m,{at},{PAGES}1048576;vantage=office,s,lower,1e-6" for at in range(3)]
        head = "provider,region,offering,round,metric,params,unit,better,value"
        (folder / "rates.csv").write_text("\n".join([head, *rows]), encoding="utf-8")
        assert cloudcmp("import", "rates.csv", "--out", "rates", cwd=folder).code == 0
        return folder

    return imported


def test_the_rate_to_a_vantage_point_is_that_of_large_pages(pages: Callable[[str, float], Path]) -> None:
    """64 MiB in 0.8388608 s are 80 MB/s; pages of 1 MiB say nothing."""
    said = cloudcmp(*FAR, "--json", cwd=pages(f"{PAGES}{64 * 2**20}", 0.8388608))
    assert said.code == 0, said.err
    bring, leave = said.json["data"]["parts"]
    assert bring["seconds"] == pytest.approx(1e5)
    assert (leave["seconds"], leave["rate"]["n"]) == (pytest.approx(62_500), 3)
    assert any("counts their slow start" in one for one in said.json["warnings"])


@pytest.mark.parametrize(
    "cell",
    [f"{PAGES}{16 * 2**20 - 1}", "wan_transfer_s,percentile=50;resource=url;size_bytes=67108864",
     "wan_transfer_s,percentile=95;size_bytes=67108864"],
    ids=["small", "another kind", "another percentile"],
)  # fmt: skip
def test_other_pages_are_no_rate(pages: Callable[[str, float], Path], cell: str) -> None:
    said = cloudcmp(*FAR, cwd=pages(cell, 1.0))
    assert (said.code, said.out) == (2, "")
    assert said.err.splitlines()[-1].startswith(
        "rates: no throughput between places (wan_transfer_s of at least 16 MiB"
    )


def test_a_simulated_rate_says_so(folder: Path) -> None:
    study = ("schema: 1\nquestion: how fast?\ncandidates: [{provider: simulated, region: nimbus, offering: small}]\n"
             "wan: {vantages: [office], sizes: [64 MiB], pages: 1}\nlaunches: 2\nruns: 1\n")  # fmt: skip
    (folder / "far.yaml").write_text(study, encoding="utf-8")
    assert cloudcmp("run", "far.yaml", "--out", "rates", "--quiet", cwd=folder).code == 0
    said = cloudcmp(*FAR[:-3], "simulated/nimbus", "--rate", "50 MB/s", "--json", cwd=folder)
    assert said.code == 0, said.err
    assert said.json["data"]["parts"][1]["rate"]["n"] == 2
    assert "rates: SIMULATED, planted values and not measured ones" in said.json["warnings"]


def test_an_application_is_still_predicted_by_its_file(folder: Path) -> None:
    said = cloudcmp("predict", "moved.yaml", "runs.csv", cwd=folder)
    assert said.err.startswith("moved.yaml: there is no such file")
