"""Recommendations from studies, tables and the price book; tables of real clouds with pandas as a second witness."""

import os
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from cloudcmp.app.recommend import question, recommend, sold
from cloudcmp.errors import UserMistake
from cloudcmp.model.market import OfferKey
from tests.cli.command import cloudcmp
from tests.late import Late
from tests.made_once import THREE_SIZES, run_once

pd = Late("pandas")

TABLE = """\
provider,offering,region,usd_per_hour,vcpus,memory_gib,speed,speed_date
aws,m7i.large,us-east-1,0.10,2,8,100,2026-01-05
aws,t3.large,us-east-1,0.04,2,8,60,2026-01-05
aws,m7i.xlarge,us-east-1,0.20,4,16,204,2026-01-06
aws,m7i.large,eu-north-1,0.11,2,8,,
gcp,n2-standard-4,us-east1,0,4,16,900,2026-01-05
"""
TODAY = date(2026, 3, 1)


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_once(tmp_path_factory, "recommend-study", THREE_SIZES)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "table.csv"
    path.write_text(TABLE, encoding="utf-8")
    return path


def test_the_planted_choice_is_found_with_its_chance(measured: Path) -> None:
    found = recommend([str(measured)], question(require=["fma_flop_per_s >= 12e9"]))
    assert found.choice is not None
    assert found.choice.key.name == "medium"
    assert found.choice.meets is not None
    assert found.choice.meets > 0.99
    assert found.choice.launches == 8
    assert found.simulated
    assert any("SIMULATED" in one for one in found.cautions)
    assert [one.pick.key.name for one in found.misses] == ["small"]
    price = next(one for one in found.margins if one.name == "cost")
    assert price.ratio == pytest.approx(2.0)  # up to that of `large`


def test_a_study_and_a_table_of_prices_are_joined(measured: Path, tmp_path: Path) -> None:
    prices = tmp_path / "prices.csv"
    prices.write_text("provider,offering,region,usd_per_hour\nsimulated,large,elsewhere,0.01\n", encoding="utf-8")
    found = recommend([str(measured), str(prices)], question(maximise="fma_flop_per_s / cost"))
    assert found.choice is not None
    assert found.choice.key == OfferKey("simulated", "elsewhere", "large")
    assert found.choice.elsewhere
    assert any("another region" in one for one in found.cautions)


def test_a_burstable_machine_and_a_free_one_do_not_win(table: Path) -> None:
    found = recommend([str(table)], question("cost per speed"), today=TODAY)
    assert found.choice is not None
    assert found.choice.key.name == "m7i.xlarge"
    assert found.flagged is not None
    assert found.flagged.key.name == "t3.large"
    assert any("1 prices are zero" in one for one in found.notes)
    assert found.age == "its oldest measurement is of 2026-01-06, 54 days ago"
    assert found.certainty.startswith("unknown: each measured value is a single one")
    assert [one.key.name for one in found.ladder] == ["m7i.large"]
    assert found.ladder[0].cost == pytest.approx(0.5)
    assert found.ladder[0].work == pytest.approx(100 / 204)


def test_a_region_near_a_city(table: Path) -> None:
    found = recommend([str(table)], question(near="Stockholm"), today=TODAY)
    assert found.choice is not None
    assert found.choice.key.region == "eu-north-1"
    nearest = recommend([str(table)], question(near="Stockholm", require=["speed >= 90"]), today=TODAY)
    assert nearest.choice is None  # its speed there was not measured, and the table names its region


def test_the_command_prints_the_choice_first_and_fits(table: Path) -> None:
    done = cloudcmp("recommend", table, "--require", "speed >= 90", "--all")
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert lines[3] == "RECOMMENDED  aws/us-east-1/m7i.large"
    assert max(map(len, lines)) <= 80
    columns = cloudcmp("recommend", table, "--columns")
    assert "speed" in columns.out
    assert "measured" in columns.out


def test_the_document_has_the_choice_and_no_choice_exits_with_1(table: Path) -> None:
    done = cloudcmp("recommend", table, "--require", "speed >= 90", "--json")
    assert done.code == 0
    assert done.json["data"]["choice"]["key"] == ["aws", "us-east-1", "m7i.large"]
    none = cloudcmp("recommend", table, "--require", "speed >= 9000", "--json")
    assert none.code == 1
    assert none.json["data"]["choice"] is None
    assert none.json["data"]["no_choice"] == "NONE_MEETS"


def test_the_page_has_the_choice_first_and_runs_nothing(measured: Path, tmp_path: Path) -> None:
    page = tmp_path / "answer.html"
    done = cloudcmp("recommend", measured, "--require", "fma_flop_per_s >= 12e9", "--page", page)
    assert done.code == 0, done.err
    text = page.read_text(encoding="utf-8")
    assert text.index("simulated/nimbus/medium") < text.index("What would change it") < text.index("What to mind")
    assert "SIMULATED" in text
    assert "script-src" not in text
    assert "<script" not in text
    assert "default-src 'none'" in text
    assert "Price against" in text
    again = cloudcmp("recommend", measured, "--require", "fma_flop_per_s >= 12e9", "--page", page)
    assert again.code == 0  # a page is replaced, another file is not
    (tmp_path / "mine.html").write_text("mine", encoding="utf-8")
    kept = cloudcmp("recommend", measured, "--page", tmp_path / "mine.html")
    assert kept.code == 2
    assert (tmp_path / "mine.html").read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["--require", "sped >= 9"], "--require: no source has a column 'sped'; did you mean speed?"),
        (["--minimise", "vendors"], "--minimise: no source has a column 'vendors'"),
        (["--minimise", "cost", "--maximise", "speed"], "--maximise: there is another objective"),
        (["--budget", "5"], "--budget: '5' is no price of one hour"),
        (["--budget", "5 EUR/h"], "--budget: the budget is in EUR and the prices are in USD"),
        (["--region-near", "Atlantis"], "--region-near: no city 'Atlantis' is known here"),
        (["--spread", "200 %"], "--spread: '200 %' is not between 0 and 100 %"),
        (["--confidence", "1.5"], "--confidence: 1.5 is not between 0.5 and 1"),
    ],
)
def test_a_mistake_is_one_line_and_exit_2(table: Path, words: list[str], what: str) -> None:
    done = cloudcmp("recommend", table, *words)
    assert done.code == 2
    assert done.out == ""
    told = [line for line in done.err.splitlines() if not line.startswith("reading")]
    assert len(told) == 1, done.err
    assert told[0].startswith(what)


def test_an_empty_price_book_says_how_to_fill_it() -> None:
    with pytest.raises(UserMistake, match="price book is empty; cloudcmp fetch"):
        recommend(["prices"], question())


DATA = os.environ.get("CLOUDCMP_DATA")
real = pytest.mark.skipif(DATA is None, reason="$CLOUDCMP_DATA is not set: no data of real clouds")
BOGO = "stressng_best_n"


def spare_cores() -> Any:
    rows = pd.read_csv(Path(DATA or "") / "sparecores" / "benchmarks_by_instance.csv")
    rows = rows[(rows.usd_per_hour > 0) & (rows[BOGO] > 0) & (rows.status != "INACTIVE")]
    burst = (
        rows.cpu_allocation.isin(["BURSTABLE", "SHARED"])
        | ((rows.vendor == "aws") & rows.instance_type.str.match(r"t\d"))
        | ((rows.vendor == "azure") & rows.instance_type.str.match(r"Standard_B\d"))
        | (
            (rows.vendor == "gcp")
            & rows.instance_type.isin(["e2-micro", "e2-small", "e2-medium", "f1-micro", "g1-small"])
        )
    )
    return rows.assign(per=rows.usd_per_hour / rows[BOGO], burst=burst)


@real
@pytest.mark.parametrize(
    ("needs", "rows"),
    [
        ([], lambda all_: all_),
        (["provider = aws"], lambda all_: all_[all_.vendor == "aws"]),
        (["provider = azure"], lambda all_: all_[all_.vendor == "azure"]),
        (["provider = gcp"], lambda all_: all_[all_.vendor == "gcp"]),
        (["vcpus = 4", "memory_gib = 16"], lambda all_: all_[(all_.vcpus == 4) & (all_.memory_mib == 16384)]),
    ],
    ids=["overall", "aws", "azure", "gcp", "4-vcpus-16-gib"],
)
def test_the_cheapest_per_score_agrees_with_pandas(needs: list[str], rows: Any) -> None:
    table = str(Path(DATA or "") / "sparecores" / "benchmarks_by_instance.csv")
    found = recommend([table], question(f"cost per {BOGO}", require=needs))
    some = rows(spare_cores()).sort_values(["per", "instance_type"])
    steady = some[~some.burst]
    assert found.choice is not None
    assert (found.choice.key.provider, found.choice.key.name) == tuple(steady.iloc[0][["vendor", "instance_type"]])
    assert found.choice.objective == pytest.approx(steady.iloc[0].per, rel=1e-12)
    assert [one.objective for one in found.picks] == pytest.approx(steady.per.head(10).tolist(), rel=1e-12)
    assert found.meeting == len(some)
    trapped = bool(some.iloc[0].burst)
    assert (found.flagged is not None) == trapped
    if found.flagged is not None:
        assert found.flagged.key.name == some.iloc[0].instance_type


@real
def test_thousands_of_offerings_join_with_all_prices() -> None:
    folder = Path(DATA or "")
    market = sold(
        [str(folder / "sparecores" / "benchmarks_by_instance.csv"), str(folder / "vm_prices" / "vm_prices.csv")]
    )
    assert len(market.keys) > 80_000
    assert any("68 prices are zero" in one for one in market.notes)
    assert any("87 prices are below half" in one for one in market.notes)


def test_several_small_machines_may_be_the_cheapest_and_say_what_they_suppose(table: Path) -> None:
    asked = question(require=["total speed >= 190", "provider = aws"], machines=4, adds=["speed"])
    found = recommend([str(table)], asked, today=TODAY)
    assert found.choice is not None
    assert str(found.choice.key) == "aws/us-east-1/m7i.large x 2"
    assert found.choice.best is None
    assert found.certainty.startswith("unknown: n machines are taken to do n times the work of one")
    assert any("nothing was measured with several machines" in one for one in found.cautions)
    assert found.several is not None
    (larger,) = found.several.against
    assert (larger.large.name, larger.equal_cost, larger.equal_work) == ("m7i.xlarge", 2, 3)
    assert (larger.work_ratio, larger.cost_ratio) == (pytest.approx(200 / 204), pytest.approx(1.5))


def test_a_column_machines_of_a_table_is_a_measured_group(tmp_path: Path) -> None:
    rows = ["aws,m7i.large,r,1,0.10,100", "aws,m7i.large,r,4,,320", "aws,m7i.4xlarge,r,1,0.50,300"]
    path = tmp_path / "groups.csv"
    path.write_text("\n".join(["provider,offering,region,machines,usd_per_hour,speed", *rows]), encoding="utf-8")
    found = recommend([str(path)], question(require=["total speed >= 310"], machines=4, adds=["speed"]), today=TODAY)
    assert found.choice is not None
    assert str(found.choice.key) == "aws/r/m7i.large x 4"
    assert found.choice.values[0] == pytest.approx(0.4)
    assert "measured groups" in found.certainty
    alone = recommend([str(path)], question(require=["speed >= 310"]), today=TODAY)
    assert alone.choice is None  # the group has no price of its own


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--adds", "speed"), "--adds: columns add up over several machines only"),
        (("--machines", "0"), "--machines: 0 is not between 2 and 64"),
        (("--machines", "4", "--adds", "none"), "--adds: no source has a column of numbers 'none'"),
        (("--require", "total speed > 1"), "--require: no source has a column 'total speed'; totals need several"),
        (("--machines", "4", "--require", "total speed > 1"), "--require: there is no total of 'speed': whether it"),
    ],
)
def test_a_mistake_about_several_machines_is_one_line(table: Path, words: tuple[str, ...], told: str) -> None:
    said = cloudcmp("recommend", str(table), *words)
    assert said.code == 2
    assert said.err.splitlines()[-1].startswith(told)


def test_several_machines_keep_their_number_without_names(table: Path) -> None:
    asked = question(require=["total speed >= 190", "provider = aws"], machines=4, adds=["speed"])
    found = recommend([str(table)], asked, today=TODAY, anonymise=True)
    assert found.choice is not None
    assert str(found.choice.key) == "C1/C1.DC1/C1.1 x 2"
    assert "m7i" not in repr(found)


def test_a_total_of_a_study_is_named_for_people_and_doubts_about_it_have_no_chance(measured: Path) -> None:
    found = recommend(
        [str(measured)], question(require=["total fma_flop_per_s >= 30e9"], machines=4, adds=["fma_flop_per_s"])
    )
    assert found.used[1].label.startswith("total ")
    assert "fma_flop_per_s" not in found.used[1].label
    assert all(one.chance is None for one in found.doubtful)
    assert not any("the chance is" in one for one in found.cautions)


def test_several_machines_fit_the_terminal_and_the_page(table: Path, tmp_path: Path) -> None:
    page = tmp_path / "answer.html"
    said = cloudcmp("recommend", str(table), "--machines", "4", "--adds", "speed", "--require", "total speed >= 190",
                    "--require", "provider = aws", "--all", "--page", str(page))  # fmt: skip
    assert said.code == 0, said.err
    lines = said.out.splitlines()
    assert "Small against large: aws/us-east-1/m7i.large against each, by speed" in lines
    assert any("m7i.xlarge" in line and "2 do ×0.98" in line and "3 cost ×1.50" in line for line in lines)
    assert max(len(line) for line in lines if str(page) not in line) <= 80
    assert "Small machines against a large one" in page.read_text(encoding="utf-8")
