"""Promises on samples when the controller dies; `make promises` runs them at full length."""

import signal
import sqlite3
from contextlib import closing
from pathlib import Path

from tests.app.kills import Toll, run
from tests.cli.command import cloudcmp
from tests.slices import examples, long, some

STUDY = Path(__file__).with_name("small.yaml")


def killed(work: Path, kills: int, seed: int) -> Toll:
    """The toll of so many kills at random moments of simulated studies."""
    return run(STUDY, work, kills, seed)


@long  # a crash at any point each day: tests/store/test_crash.py
def test_p16_p20_a_killed_study_loses_nothing_and_says_the_same(tmp_path: Path) -> None:
    n = examples(3, 3)
    toll = killed(tmp_path, n, 20260105)
    assert toll.kills == n
    assert toll.lost == 0
    assert toll.changed == 0


@long
def test_p16_machines_that_went_while_the_controller_died_are_seen_to_be_gone(tmp_path: Path) -> None:
    """Virtual time had gone on by a quarter of an hour of waits that hung when the last of them were asked to go."""
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    assert cloudcmp("run", STUDY, "--out", whole).code == 0
    with closing(sqlite3.connect(whole / "study.db")) as database:
        (rows,) = database.execute("SELECT count(*) FROM lease").fetchone()
    for before_the_end in some((0, 1), 1, 1):
        out = cut / str(before_the_end)
        point = f"lease.before_commit:{rows - before_the_end}"
        assert cloudcmp("run", STUDY, "--out", out, CLOUDCMP_CRASH_AT=point).code == -signal.SIGKILL
        done = cloudcmp("run", "--resume", out)
        assert done.code == 0, done.err
