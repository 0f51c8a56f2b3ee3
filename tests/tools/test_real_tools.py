"""Each tool that this machine has is run by its own command line, for as short as it can be, and read."""

import shutil
import subprocess
from pathlib import Path

import pytest

from cloudcmp.catalog import METRICS
from cloudcmp.catalog.lookup import tool_settings
from cloudcmp.tools import TOOLS

SHORT = {
    "fio": ({"size_bytes": "4 MiB", "duration_s": "0.3", "ioengine": "psync", "direct": "no", "rw": "randrw"}, "fio"),
    "sysbench-cpu": ({"duration_s": "1"}, "sysbench"),
    "sysbench-fileio": ({"duration_s": "1", "file_total_bytes": "4 MiB", "direct": "no"}, "sysbench"),
    "stress-ng-cpu": ({"duration_s": "1", "workers": "all"}, "stress-ng"),
    "dbench": ({"duration_s": "2", "clients": "2"}, "dbench"),
    "hpcc": ({"n": "400", "nb": "64"}, "hpcc"),
}


@pytest.mark.parametrize("name", SHORT)
def test_a_tool_runs_and_is_read(name: str, tmp_path: Path) -> None:
    params, program = SHORT[name]
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed on this machine")
    settings = tool_settings(name, params)
    tool = TOOLS[name]
    done = subprocess.run(
        ["sh", "-c", tool.command(settings)], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    readings = tool.read(done.stdout, settings)
    assert [one.measure for one in readings] == [one.name for one in tool.measures(settings)]
    assert all(one.value > 0 or METRICS[one.metric].signed for one in readings)
