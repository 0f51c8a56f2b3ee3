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
