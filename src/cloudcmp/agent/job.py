"""The job line: the agent's only input."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cloudcmp.errors import UserMistake
from cloudcmp.model.plan import PlannedTrial

PROTOCOL_VERSION = 2
LINE_BYTES_MAX = 64 * 1024


@dataclass(frozen=True, slots=True)
class JobTarget:
    """One of a trial's other targets, as the agent of the job sees it.

    `role` is the target's part in the trial. A machine has an `address`: `ip:port` where it listens, else `ip`. A
    service has an `endpoint`, a URL. `credential_ref` names a credential and never holds one.
    """

    role: str
    address: str | None = None
    endpoint: str | None = None
    credential_ref: str | None = None

    def encode(self) -> dict[str, str]:
        """The target as a JSON object without fields that are None."""
        fields = (
            ("role", self.role),
            ("address", self.address),
            ("endpoint", self.endpoint),
            ("credential_ref", self.credential_ref),
        )
        return {key: value for key, value in fields if value is not None}


def encode_job(
    trial: PlannedTrial,
    *,
    cpus: Sequence[int],
    folder: str | None,
    role: str = "solo",
    listen: str | None = None,
    targets: Sequence[JobTarget] = (),
    secret: str | None = None,
    caps: Mapping[str, int | float] | None = None,
    lease_s: float | None = None,
) -> bytes:
    """The job line of a trial, with its end of line.

    `cpus` are processor numbers. `listen` is the `ip:port` that the agent binds (port 0: any), `targets` are the
    trial's other targets, `secret` is 64 hex digits that the agents of one trial share.
    `caps` bound the trial's traffic: `bytes`, `bytes_per_s`, `packets_per_s`, `burst_s`; without them the agent's own
    defaults hold between machines. After `lease_s` seconds of life the agent exits.
    Does not check targets, caps and lease: the agent does. Raises UserMistake for a job line that is too long.
    """
    job: dict[str, object] = {
        "v": PROTOCOL_VERSION,
        "seq": 0,
        "type": "job",
        "probe": trial.probe,
        "params": dict(trial.params),
        "role": role,
        "cpus": list(cpus),
        "dir": folder,
        "listen": listen,
        "targets": [target.encode() for target in targets],
        "secret": secret,
        "deadline_s": trial.deadline_s,
        "seed": trial.seed,
    }
    if caps is not None:
        job["caps"] = dict(caps)
    if lease_s is not None:
        job["lease_s"] = lease_s
    line = json.dumps(job, separators=(",", ":"), allow_nan=False).encode() + b"\n"
    if len(line) > LINE_BYTES_MAX:
        what = f"its job takes {len(line)} bytes"
        raise UserMistake.at(f"probe {trial.probe}", what, f"at most {LINE_BYTES_MAX} can be sent")
    return line
