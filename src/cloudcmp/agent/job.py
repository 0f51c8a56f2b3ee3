"""The job line, the agent's only input, and the series that the agent then sends."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from cloudcmp.errors import UserMistake
from cloudcmp.model.cell import Cell
from cloudcmp.model.frames import PROTOCOL_VERSION
from cloudcmp.model.metric import Metric, Reduce
from cloudcmp.model.plan import PlannedTrial

LINE_BYTES_MAX = 64 * 1024


@dataclass(frozen=True, slots=True)
class JobTarget:
    """One of a trial's other targets, from the view of the job's agent.

    `role` is the target's part in the trial. A machine has an `address`: `ip:port` where it listens, else `ip`. A
    service has an `endpoint`, a URL; the `protocol` that it speaks, such as `s3`; the `data_set` to use there (a
    bucket, container, table or queue); where the protocol needs them, a `region` and the `style` of its URLs (`path` or
    `host`); the IP `addresses` of the endpoint's host, which the agent never resolves itself, none if the host is an
    address; and as `ca` the PEM text of roots to trust besides the system's. `credential_ref` names a credential and
    never holds one.
    """

    role: str
    address: str | None = None
    endpoint: str | None = None
    credential_ref: str | None = None
    protocol: str | None = None
    data_set: str | None = None
    region: str | None = None
    style: str | None = None
    addresses: tuple[str, ...] = ()
    ca: str | None = None

    def encode(self) -> dict[str, object]:
        """The target as a JSON object without fields that are None or empty."""
        fields = (
            ("role", self.role),
            ("address", self.address),
            ("endpoint", self.endpoint),
            ("protocol", self.protocol),
            ("data_set", self.data_set),
            ("region", self.region),
            ("style", self.style),
            ("addresses", list(self.addresses) or None),
            ("ca", self.ca),
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
    credentials: Mapping[str, Mapping[str, object]] | None = None,
    caps: Mapping[str, int | float] | None = None,
    lease_s: float | None = None,
) -> bytes:
    """The job line of a trial, with its end of line.

    `cpus` are processor numbers. `listen` is the `ip:port` that the agent binds (port 0: any), `targets` are the
    trial's other targets, `secret` is 64 hex digits that the agents of one trial share. `credentials` are what services
    accept for this trial, by the name that a target's `credential_ref` says: short-lived, and never logged.
    `caps` bound the trial's traffic: `bytes`, `bytes_per_s`, `packets_per_s`, `burst_s`, and as `operations` the
    requests to a service; without them the agent's own defaults hold between machines. After `lease_s` seconds of life
    the agent exits.
    Does not check targets, credentials, caps and lease: the agent does. Raises UserMistake for a job line that is too
    long.
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
    if credentials:
        job["credentials"] = {name: dict(credential) for name, credential in credentials.items()}
    if caps is not None:
        job["caps"] = dict(caps)
    if lease_s is not None:
        job["lease_s"] = lease_s
    line = json.dumps(job, separators=(",", ":"), allow_nan=False).encode() + b"\n"
    if len(line) > LINE_BYTES_MAX:
        what = f"its job takes {len(line)} bytes"
        raise UserMistake.at(f"probe {trial.probe}", what, f"at most {LINE_BYTES_MAX} can be sent")
    return line


SeriesKey = tuple[str, tuple[tuple[str, str], ...]]


@dataclass(frozen=True, slots=True)
class ExpectedSeries:
    """One expected series of a trial: samples of a cell, or the histograms of its percentiles.

    A `sparse` one may be missing.
    """

    metric: str
    params: str
    histogram: bool
    total: bool
    signed: bool
    sparse: bool = False


def expected_series(cells: Iterable[str], metrics: Mapping[str, Metric]) -> dict[SeriesKey, ExpectedSeries]:
    """The series of a trial's cells, keyed by metric and sorted parameters as in a frame."""
    series: dict[SeriesKey, ExpectedSeries] = {}
    for text in cells:
        cell = Cell.parse(text)
        metric = metrics[cell.metric]
        histogram = metric.reduce is Reduce.PERCENTILE
        params = tuple(item for item in cell.params if not (histogram and item[0] == "percentile"))
        sent = Cell(cell.metric, params)
        series[cell.metric, params] = ExpectedSeries(
            cell.metric,
            sent.params_text,
            histogram,
            total=metric.reduce is Reduce.TOTAL,
            signed=metric.signed,
            sparse=metric.sparse,
        )
    return series
