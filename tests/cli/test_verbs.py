"""The verbs, from a study file to tables, reports and back."""

import csv
import io
import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.slices import some

from .command import cloudcmp, installed
from .conftest import SMALL, TINY


def test_run_prints_tables_and_the_report_last(tmp_path: Path) -> None:
    said = installed("run", SMALL, "--out", tmp_path / "study", "--figures", tmp_path / "figures")
    assert said.code == 0
    assert Path(said.out.splitlines()[-1]) == tmp_path / "study" / "report.html"
    assert "SIMULATED" in said.out
    # Paths may be longer than a table; everything else fits.
    assert max(map(len, said.out.splitlines()[:-1])) <= 80
    assert "trials" in said.err
    kinds = {path.suffix for path in (tmp_path / "figures").iterdir()}
    assert kinds == {".svg", ".png", ".csv"}


def test_run_with_json_is_one_document_and_nothing_else(tmp_path: Path) -> None:
    said = cloudcmp("run", TINY, "--out", tmp_path / "study", "--json")
    document = said.json
    assert document["schema"] == "cloudcmp.run/1"
    assert document["data"]["finished"] is True
    assert Path(document["data"]["report"]).is_file()
    assert len(document["data"]["candidates"]) == 2
    assert "NaN" not in said.out
    assert said.err == ""


def test_a_folder_that_is_not_empty_is_not_written_over(measured: Path) -> None:
    said = cloudcmp("run", SMALL, "--out", measured)
    assert said.code == 2
    assert said.err.count("\n") == 1
    assert str(measured) in said.err


def test_plan_quotes_and_creates_nothing(tmp_path: Path) -> None:
    said = cloudcmp("plan", SMALL.resolve(), cwd=tmp_path)
    assert said.code == 0
    assert "108 on 18 launches" in said.out
    assert "detectable" in said.out
    assert list(tmp_path.iterdir()) == []
    assert cloudcmp("plan", SMALL, "--json").json["data"]["quote"]["trials"] == 108


def test_compare_shows_one_metric_without_changing_the_family(measured: Path) -> None:
    every = cloudcmp("compare", measured, "--json").json["data"]["comparisons"]
    some = cloudcmp("compare", measured, "--metric", "fma_flop_per_s", "--json").json["data"]["comparisons"]
    assert 0 < len(some) < len(every)
    assert some == [one for one in every if one["cell"].startswith("fma_flop_per_s")]


def test_what_it_takes_to_tell_two_apart_does_not_depend_on_what_is_shown(tmp_path: Path) -> None:
    wide = [("a", 10, 16, 7, 12, 8, 11), ("b", 14, 9, 17, 8, 12, 15)]
    rows = [f"{name},{metric},u,higher,{value},{at}" for metric in ("one", "two") for name, *values in wide
            for at, value in enumerate(values)]  # fmt: skip
    table = tmp_path / "wide.csv"
    table.write_text("offering,metric,unit,better,value,round\n" + "\n".join(rows) + "\n", encoding="utf-8")
    assert cloudcmp("import", table, "--out", tmp_path / "wide").code == 0

    def outlooks(*options: str) -> list[dict[str, object]]:
        return list(cloudcmp("compare", tmp_path / "wide", *options, "--json").json["data"]["outlooks"])

    whole = outlooks()
    assert [one["cell"] for one in whole] == ["one", "two"]
    assert outlooks("--metric", "one") == whole[:1]


def test_compare_with_todays_prices_keeps_the_verdicts(measured: Path) -> None:
    before = cloudcmp("compare", measured, "--json").json["data"]
    after = cloudcmp("compare", measured, "--reprice", "--json").json["data"]
    assert before["comparisons"] == after["comparisons"]


def test_another_way_of_buying_changes_figures_of_cost_alone(measured: Path) -> None:
    def figures(*options: str) -> list[dict[str, object]]:
        data = cloudcmp("compare", measured, *options, "--json").json["data"]
        costs = {"cost_per_task", "work_per_money", "warnings"}
        return [{key: value for key, value in one.items() if key not in costs} for one in data["estimates"]]

    assert figures() == figures("--purchase", "on-demand") == figures("--purchase", "reserved")
    assert cloudcmp("compare", measured, "--purchase", "free").code == 2


def test_other_terms_change_figures_of_cost_alone_and_are_told(measured: Path, tmp_path: Path) -> None:
    own = tmp_path / "own.yml"
    own.write_text("discounts: [{share: 30 %, provider: simulated}]\n", encoding="utf-8")
    before, after = (cloudcmp("compare", measured, *more, "--json").json for more in ((), ("--terms", own)))
    assert before["data"]["under"] is None
    assert after["data"]["under"]["discounts"] == [{"share": "0.3", "provider": "simulated", "item": ""}]
    assert any("use the terms of own.yml" in line for line in after["warnings"])
    assert str(tmp_path) not in json.dumps(after["warnings"])
    ratios = set()
    for one, other in zip(before["data"]["estimates"], after["data"]["estimates"], strict=True):
        if one["work_per_money"]:
            ratios.add(round(other["work_per_money"] / one["work_per_money"], 9))
        costs = {"cost_per_task", "work_per_money", "warnings"}
        assert all(other[key] == value for key, value in one.items() if key not in costs)
    assert ratios == {round(1 / 0.7, 9)}
    page = tmp_path / "page.html"
    assert cloudcmp("report", measured, "--terms", own, "--out", page).code == 0
    assert "use the terms of own.yml" in page.read_text(encoding="utf-8")
    again = cloudcmp("compare", measured, "--json").json["data"]
    assert again == before["data"]  # the study keeps its own


def test_bad_terms_are_one_line(measured: Path, tmp_path: Path) -> None:
    own = tmp_path / "own.yml"
    own.write_text("discounts: [{share: 300 %}]\n", encoding="utf-8")
    for verb in ("compare", "report"):
        said = cloudcmp(verb, measured, "--terms", own)
        assert (said.code, said.err.count("\n")) == (2, 1)
        assert f"{own}:1:21: share: " in said.err
    for name, content, why in (("none.yml", None, "there is no such file"), ("empty.yml", " \n", "the file is empty")):
        own = tmp_path / name
        if content is not None:
            own.write_text(content, encoding="utf-8")
        said = cloudcmp("compare", measured, "--terms", own)
        assert (said.code, said.err.count("\n")) == (2, 1)
        assert why in said.err
        assert "write e.g. discounts: [{share: 10 %}]" in said.err


def test_an_unknown_metric_names_the_nearest(measured: Path) -> None:
    said = cloudcmp("compare", measured, "--metric", "fma_flops_per_s")
    assert said.code == 2
    assert "nearest: fma_flop_per_s" in said.err


def test_report_writes_where_it_is_told(measured: Path, tmp_path: Path) -> None:
    said = cloudcmp("report", measured, "--out", tmp_path / "deep" / "page.html")
    assert said.code == 0
    assert said.out.strip() == str(tmp_path / "deep" / "page.html")
    page = (tmp_path / "deep" / "page.html").read_text(encoding="utf-8")
    assert page == (measured / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", some(["csv", "parquet"], 1, 1))
def test_export_and_import_keep_every_value(measured: Path, tmp_path: Path, kind: str) -> None:
    table = tmp_path / f"small.{kind}"
    command = installed if kind == "parquet" else cloudcmp  # it loads more
    assert command("export", measured, "--out", table, "--format", kind).code == 0
    assert command("import", table, "--out", tmp_path / "again").code == 0
    # An imported table knows its candidates in the order of its rows.
    first, again = (
        _by_region(cloudcmp("compare", each, "--json").json["data"]) for each in (measured, tmp_path / "again")
    )
    assert first == again


def _by_region(data: dict[str, Any]) -> tuple[dict[Any, Any], dict[Any, Any]]:
    regions = [one["offering"]["region"] for one in data["candidates"]]
    medians = {(regions[one["candidate"]], one["cell"]): one["median"] for one in data["estimates"]}
    tests = {
        (frozenset({regions[one["a"]], regions[one["b"]]}), one["cell"]): (
            one["n"],
            one["p_paired"] and round(one["p_paired"], 9),
        )
        for one in data["comparisons"]
    }
    return medians, tests


def test_export_to_standard_output_is_a_table(measured: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(cloudcmp("export", measured).out)))
    assert {"offering", "metric", "unit", "value", "outcome"} <= set(rows[0])
    assert any(row["outcome"] != "ok" and row["value"] == "" for row in rows)
    records = json.loads(cloudcmp("export", measured, "--json").out)["data"]
    assert len(records) == len(rows)


def test_import_tells_every_fault_with_its_line(tmp_path: Path) -> None:
    table = tmp_path / "bad.csv"
    table.write_text("offering,metric,unit,better,value\na,speed,op/s,higher,fast\nb,speed,B/s,higher,2\na,x,,,nan\n")
    said = cloudcmp("import", table, "--out", tmp_path / "study")
    assert said.code == 2
    assert f"{table}:2" in said.err
    assert len(said.err.splitlines()) >= 3
    assert not (tmp_path / "study").exists()


def test_a_finished_study_has_nothing_to_resume(measured: Path) -> None:
    before = cloudcmp("export", measured).out
    said = cloudcmp("run", "--resume", measured)
    assert said.code == 0
    assert cloudcmp("export", measured).out == before


def test_cleanup_finds_nothing_left(measured: Path) -> None:
    said = cloudcmp("cleanup", measured, "--json")
    assert said.code == 0
    assert said.json["data"] == {"destroyed": [], "left": []}


def test_on_simulated_says_so_in_every_table(tmp_path: Path) -> None:
    study = tmp_path / "mine.yaml"
    study.write_text(
        "schema: 1\nquestion: Which?\ncandidates:\n  - {provider: local, region: local, offering: 1cpu}\n"
        "  - {provider: simulated, region: nimbus, offering: small}\nprobes: [{probe: fma}]\n"
    )
    said = cloudcmp("run", study, "--on", "simulated", "--short", "--out", tmp_path / "study")
    assert said.code == 0, said.err
    assert "SIMULATED" in said.out
    assert "on simulated" in said.out


def test_test_files_stay_where_the_study_began_to_make_them(tmp_path: Path) -> None:
    place, other = tmp_path / "place", tmp_path / "other"
    said = cloudcmp("run", TINY, "--dir", place, "--out", tmp_path / "study")
    assert said.code == 0
    refused = cloudcmp("run", "--resume", tmp_path / "study", "--dir", other)
    assert refused.code == 2
    assert str(place) in refused.err
    place.rename(tmp_path / "gone")
    refused = cloudcmp("run", "--resume", tmp_path / "study")
    assert refused.code == 2
    assert "gone" in refused.err
    file = tmp_path / "file"
    file.write_text("")
    assert cloudcmp("run", TINY, "--dir", file, "--out", tmp_path / "never").code == 3
    assert not (tmp_path / "never").exists()


def test_without_arguments_the_help_is_shown() -> None:
    said = cloudcmp()
    assert said.code == 0
    assert "Commands:" in said.out


def test_a_cell_may_be_named_by_some_of_its_parameters(measured: Path) -> None:
    data = cloudcmp("compare", measured, "--metric", "rtt_s percentile=50", "--json").json["data"]
    assert {one["cell"] for one in data["estimates"]} == {"rtt_s path=zone;percentile=50;protocol=tcp;size_bytes=64"}


def test_a_folder_is_no_file_to_write(measured: Path, tmp_path: Path) -> None:
    for verb in ("export", "report"):
        said = cloudcmp(verb, measured, "--out", tmp_path)
        assert said.code == 2
        assert "is a folder" in said.err
    assert cloudcmp("export", measured, "--out", tmp_path / "small.parquet").code == 0
    assert (tmp_path / "small.parquet").read_bytes()[:4] == b"PAR1"


def test_studies_are_listed_for_what_they_are(tmp_path: Path) -> None:
    table = tmp_path / "blog.csv"
    table.write_text("offering,metric,unit,better,value\na,speed,op/s,higher,1\nb,speed,op/s,higher,2\n")
    said = cloudcmp("import", "blog.csv", cwd=tmp_path)
    assert "2 values; next: cloudcmp compare" in said.out
    rows = cloudcmp("list", "studies", "--json", cwd=tmp_path, XDG_STATE_HOME=str(tmp_path)).json["data"]["rows"]
    (row,) = rows
    assert datetime.strptime(row.pop("written (UTC)"), "%Y-%m-%d %H:%M")
    assert row == {
        "study": said.out.splitlines()[-1], "kind": "imported", "name": "blog", "candidates": "2", "state": "finished",
    }  # fmt: skip


def test_an_answer_has_one_form_and_lines_beside_it_fit_the_page(tmp_path: Path) -> None:
    said = cloudcmp("list", "prices", "--vcpus", "2", "--csv", "--json")
    assert said.code == 2
    assert "give one of them" in said.out
    shown = cloudcmp("list", "prices", "--vcpus", "2", HOME=str(tmp_path), XDG_DATA_HOME=str(tmp_path))
    assert shown.code == 0
    assert "left out, no credentials:" in shown.err
    assert max(map(len, shown.err.splitlines())) <= 80
