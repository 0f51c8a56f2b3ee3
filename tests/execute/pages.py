"""One agent that looks at an endpoint, wherever its command runs it, and the times that it tells."""

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cloudcmp.stats.histogram import from_base64, percentile_s


@dataclass(frozen=True)
class Seen:
    """What an agent told: how it ended, the medians of its histograms (s), and its notes."""

    outcome: str
    error: str
    medians: Mapping[str, float]
    notes: Mapping[str, Any]


def look(command: Sequence[str], url: str, *, ca: str = "", **params: str) -> Seen:
    """Fetches pages of a URL by an agent that a command starts."""
    target = {"role": "endpoint", "endpoint": url} | ({"ca": ca} if ca else {})
    job = {"v": 2, "seq": 0, "type": "job", "probe": "page", "params": params, "role": "vantage", "cpus": [0],
           "dir": None, "targets": [target], "deadline_s": 60, "seed": 1}  # fmt: skip
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(job).encode() + b"\n")
        process.stdin.flush()
        frames = [json.loads(line) for line in process.stdout]
    medians = {one["metric"]: percentile_s(from_base64(one["hist"]), 50.0) for one in frames if one["type"] == "hist"}
    notes = {one["key"]: one["value"] for one in frames if one["type"] == "note"}
    error = next((one["what"] for one in frames if one["type"] == "error"), "")
    return Seen(frames[-1]["outcome"], error, medians, notes)
