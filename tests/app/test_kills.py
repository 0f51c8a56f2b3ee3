"""Promises on samples when the controller dies; `make promises` runs them at full length."""

import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def killed(work: Path, kills: int, seed: int) -> dict[str, int]:
    """The toll of so many kills at random moments of simulated studies."""
    done = subprocess.run(
        [sys.executable, HERE / "kills.py", HERE / "small.yaml", work, str(kills), str(seed)],
        capture_output=True, text=True, timeout=3000, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: dict[str, int] = json.loads(done.stdout)
    return found


def test_p16_p20_a_killed_study_loses_nothing_and_says_the_same(tmp_path: Path) -> None:
    toll = killed(tmp_path, 8, 20260105)
    assert toll["kills"] == 8
    assert toll["lost"] == 0
    assert toll["changed"] == 0
