"""Stopped on request: orderly, told, and gone on with; a signal that was ignored from the beginning stops nothing."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.app.warm import SHORT
from tests.slices import some

from .command import COMMAND, cloudcmp, forked
from .conftest import SMALL


def _begun(folder: Path, ignored: str = "") -> "subprocess.Popen[str]":
    """A study of many rounds that has come to its second one, started by somebody who ignores a signal."""
    study = folder.with_name("study.yaml")
    study.write_text(SMALL.read_text(encoding="utf-8").replace("launches: 6", "launches: 20"), encoding="utf-8")
    begin = (f"trap '' {ignored}; " if ignored else "") + 'exec "$0" "$@"'
    running = subprocess.Popen(
        ["sh", "-c", begin, COMMAND, "run", study, "--out", folder],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert running.stderr is not None
    for line in running.stderr:
        if line.startswith("round 2"):
            break
    return running


@pytest.mark.parametrize("number", some([signal.SIGHUP, signal.SIGTERM, signal.SIGINT], 1, 0))
def test_p8_one_signal_ends_after_the_trial_and_the_study_goes_on(tmp_path: Path, number: signal.Signals) -> None:
    folder = tmp_path / "out"
    with _begun(folder) as running:
        running.send_signal(number)
        out, err = running.communicate(timeout=60)
    assert running.returncode == 130, err
    assert "Traceback" not in err
    assert f"go on with: cloudcmp run --resume {folder}" in out
    if number == signal.SIGHUP:  # going on is the same whatever stopped it
        told = cloudcmp("compare", folder, "--json").json["warnings"]
        assert any("were not run yet" in line for line in told)
        done = forked(("run", "--resume", folder), {**os.environ, "COLUMNS": "80"}, tmp_path, waits=SHORT)
        assert done.code == 0
        assert Path(done.out.splitlines()[-1]).is_file()
    else:
        assert cloudcmp("cleanup", folder, "--json").json["data"] == {"destroyed": [], "left": []}
        told = cloudcmp("export", folder).out.splitlines()
        assert len(told) > 18  # the first round has so many trials, each with a row or more


@pytest.mark.parametrize("ignored", some([signal.SIGINT, signal.SIGHUP], 1, 0))
def test_what_was_ignored_from_the_beginning_stops_nothing(tmp_path: Path, ignored: signal.Signals) -> None:
    # As by `nohup`, and by a shell without a terminal for what it starts in the background.
    with _begun(tmp_path / "out", ignored.name.removeprefix("SIG")) as running:
        running.send_signal(ignored)
        running.send_signal(ignored)
        assert running.stderr is not None
        for line in running.stderr:
            assert not line.startswith("stopping")
            if line.startswith("round 3"):
                break
        running.send_signal(signal.SIGTERM)
        out, err = running.communicate(timeout=60)
    assert running.returncode == 130, err
    assert "go on with: " in out
