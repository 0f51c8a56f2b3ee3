import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.crash_points import CLOUD_CRASH_POINTS, RESIZE_CRASH_POINTS

HERE = Path(__file__).parent
SOURCE = HERE.parents[1] / "src" / "cloudcmp" / "provision"


def test_every_crash_point_is_listed():
    named = re.findall(r'crash_point\("([^"]+)"\)', "".join(path.read_text() for path in SOURCE.glob("*.py")))
    assert set(named) == {*CLOUD_CRASH_POINTS, *RESIZE_CRASH_POINTS}  # the latter: tests/app/test_resizing.py


@pytest.fixture(scope="module")
def walked():
    # A process of its own: it forks, which is only sure where no library has started threads.
    done = subprocess.run(
        [sys.executable, "-m", "tests.provision.crash_walk"],
        cwd=HERE.parents[1],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_p1_after_a_kill_at_every_crash_point_nothing_is_left(walked):
    assert {line["point"] for line in walked if line["killed"]} >= set(CLOUD_CRASH_POINTS)
    assert sum(line["killed"] for line in walked) > 40
    for line in walked:
        assert (line["after"], line["open"]) == ([], []), line


def test_some_of_the_kills_did_leave_a_machine_behind(walked):
    assert sum(bool(line["before"]) for line in walked) > 15
    assert all(not line["before"] for line in walked if not line["killed"])
