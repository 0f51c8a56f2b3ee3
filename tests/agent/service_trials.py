"""Trials of the real agent on a storage service, as a controller would have it run them."""

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cloudcmp.agent import JobTarget, encode_job
from cloudcmp.model.plan import PlannedTrial
from cloudcmp.provider.common.data_sets import signing_keys
from cloudcmp.stats import histogram

REGION = "us-east-1"
HOST = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Place:
    """A data set at a service on loopback, and the key to it."""

    protocol: str
    port: int
    name: str
    access_key: str
    secret: str

    def credential(self) -> dict[str, object]:
        """What an agent gets: the keys of this day, in place of the secret."""
        now = datetime.now(UTC).timestamp()
        keys = signing_keys(self.secret, REGION, self.protocol, now - 600.0, now + 600.0)
        return {"kind": "sigv4", "access_key": self.access_key, "keys": keys}


@dataclass(frozen=True, slots=True)
class Ran:
    """What a trial gave: its outcome, its notes, the values and histograms of its metrics, and its error."""

    outcome: str
    notes: dict[str, Any]
    values: dict[str, list[float]]
    histograms: dict[str, histogram.Histogram]
    error: str

    def percentile_s(self, metric: str, percentile: float) -> float:
        """A percentile of a metric in seconds."""
        return histogram.percentile_s(self.histograms[metric], percentile)


def run(
    agent: Path,
    place: Place,
    probe: str,
    caps: Mapping[str, int] | None = None,
    *,
    deadline_s: float = 15.0,
    **params: str,
) -> Ran:
    """Runs one trial; fails if a secret is in what the agent says."""
    credential = place.credential()
    target = JobTarget(
        "service", endpoint=f"http://{HOST}:{place.port}", credential_ref="mine", protocol=place.protocol,
        data_set=place.name, region=REGION, addresses=(HOST,),
    )  # fmt: skip
    trial = PlannedTrial(0, 0, probe, tuple(sorted(params.items())), (), 0, 0.0, 1.0, deadline_s, 7)
    line = encode_job(
        trial, cpus=[0], folder=None, role="client", targets=[target], credentials={"mine": credential}, caps=caps
    )
    out = said(agent, line)
    keys = credential["keys"]
    assert isinstance(keys, dict)
    assert not any(secret.encode() in out for secret in (place.secret, *keys.values()))
    return ran_of(out)


def said(agent: Path, line: bytes) -> bytes:
    """All that the agent says to a job, while its standard input stays open."""
    with subprocess.Popen([agent], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(line)
        process.stdin.flush()
        return process.stdout.read()


def ran_of(out: bytes) -> Ran:
    """What a trial gave, from all that its agent said; its last frame is the end."""
    frames = [json.loads(text) for text in out.decode().splitlines()]
    notes = {frame["key"]: frame["value"] for frame in frames if frame["type"] == "note"}
    values: dict[str, list[float]] = {}
    for frame in frames:
        if frame["type"] == "sample":
            values.setdefault(frame["metric"], []).append(frame["value"])
    found = {one["metric"]: histogram.from_base64(one["hist"]) for one in frames if one["type"] == "hist"}
    error = " ".join(frame["what"] for frame in frames if frame["type"] == "error")
    return Ran(frames[-1].get("outcome", ""), notes, values, found, error)
