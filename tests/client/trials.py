"""Trials of the client of a provider's library, in this process or in one of its own."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.agent.service_trials import REGION, Ran

import cloudcmp
from cloudcmp.agent import Decoder, JobTarget, encode_job, expected_series
from cloudcmp.catalog import METRICS, PROBES
from cloudcmp.client.failures import Ended
from cloudcmp.client.job import parse
from cloudcmp.client.output import Output
from cloudcmp.client.probes import PROBES as RUNS
from cloudcmp.client.trial import Trial
from cloudcmp.model.plan import PlannedTrial
from cloudcmp.model.trial import Outcome, TrialResult
from cloudcmp.stats import histogram

COMMAND = (sys.executable, "-P", "-m", "cloudcmp.client")
ENVIRON = {"PATH": os.defpath, "PYTHONPATH": str(Path(cloudcmp.__file__).parent.parent)}


def target(endpoint: str, protocol: str, data_set: str) -> JobTarget:
    """A service that needs a credential."""
    return JobTarget(
        "service", endpoint=endpoint, credential_ref="mine", protocol=protocol, data_set=data_set, region=REGION
    )


def keys(access_key: str, secret_key: str) -> dict[str, object]:
    """What Amazon's library signs with."""
    return {"kind": "keys", "access_key": access_key, "secret_key": secret_key}


def trial_of(probe: str, deadline_s: float, params: Mapping[str, str]) -> PlannedTrial:
    """A trial with all parameters filled in, and the cells that it gives."""
    own = {one.name: one.default for one in PROBES[probe].params} | {"client": "sdk-python", **params}
    if "duration_s" in own:
        own["duration_s"] = params.get("duration_s", "0.3")
    cells = []
    for name in PROBES[probe].metrics:
        words = [f"{key}={'50' if key == 'percentile' else own[key]}" for key in METRICS[name].params]
        cells.append(f"{name} {';'.join(words)}")
    return PlannedTrial(0, 0, probe, tuple(sorted(own.items())), tuple(cells), 0, 0.0, 1.0, deadline_s, 7)


def line_of(place: JobTarget, credential: Mapping[str, object], trial: PlannedTrial, **more: Any) -> bytes:
    """The job line of a trial."""
    return encode_job(
        trial, cpus=[0], folder=None, role="client", targets=[place], credentials={"mine": credential}, **more
    )


def decoded(trial: PlannedTrial, stream: bytes) -> TrialResult:
    """The stream as the controller takes it, which accepts nothing that was not planned."""
    decoder = Decoder(expected_series(trial.cells, METRICS), trial.deadline_s, histogram.from_base64)
    decoder.feed(stream)
    return decoder.result()


def ran_of(stream: bytes, result: TrialResult) -> Ran:
    """What a stream says."""
    frames = [json.loads(line) for line in stream.splitlines()]
    values: dict[str, list[float]] = {}
    found: dict[str, histogram.Histogram] = {}
    for one in result.samples:
        if one.value is None:
            found[one.metric] = histogram.from_base64(one.hist or "")
        else:
            values.setdefault(one.metric, []).append(one.value)
    notes = {frame["key"]: frame["value"] for frame in frames if frame["type"] == "note"}
    return Ran(result.outcome.value, notes, values, found, result.why)


def run(
    place: JobTarget, credential: Mapping[str, object], probe: str, *, deadline_s: float = 15.0,
    caps: Mapping[str, int] | None = None, **params: str,
) -> Ran:  # fmt: skip
    """Runs one trial in this process; fails if a secret is in what the client says."""
    trial = trial_of(probe, deadline_s, params)
    stream = bytearray()
    out = Output(stream.extend)
    out.hello()
    end = None
    try:
        job = parse(line_of(place, credential, trial, caps=caps).strip())
        out.params = job.params
        RUNS[probe](Trial(job, out, time.monotonic()))
    except Ended as ended:
        end = ended
    out.finish(end)
    secret = str(credential.get("secret_key") or credential.get("query") or credential.get("value"))
    assert secret.encode() not in stream
    result = decoded(trial, bytes(stream))
    assert result.outcome is not Outcome.INVALID, result.why
    return ran_of(bytes(stream), result)


def run_alone(line: bytes, *, hang_up_after_s: float | None = None, folder: Path | None = None) -> bytes:
    """The stream of a process of its own."""
    with subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=ENVIRON, cwd=folder) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(line)
        process.stdin.flush()
        if hang_up_after_s is not None:
            time.sleep(hang_up_after_s)
            process.stdin.close()
        return process.stdout.read()
