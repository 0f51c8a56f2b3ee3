"""Runs one job of the agent for a benchmark, and sets it beside a peer."""

import json
import os
import statistics
import subprocess
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parent.parent
AGENT = Path(os.environ.get("CLOUDCMP_AGENT", ROOT / ".venv/bin/cloudcmp-agent"))


def cpus() -> list[int]:
    """The processors that this process may use."""
    return sorted(os.sched_getaffinity(0))


def run_agent(probe: str, params: dict[str, str]) -> tuple[dict[str, list[float]], dict[str, object]]:
    """The values of each metric of one solo trial, and its notes; raises RuntimeError when it did not end well."""
    job = {
        "v": 1, "seq": 0, "type": "job", "probe": probe, "params": params, "role": "solo", "cpus": cpus(),
        "dir": None, "peer": None, "secret": None, "deadline_s": 120.0, "seed": 1,
    }  # fmt: skip
    values: dict[str, list[float]] = {}
    notes: dict[str, object] = {}
    with subprocess.Popen([AGENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as agent:
        assert agent.stdin is not None
        assert agent.stdout is not None
        agent.stdin.write(json.dumps(job).encode() + b"\n")
        agent.stdin.flush()
        frame: dict[str, object] = {}
        for line in agent.stdout:
            frame = json.loads(line)
            if frame["type"] == "sample":
                values.setdefault(str(frame["metric"]), []).append(float(str(frame["value"])))
            elif frame["type"] == "note":
                notes[str(frame["key"])] = frame["value"]
            elif frame["type"] == "error":
                notes["error"] = frame["what"]
    if frame.get("outcome") != "ok":
        raise RuntimeError(f"the agent's trial ended as {frame.get('outcome')}: {notes.get('error')}")
    return values, notes


def side_by_side(name: str, ours: Callable[[], float], peer: Callable[[], float], rounds: int) -> None:
    """Runs both in turn, A B A B, and prints the medians and the ratio with its spread."""
    a, b = [], []
    for _ in range(rounds):
        a.append(ours())
        b.append(peer())
    ratios = sorted(x / y for x, y in zip(a, b, strict=True))
    middle = statistics.median(ratios)
    print(
        f"{name:<34} {statistics.median(a):>10.4g} {statistics.median(b):>10.4g}"
        f"   {middle:.3f}  ({ratios[0]:.3f} to {ratios[-1]:.3f}, {rounds} rounds)"
    )
