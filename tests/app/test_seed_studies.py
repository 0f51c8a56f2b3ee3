"""The study of each published seed runs whole in its short form, with the real agent on this machine.

One of them runs here each day; `make promises` runs all five, whose trials take some minutes.
"""

import sqlite3
from pathlib import Path

import pytest

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


@pytest.mark.parametrize("seed", some(["delgado-2010", "shah"], 1, 0))
def test_a_seeds_study_runs_whole_in_its_short_form(tmp_path, seed):
    tried, wrong = short(seed, tmp_path)
    assert tried >= 20
    assert wrong == []


@pytest.mark.parametrize("seed", SEEDS)
def test_every_seeds_study_has_a_short_form_on_this_machine(tmp_path, seed):
    told = cloudcmp("plan", str(STUDIES / f"{seed}.yaml"), "--on", "local", "--short", "--json", cwd=tmp_path)
    assert told.code == 0, told.err
    assert told.json["data"]["quote"]["trials"] >= 20
