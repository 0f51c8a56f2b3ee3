"""`profile` and `predict` as commands."""

import json
from pathlib import Path

import pytest

from .command import Said, cloudcmp

APP = """schema: 1
application: shop
home: {provider: cloud, region: r, offering: small}
pages: {start: {cpu: 20 ms}, search: {cpu: 40 ms, weight: 3}}
"""
TABLE = """provider,region,offering,metric,params,unit,better,value,round,vcpus,price_usd_per_hour
""" + "".join(
    f"cloud,r,{name},int_op_per_s,threads=one,op/s,higher,{speed + at},{at},2,{price}\n"
    for name, speed, price in (("small", 100, 0.1), ("large", 200, 0.3), ("huge", 400, 0.9))
    for at in range(6)
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "app.yaml").write_text(APP, encoding="utf-8")
    (tmp_path / "table.csv").write_text(TABLE, encoding="utf-8")
    return tmp_path


def predicted(folder: Path, *more: str) -> Said:
    said = cloudcmp("predict", "app.yaml", "table.csv", *more, cwd=folder)
    assert said.code == 0, said.err
    return said


def test_the_short_list_comes_first(folder: Path) -> None:
    lines = predicted(folder).out.splitlines()
    assert lines[0] == "shop: response time of a page, least time"
    assert lines[2].startswith("SHORT LIST   1. cloud/r/huge: 8.9")
    assert max(map(len, lines)) <= 80
    assert any(line.startswith("MIND") for line in lines)


def test_the_document_has_the_numbers(folder: Path) -> None:
    found = predicted(folder, "--json", "--minimise", "cost").json
    assert found["schema"] == "cloudcmp.predict/1"
    assert [one["name"] for one in found["data"]["short_list"]] == ["small", "large", "huge"]
    small = found["data"]["candidates"][0]
    # 1000 pages of 35 ms, on one of two processors at 0.10 an hour.
    assert small["cost"] == pytest.approx(1000 * 0.035 / 2 * 0.10 / 3600)
    assert small["parts_s"] == pytest.approx([0.020, 0.040])


def test_a_program_is_profiled_and_what_it_prints_is_no_part_of_the_answer(tmp_path: Path) -> None:
    said = cloudcmp("profile", "--json", "--runs", "2", "--out", "a.yaml", "--", "sh", "-c", "echo mine", cwd=tmp_path)
    assert said.code == 0, said.err
    assert "mine" in said.err
    data = json.loads(said.out)["data"]
    assert (data["application"], data["runs"], data["out"]) == ("sh", 2, "a.yaml")
    elapsed = next(one for one in data["demands"] if one["name"] == "elapsed")
    assert (elapsed["n"], elapsed["unit"]) == (2, "s")
    assert elapsed["bounds"]["low"] <= elapsed["mean"] <= elapsed["bounds"]["high"]


def test_demands_are_shown_and_what_is_missing_is_named(tmp_path: Path) -> None:
    said = cloudcmp("profile", "true", cwd=tmp_path, PATH="/nowhere:/usr/bin:/bin")
    assert said.code == 0, said.err
    assert "processor time, user" in said.out
    assert 'application: "true"' in said.out
    assert max(map(len, said.out.partition("# The demands")[0].splitlines())) <= 80


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ["predict", "none.yaml", "table.csv"],
            "none.yaml: there is no such file; 'cloudcmp profile --out' writes one",
        ),
        (["predict", "table.csv", "table.csv"], "table.csv:1:1: an application is made of key: value lines"),
        (["predict", "app.yaml", "none"], "none: no such study or file"),
        (["predict", "app.yaml", "table.csv", "--confidence", "2"], "--confidence: 2.0 is not between 0.5 and 1"),
        (["profile", "--runs", "0", "true"], "--runs: 0 is not between 1 and 1000; write e.g. --runs 3"),
        (["profile", "./none"], "./none: cannot be started: No such file or directory"),
        (["profile", "false"], "false: run 1 failed, exit code 1; correct the command"),
    ],
)
def test_a_mistake_is_one_line(folder: Path, words: list[str], told: str) -> None:
    said = cloudcmp(*words, cwd=folder)
    assert said.code == 2
    line = said.err.splitlines()[-1]
    assert line.startswith(told)


def test_times_alone_predict_machines_of_their_size_and_name_the_others(folder: Path) -> None:
    times = "".join(
        f"- {{provider: cloud, region: r, offering: {name}, time: {time} s}}\n"
        for name, time in (("small", 4), ("large", 2.1))
    )
    (folder / "app.yaml").write_text(f"application: mine\nmeasured:\n{times}", encoding="utf-8")
    rows = [line.replace(",2,0.9", ",4,0.9") for line in TABLE.splitlines()]
    rows += [row.replace("cloud,r,large", "cloud,r,same").replace("0.3", "0.2") for row in rows if "large" in row]
    (folder / "table.csv").write_text("\n".join(rows), encoding="utf-8")
    lines = predicted(folder, "--all").out.splitlines()
    assert any("cloud/r/same: 2.0" in line for line in lines[2:5])
    assert any(line.split() == ["cloud/r/huge", "another", "size", "4", "processors,", "it", "ran", "on", "2"]
               for line in lines)  # fmt: skip
    assert predicted(folder).out.rstrip().endswith("--all shows 1 that were left out")
