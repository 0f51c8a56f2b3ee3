"""Stopped on request: orderly, told, and gone on with."""

import signal
import subprocess
from pathlib import Path

import pytest

from .command import COMMAND, cloudcmp


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_p8_one_signal_ends_after_the_trial_and_the_study_goes_on(tmp_path: Path, number: signal.Signals) -> None:
    folder = tmp_path / "demo"
    with subprocess.Popen(
        [COMMAND, "demo", "--out", folder], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        assert running.stderr is not None
        for line in running.stderr:
            if line.startswith("round 2"):
                break
        running.send_signal(number)
        out, err = running.communicate(timeout=60)
    assert running.returncode == 130, err
    assert "Traceback" not in err
    assert f"go on with: cloudcmp run --resume {folder}" in out
    assert cloudcmp("cleanup", folder, "--json").json["data"] == {"destroyed": [], "left": []}
    told = cloudcmp("report", folder, "--json").json["warnings"]
    assert any("were not run yet" in line for line in told)
    done = cloudcmp("run", "--resume", folder)
    assert done.code == 0
    assert Path(done.out.splitlines()[-1]).is_file()
