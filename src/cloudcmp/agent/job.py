"""The one line that goes in: the job."""

import json
from collections.abc import Sequence

from cloudcmp.errors import UserMistake
from cloudcmp.model.plan import PlannedTrial

PROTOCOL_VERSION = 1
LINE_BYTES_MAX = 64 * 1024


def encode_job(
    trial: PlannedTrial,
    *,
    cpus: Sequence[int],
    folder: str | None,
    role: str = "solo",
    peer: str | None = None,
    secret: str | None = None,
) -> bytes:
    """The job line of a trial, with its end of line.

    `cpus` are processor numbers, `peer` is `ip:port` (port 0: bind one), `secret` 64 hex digits for peers only.
    Raises UserMistake for a job longer than a line may be.
    """
    job = {
        "v": PROTOCOL_VERSION,
        "seq": 0,
        "type": "job",
        "probe": trial.probe,
        "params": dict(trial.params),
        "role": role,
        "cpus": list(cpus),
        "dir": folder,
        "peer": peer,
        "secret": secret,
        "deadline_s": trial.deadline_s,
        "seed": trial.seed,
    }
    line = json.dumps(job, separators=(",", ":"), allow_nan=False).encode() + b"\n"
    if len(line) > LINE_BYTES_MAX:
        what = f"its job takes {len(line)} bytes"
        raise UserMistake.at(f"probe {trial.probe}", what, f"at most {LINE_BYTES_MAX} can be sent")
    return line
