"""Who interrupts a command when its work is over, and only its end takes long, is told what is left all the same."""

import os
from pathlib import Path

import pytest

from tests.cli.command import Said, cloudcmp, forked
from tests.slices import long, some

SMALL = Path(__file__).with_name("small.yaml")
LEFT = "simulated/stratus instance sim-stuck: it is still there"


def held_up(*words: str | Path, cwd: Path, moment: str = "threads") -> Said:
    """See held_up.py; it must end long before the call that hangs does."""
    done = forked(words, {**os.environ, "MOMENT": moment}, cwd, 300.0, prepare="tests.app.held_up")
    assert "Traceback" not in done.err, done.err
    return done


@pytest.mark.parametrize("moment", some(["threads", "compact"], 1, 1))
def test_p08_a_study_that_is_interrupted_when_it_is_over_tells_what_is_left(tmp_path: Path, moment: str) -> None:
    said = held_up("run", SMALL, "--out", "small", cwd=tmp_path, moment=moment)
    assert said.code == 130
    assert f"left: {LEFT}" in said.err
    assert "end it with: cloudcmp cleanup small" in said.err
    assert "interrupted" in said.out
    assert "go on with: cloudcmp run --resume small" in said.out
    assert cloudcmp("run", "--resume", "small", cwd=tmp_path).code == 0


@long
def test_p08_a_cleanup_that_is_interrupted_when_it_is_over_tells_what_is_left(tmp_path: Path) -> None:
    assert cloudcmp("run", SMALL, "--out", "small", cwd=tmp_path).code == 0
    said = held_up("cleanup", "small", cwd=tmp_path)
    assert said.code == 130
    assert f"left: {LEFT}" in said.err
    assert "interrupted; run again: cloudcmp cleanup small" in said.out
    assert held_up("cleanup", "small", "--json", cwd=tmp_path).json["data"]["left"] == [LEFT]


def test_p08_a_try_out_that_is_interrupted_when_it_is_over_tells_what_is_left_and_keeps_it(tmp_path: Path) -> None:
    said = held_up("check", "--live", "simulated", cwd=tmp_path)
    assert said.code == 130
    assert LEFT in said.err
    (folder,) = (tmp_path / "cloudcmp-studies").iterdir()
    assert f"cloudcmp cleanup cloudcmp-studies/{folder.name}" in said.err
    assert cloudcmp("cleanup", folder).code == 0


def test_p08_a_sweep_that_is_interrupted_when_it_is_over_tells_what_it_found(tmp_path: Path) -> None:
    said = held_up("sweep", "simulated", "--delete", cwd=tmp_path)
    assert said.code == 130
    assert "interrupted; run the same command again" in said.out
    assert "before anything was looked at" not in said.out + said.err
