"""Each tool that this machine has is run by its own command line, for as short as it can be, and read."""

import contextlib
import math
import os
import shutil
import socket
import subprocess
import time
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


BETWEEN = {
    "ping": {"packets": "3", "interval_s": "0.01"},
    "iperf3": {"duration_s": "1", "streams": "2"},
    "iperf3-udp": {"duration_s": "1", "protocol": "udp", "rate_bytes_per_s": "1000000"},
}


@pytest.mark.parametrize("case", BETWEEN)
def test_a_tool_between_machines_runs_as_the_agents_would_run_it_and_is_read(case: str, tmp_path: Path) -> None:
    name = case.partition("-")[0]
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed on this machine")
    tool, settings = TOOLS[name], tool_settings(name, BETWEEN[case])
    assert tool.pair is not None
    run = tool.pair(settings)
    rate = 0 if run.rate_bytes_per_s == math.inf else round(8 * run.rate_bytes_per_s)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    told = {"ADDRESS": "127.0.0.1", "PEER": "127.0.0.1", "PORT": str(port), "BITS_PER_S": str(rate)}
    env = {"PATH": os.environ["PATH"]} | {f"CLOUDCMP_{key}": value for key, value in told.items()}
    with contextlib.ExitStack() as stack:
        if run.serve:
            server = stack.enter_context(subprocess.Popen(["sh", "-c", run.serve], env=env, stdout=subprocess.DEVNULL))
            stack.callback(server.kill)
            while f":{port:04X} 00000000:0000 0A" not in Path("/proc/net/tcp").read_text():
                assert server.poll() is None
                time.sleep(0.01)
        done = subprocess.run(
            ["sh", "-c", tool.command(settings)],
            cwd=tmp_path, env=env, capture_output=True, text=True, timeout=15, check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    readings = tool.read(done.stdout, settings)
    assert [one.measure for one in readings] == [one.name for one in tool.measures(settings)]
    assert all(one.value > 0 or METRICS[one.metric].signed for one in readings)


def test_iperf3_says_why_it_failed_where_it_is_looked_for(tmp_path: Path) -> None:
    if shutil.which("iperf3") is None:
        pytest.skip("iperf3 is not installed on this machine")
    tool, settings = TOOLS["iperf3"], tool_settings("iperf3", {})
    env = {"PATH": os.environ["PATH"], "CLOUDCMP_PEER": "127.0.0.1", "CLOUDCMP_PORT": "1", "CLOUDCMP_BITS_PER_S": "0"}
    line = ["sh", "-c", tool.command(settings)]
    done = subprocess.run(line, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=15, check=False)
    assert done.returncode == 1
    assert "unable to connect" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("version", "may"),
    [("3.12", False), ("3.1.3", False), ("3.19", False), ("3.20", True), ("3.21.1", True), ("4.0", True), ("x", False)],
)
def test_iperf3_listens_beyond_loopback_only_if_it_is_new_enough(version: str, may: bool, tmp_path: Path) -> None:
    program = tmp_path / "iperf3"
    program.write_text(f'#!/bin/sh\n[ "$1" = --version ] && echo "iperf {version} (cJSON 1.7.15)" || echo ran "$@"\n')
    program.chmod(0o755)
    pair = TOOLS["iperf3"].pair
    assert pair is not None
    line = ["sh", "-c", pair(tool_settings("iperf3", {})).serve]
    for address, runs in (("10.0.0.2", may), ("127.0.0.1", True), ("::1", True), ("fd00::2", may)):
        env = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "CLOUDCMP_ADDRESS": address, "CLOUDCMP_PORT": "5"}
        done = subprocess.run(line, env=env, capture_output=True, text=True, timeout=15, check=False)
        assert done.stdout == (f"ran -s -1 -B {address} -p 5\n" if runs else "")
        assert runs == (done.returncode == 0)
        assert runs or "may not listen beyond loopback" in done.stderr


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
