"""Anonymous output: no name of a provider, an offering or a place is left anywhere, and the numbers are the same."""

import csv
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloudcmp.model.market import OfferKey
from cloudcmp.report.anonymity import Anonymity
from tests.cli.command import cloudcmp

NAMES = ("nuage", "himmel", "north-7b", "oslo-2", "westlake-1", "zx8.large", "zx8.huge", "q-standard-4", "Xylon 9999")
"""Names that no word of the product contains."""
SOLD = (("nuage", "north-7b", "zx8.large", 0.1), ("nuage", "oslo-2", "zx8.large", 0.12),
        ("nuage", "north-7b", "zx8.huge", 0.4), ("himmel", "westlake-1", "q-standard-4", 0.2))  # fmt: skip


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("names")
    with (folder / "nuage-against-himmel.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("provider", "region", "offering", "instance", "round", "metric", "params", "unit", "value",
                         "price_usd_per_hour", "vcpus", "memory_gib", "cpu"))  # fmt: skip
        for at, (provider, region, name, price) in enumerate(SOLD):
            for round_ in range(7):
                for metric, params, unit, value in (
                    ("fma_flop_per_s", "precision=f64;threads=one", "flop/s", 1e10 * (1 + at)),
                    ("scaling_latency_s", "count=1;os=linux", "s", 40.0 + 9 * at),
                ):
                    row = (provider, region, name, f"{at}-{round_}", round_, metric, params, unit)
                    writer.writerow((*row, value * (1 + 0.002 * round_), price, 2, 8, "Xylon 9999"))
    done = cloudcmp("import", folder / "nuage-against-himmel.csv", "--out", folder / "study")
    assert done.code == 0, done.err
    return folder / "study"


def named(text: str) -> list[str]:
    return [name for name in NAMES if name.casefold() in text.casefold()]


COMMANDS = (
    ("export",), ("export", "--json"), ("compare",), ("compare", "--all", "--all-pairs"), ("compare", "--json"),
    ("compare", "--markdown"), ("compare", "--steadiness"), ("gaps", "--provider", "C2"),
    ("gaps", "--provider", "C1", "--json"), ("recommend",), ("recommend", "--json"),
    ("recommend", "--all", "--require", "provider in nuage, himmel"),
)  # fmt: skip


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_no_name_is_left(study: Path, words: tuple[str, ...]) -> None:
    plain = cloudcmp(words[0], study, *(["--provider", "himmel"] if words[0] == "gaps" else []),
                     *(["--json"] if "--json" in words else []))  # fmt: skip
    assert named(plain.out)  # the test can fail
    done = cloudcmp(words[0], study, *words[1:], "--anonymise")
    assert done.code == 0, done.err
    assert named(done.out) == []
    assert re.search(r"C[12]\.[12]", done.out)


def test_no_name_is_left_in_the_report_and_its_figures(study: Path, tmp_path: Path) -> None:
    done = cloudcmp("report", study, "--out", tmp_path / "r.html", "--figures", tmp_path / "figures", "--anonymise")
    assert done.code == 0, done.err
    for path in (tmp_path / "r.html", *(tmp_path / "figures").iterdir()):
        assert named(path.name) == []
        assert named(path.read_bytes().decode(errors="replace")) == [], path.name
    assert "C1.2" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_no_name_is_left_on_the_page_of_a_recommendation(study: Path, tmp_path: Path) -> None:
    done = cloudcmp("recommend", study, "--page", tmp_path / "r.html", "--anonymise")
    assert done.code == 0, done.err
    assert named((tmp_path / "r.html").read_text(encoding="utf-8")) == []


def test_no_name_is_left_in_a_bundle(study: Path, tmp_path: Path) -> None:
    done = cloudcmp("export", study, "--bundle", tmp_path / "b", "--anonymise")
    assert done.code == 0, done.err
    assert not (tmp_path / "b" / "study.yaml").exists()
    for path in (tmp_path / "b").iterdir():
        assert named(path.read_bytes().decode(errors="replace")) == [], path.name
    table = cloudcmp("import", tmp_path / "b", "--out", tmp_path / "again")
    assert table.code == 0, table.err
    assert named(cloudcmp("export", tmp_path / "again").out) == []


def test_no_name_is_left_in_a_comparison_of_two_studies(study: Path, tmp_path: Path) -> None:
    table = tmp_path / "himmel-again.csv"
    assert cloudcmp("export", study, "--out", table).code == 0
    for more in ((), ("--all",), ("--json",)):
        done = cloudcmp("compare", study, table, "--allow-blocks", "--anonymise", *more)
        assert done.code == 0, done.err
        assert named(done.out) == []


def test_no_name_is_left_in_prices(tmp_path: Path) -> None:
    lines = ["provider,region,offering,usd_per_hour,vcpus,memory_gib"]
    for at, (size, ratio) in enumerate((2**a, b) for a in range(6) for b in (2, 4)):
        cloud, price = "nuage" if at % 3 else "himmel", 0.05 * size * (1 + at % 5 / 9)
        lines.append(f"{cloud},oslo-2,zx8.x{at},{price},{size},{ratio * size}")
    (tmp_path / "nuage.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert named(cloudcmp("prices", tmp_path / "nuage.csv", "--json").out)
    for more in ((), ("--all",), ("--json",)):
        done = cloudcmp("prices", tmp_path / "nuage.csv", "--anonymise", *more)
        assert done.code == 0, done.err
        assert named(done.out) == []


@pytest.fixture(scope="module")
def dated(study: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of 40 days, with a kernel that names its cloud and changes with the level."""
    path = tmp_path_factory.mktemp("dated") / "nuage-in-march.csv"
    lines = ["provider,region,offering,instance,time,metric,unit,better,value"]
    for day in range(40):
        for provider, region, name, _ in SOLD:
            value = (100.0 if day < 20 else 80.0) + day * 7 % 5 / 10
            lines.append(f"{provider},{region},{name},{day},2026-0{3 + day // 28}-{day % 28 + 1:02d}T00:00:00Z,"
                         f"rate,op/s,higher,{value}")  # fmt: skip
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("more", [(), ("--json",), ("--by", "launch")], ids=" ".join)
def test_no_name_is_left_in_a_history(dated: Path, tmp_path: Path, more: tuple[str, ...]) -> None:
    assert named(cloudcmp("history", dated, *more).out)
    done = cloudcmp("history", dated, "--anonymise", "--figure", tmp_path / "h.svg", *more)
    assert done.code == 0, done.err
    assert named(done.out) == []
    assert named((tmp_path / "h.svg").read_text(encoding="utf-8")) == []
    assert "C1.1@DC2" in done.out
    assert "source 1" in done.out


def test_no_name_is_left_in_the_history_of_a_report(dated: Path, tmp_path: Path) -> None:
    assert cloudcmp("import", dated, "--out", tmp_path / "study").code == 0
    done = cloudcmp("report", tmp_path / "study", "--out", tmp_path / "r.html", "--anonymise")
    assert done.code == 0, done.err
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "The level changed 4 times" in page
    assert named(page) == []


def test_no_name_is_left_in_a_prediction(study: Path, tmp_path: Path) -> None:
    lines = ["provider,region,offering,metric,params,unit,better,value,round,vcpus,price_usd_per_hour"]
    lines += [f"{','.join(key)},int_op_per_s,threads=one,op/s,higher,{100 + 50 * at + round_},{round_},2,{price}"
              for at, (*key, price) in enumerate(SOLD) for round_ in range(6)]  # fmt: skip
    (tmp_path / "nuage.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    home = "{provider: nuage, region: oslo-2, offering: zx8.large}"
    app = f"schema: 1\napplication: shop\nhome: {home}\npages: {{a: {{cpu: 20 ms}}}}\n"
    (tmp_path / "app.yaml").write_text(app, encoding="utf-8")
    for more in ((), ("--all",), ("--json",)):
        assert named(cloudcmp("predict", tmp_path / "app.yaml", tmp_path / "nuage.csv", *more).out)
        done = cloudcmp("predict", tmp_path / "app.yaml", tmp_path / "nuage.csv", "--anonymise", *more)
        assert done.code == 0, done.err
        assert named(done.out) == []
        assert "C1" in done.out


PLANNED = """\
schema: 1
question: Is zx8.large of nuage faster?
candidates:
  - {provider: simulated, region: oslo-2, offering: small, price: 0.10 USD/h}
  - {provider: simulated, region: north-7b, offering: small, price: 0.12 USD/h}
probes: [{probe: fma}]
"""


def test_no_name_is_left_in_a_plan(tmp_path: Path) -> None:
    (tmp_path / "nuage.yaml").write_text(PLANNED, encoding="utf-8")
    plain = cloudcmp("plan", tmp_path / "nuage.yaml", "--json").json["data"]
    for more in ((), ("--json",)):
        assert named(cloudcmp("plan", tmp_path / "nuage.yaml", *more).out)
        done = cloudcmp("plan", tmp_path / "nuage.yaml", "--anonymise", *more)
        assert done.code == 0, done.err
        assert named(done.out) == []
    hidden = cloudcmp("plan", tmp_path / "nuage.yaml", "--json", "--anonymise").json["data"]
    assert [one["id"] for one in hidden["candidates"]] == ["C1.1", "C2.1"]
    assert hidden["quote"]["expected_cost"] == plain["quote"]["expected_cost"]
    assert [line["amount"] for line in hidden["quote"]["lines"]] == [line["amount"] for line in plain["quote"]["lines"]]
    assert hidden["barriers"] == {}


def test_one_mapping_serves_all_outputs_and_keeps_the_numbers(study: Path) -> None:
    plain, hidden = (list(csv.DictReader(cloudcmp("export", study, *more).out.splitlines()))
                     for more in ((), ("--anonymise",)))  # fmt: skip
    assert [row["value"] for row in plain] == [row["value"] for row in hidden]
    mapping = {(row["provider"], row["region"], row["offering"]): (new["provider"], new["region"], new["offering"])
               for row, new in zip(plain, hidden, strict=True)}  # fmt: skip
    assert mapping == {
        ("nuage", "north-7b", "zx8.large"): ("C1", "C1.DC1", "C1.1"),
        ("nuage", "oslo-2", "zx8.large"): ("C1", "C1.DC2", "C1.1"),
        ("nuage", "north-7b", "zx8.huge"): ("C1", "C1.DC1", "C1.2"),
        ("himmel", "westlake-1", "q-standard-4"): ("C2", "C2.DC1", "C2.1"),
    }
    candidates = cloudcmp("compare", study, "--json", "--anonymise").json["data"]["candidates"]
    ids = [one["id"] for one in candidates]
    assert ids == ["C1.1@DC1", "C1.1@DC2", "C1.2", "C2.1"]


def test_real_ids_and_new_names_exclude_each_other(study: Path) -> None:
    done = cloudcmp("export", study, "--anonymise", "--include-ids")
    assert (done.code, done.err) == (2, "--anonymise: real ids would name the providers; leave out --include-ids\n")
    done = cloudcmp("recommend", study, "--columns", "--anonymise")
    assert (done.code, done.out, named(done.err)) == (2, "", [])


MEASURED = """\
schema: 1
question: Is AWS faster than GCP?
candidates:
  - {provider: aws, region: us-east-1, offering: m7i.large, price: 0.1 USD/h, volume: gp3 100 GiB, zone: us-east-1b}
  - {provider: aws, region: eu-north-1, offering: m7i.large, price: 0.11 USD/h}
  - {provider: gcp, region: us-central1, offering: n2-standard-2, price: 0.12 USD/h, zone: us-central1-a}
probes: [{probe: fma, params: {threads: one}}, {probe: scaling}]
launches: 2
budget: 50 USD
"""


def test_no_name_of_a_cloud_with_volumes_and_zones_is_left_where_simulated_stands_in(tmp_path: Path) -> None:
    (tmp_path / "aws.yaml").write_text(MEASURED, encoding="utf-8")
    done = cloudcmp("run", "aws.yaml", "--on", "simulated", "--out", "aws", "--quiet", cwd=tmp_path)
    assert done.code == 0, done.err
    texts = [cloudcmp(*words, "--anonymise", cwd=tmp_path).out for words in (
        ("compare", "aws", "--all"), ("compare", "aws", "--json"), ("export", "aws"),
        ("gaps", "aws", "--provider", "C2"), ("recommend", "aws", "--json"))]  # fmt: skip
    assert all("simulated" in text.casefold() for text in texts)
    assert cloudcmp("export", "aws", "--bundle", "b", "--anonymise", cwd=tmp_path).code == 0
    assert cloudcmp("report", "aws", "--anonymise", cwd=tmp_path).code == 0
    files = [*(tmp_path / "b").iterdir(), tmp_path / "aws" / "report-anonymous.html"]
    texts += [path.read_bytes().decode(errors="replace") for path in files if path.suffix != ".parquet"]
    for text in texts:
        assert re.findall(r"aws|gcp|us-east|m7i|n2-standard|eu-north|us-central|gp3", text, re.IGNORECASE) == []


WORDS = st.text("abcdefgh-.1234", min_size=5, max_size=12).filter(lambda text: any(one.isalpha() for one in text))


@given(st.lists(st.tuples(WORDS, WORDS, WORDS), min_size=1, max_size=6), st.text("abc /:,'\n", max_size=20))
def test_texts_hold_no_name_wherever_it_stands(sold: list[tuple[str, str, str]], around: str) -> None:
    names = Anonymity(OfferKey(*one) for one in sold)
    for one in sold:
        for name in one:
            found = names.text(f"{around} {name} {around}")
            assert f" {name} " not in found
        key = names.key(OfferKey(*one))
        assert re.fullmatch(r"C\d+", key.provider)
        assert key.name.startswith(f"{key.provider}.")


def test_an_offering_of_several_clouds_is_one_of_them_where_its_cloud_is_named() -> None:
    """One region and one type of two clouds: alone they may be either's, with their cloud they are not."""
    keys = [OfferKey("nuage", "oslo-2", "zx8.large"), OfferKey("himmel", "oslo-2", "zx8.large")]
    names = Anonymity(keys)
    assert names.text(f"the runner-up, {keys[1]}, is 3 % behind") == "the runner-up, C2/C2.DC1/C2.1, is 3 % behind"
    assert names.text("zx8.large") == "one of several"
