"""The study of each published seed runs whole in its short form, with the real agent on this machine.

One of them runs here each day; `make promises` runs all five, whose trials take some minutes.
"""

import json
import sqlite3
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from tests.cli.command import cloudcmp
from tests.slices import some

STUDIES = Path(__file__).parent.parent.parent / "studies"
SEEDS = ("cloudcmp-2010", "delgado-2010", "deval-2017", "rodamilans-2014", "shah")

# The longest takes some five minutes on two quiet processors.
_WITHIN_S = 1800.0


def short(seed, folder):
    """Run a seed's study short on local; how many trials it has, and what went wrong with which."""
    words = ("run", str(STUDIES / f"{seed}.yaml"), "--on", "local", "--short", "--out", seed)
    said = cloudcmp(*words, cwd=folder, within_s=_WITHIN_S)
    if said.code != 0:
        return 1, [(said.code, said.err)]
    with sqlite3.connect(folder / seed / "study.db") as base:
        trials = {index for (index,) in base.execute("SELECT trial FROM trial")}
        ends = base.execute("SELECT trial, outcome, why FROM attempt ORDER BY trial, attempt").fetchall()
    wrong = [end for end in ends if end[1] != "ok"] + sorted(trials - {trial for trial, *_ in ends})
    if not (folder / seed / "report.html").read_text(encoding="utf-8").rstrip().endswith("</html>"):
        wrong.append("no whole report")
    return len(trials), wrong


@pytest.mark.parametrize("seed", some(["shah", "delgado-2010"], 1, 0))
def test_a_seeds_study_runs_whole_in_its_short_form(tmp_path, seed):
    tried, wrong = short(seed, tmp_path)
    assert tried >= 20
    assert wrong == []


_STORAGE = ("table", "blob", "queue", "propagation", "consistency")


def test_the_storage_part_of_cloudcmp_runs_whole_on_simulated_clouds(tmp_path):
    """Its services alone, at the smallest sizes: every figure and table of section 5.2."""
    study = YAML(typ="safe").load((STUDIES / "cloudcmp-2010.yaml").read_text(encoding="utf-8"))
    study["candidates"] = [one for one in study["candidates"] if one.get("service") not in {None, "http"}]
    study["probes"] = [one for one in study["probes"] if one["probe"] in _STORAGE]
    assert {one["service"] for one in study["candidates"]} == {"table", "blob", "queue"}
    assert {one["probe"] for one in study["probes"]} == set(_STORAGE)
    study["launches"] = 1
    for key in ("every", "for", "decide", "wan"):
        del study[key]
    (tmp_path / "storage.yaml").write_text(json.dumps(study), encoding="utf-8")
    words = ("run", "storage.yaml", "--on", "simulated", "--short", "--out", "out")
    said = cloudcmp(*words, cwd=tmp_path, within_s=120)
    assert said.code == 0, said.err
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    for name in ("table-latency", "blob-latency", "service-clients", "blob-concurrency", "queue-latency"):
        assert f'id="figure-{name}"' in page
    for caption in ("Cost of an operation", "Highest throughput", "Time to consistency", "Availability"):
        assert f"<caption>{caption}" in page
    assert ">0.13<" in page
    with sqlite3.connect(tmp_path / "out" / "study.db") as base:
        assert base.execute("SELECT DISTINCT outcome FROM attempt").fetchall() == [("ok",)]


@pytest.mark.parametrize("seed", SEEDS)
def test_every_seeds_study_has_a_short_form_on_this_machine(tmp_path, seed):
    told = cloudcmp("plan", str(STUDIES / f"{seed}.yaml"), "--on", "local", "--short", "--json", cwd=tmp_path)
    assert told.code == 0, told.err
    assert told.json["data"]["quote"]["trials"] >= 20
