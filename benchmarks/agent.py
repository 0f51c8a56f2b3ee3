"""Runs one job of the agent for a benchmark, sets it beside a peer, and keeps what was seen."""

import datetime
import json
import os
import platform
import statistics
import subprocess
import sys
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from cloudcmp.model.frames import PROTOCOL_VERSION

ROOT = Path(__file__).parent.parent
AGENT = Path(os.environ.get("CLOUDCMP_AGENT", ROOT / ".venv/bin/cloudcmp-agent"))
SEEN = Path(__file__).parent / "seen.json"
GOALS: dict[str, dict[str, str]] = tomllib.loads((Path(__file__).parent / "goals.toml").read_text(encoding="utf-8"))
RECORD = "--record"


def cpus() -> list[int]:
    """The processors that this process may use."""
    return sorted(os.sched_getaffinity(0))


def rounds(given: int) -> int:
    """How many rounds the command line asks for; a flag is no number."""
    numbers = [word for word in sys.argv[1:] if word.isdigit()]
    return int(numbers[0]) if numbers else given


def missing() -> str | None:
    """Why there is nothing to measure, None where the agent is there."""
    return None if AGENT.exists() else f"no agent at {AGENT}; build it with 'make build', or set CLOUDCMP_AGENT"


def job(
    probe: str, params: dict[str, str], folder: Path | None = None, cpus: Sequence[int] = tuple(cpus())
) -> dict[str, object]:
    """What the agent is asked for one solo trial."""
    return {
        "v": PROTOCOL_VERSION, "seq": 0, "type": "job", "probe": probe, "params": params, "role": "solo",
        "cpus": list(cpus), "dir": folder and str(folder), "secret": None, "deadline_s": 600.0, "seed": 1,
    }  # fmt: skip


def frames(probe: str, params: dict[str, str], folder: Path | None = None) -> list[dict[str, Any]]:
    """All frames of one solo trial; raises RuntimeError when it did not end well."""
    with subprocess.Popen([AGENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as agent:
        assert agent.stdin is not None
        assert agent.stdout is not None
        agent.stdin.write(json.dumps(job(probe, params, folder)).encode() + b"\n")
        agent.stdin.flush()
        found = [json.loads(line) for line in agent.stdout]
    if not found or found[-1].get("outcome") != "ok":
        errors = [str(frame["what"]) for frame in found if frame["type"] == "error"]
        raise RuntimeError(f"the agent's trial did not end well: {'; '.join(errors) or 'no word why'}")
    return found


def run_agent(
    probe: str, params: dict[str, str], folder: Path | None = None
) -> tuple[dict[str, list[float]], dict[str, object]]:
    """The values of each metric of one solo trial, and its notes; raises RuntimeError when it did not end well."""
    values: dict[str, list[float]] = {}
    notes: dict[str, object] = {}
    for frame in frames(probe, params, folder):
        if frame["type"] == "sample":
            values.setdefault(str(frame["metric"]), []).append(float(frame["value"]))
        elif frame["type"] == "note":
            notes[str(frame["key"])] = frame["value"]
    return values, notes


def side_by_side(name: str, ours: Callable[[], float], peer: Callable[[], float], rounds: int, about: str = "") -> None:
    """Runs both in turn, A B A B, and shows the ratios; `name` is one of the goals, or free words."""
    a, b = [], []
    for _ in range(rounds):
        a.append(ours())
        b.append(peer())
    figures = f"{statistics.median(a):>10.4g} {statistics.median(b):>10.4g}"
    show(name, [x / y for x, y in zip(a, b, strict=True)], figures, about)


def show(name: str, ratios: Sequence[float], figures: str = "", about: str = "") -> None:
    """Prints the median ratio with its spread; with --record keeps it for the docs, where it is of one of the goals.

    `about` tells what the peer turned out to be on this machine, where that bears on the ratio.
    """
    low, middle, high = min(ratios), statistics.median(ratios), max(ratios)
    print(f"{name:<34} {figures:>21}   {middle:.3f}  ({low:.3f} to {high:.3f}, {len(ratios)} rounds)")
    if RECORD in sys.argv and name in GOALS:
        seen = json.loads(SEEN.read_text(encoding="utf-8")) if SEEN.exists() else {}
        seen[name] = {
            "ratio": round(middle, 3), "low": round(low, 3), "high": round(high, 3), "rounds": len(ratios),
            "machine": ", ".join(filter(None, (machine(), about))),
            "date": datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
        }  # fmt: skip
        SEEN.write_text(json.dumps(seen, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def machine() -> str:
    """The processor and how many of it there are, as Linux tells."""
    told = {}
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        key, _, value = line.partition(":")
        told.setdefault(key.strip(), value.strip())
    name = told.get("model name", platform.machine())
    family = f", family {told['cpu family']} model {told['model']}" if "cpu family" in told else ""
    return f"{len(cpus())} vCPU {name}{family}"
