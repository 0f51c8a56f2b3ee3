"""The job: the one line of input, read strictly."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from cloudcmp.catalog import PROBES
from cloudcmp.client.failures import Ended, failed
from cloudcmp.model.frames import PROTOCOL_VERSION
from cloudcmp.model.plan import CLI, SDK_PYTHON
from cloudcmp.model.untrusted_text import one_line
from cloudcmp.provider.common.hosts import is_loopback

MEASURED = ("blob", "table", "load", "queue")
"""The probes that are run with these clients."""
_DEFAULT_OPERATIONS = 1_000_000  # away from this machine, as the agent has it
_CAPS = ("operations", "bytes")
_NEXT = f"send one job line of wire version {PROTOCOL_VERSION}"


@dataclass(frozen=True, slots=True)
class Place:
    """Where and as whom a trial asks. `lanes` operations are in flight at once, each for at most `silence_s`."""

    protocol: str
    endpoint: str
    data_set: str
    region: str
    style: str
    credential: Mapping[str, Any] | None = field(repr=False)
    silence_s: float = 30.0
    lanes: int = 1

    @property
    def tls(self) -> bool:
        """True for an endpoint behind TLS."""
        return urlsplit(self.endpoint).scheme == "https"


@dataclass(frozen=True, slots=True)
class Job:
    """A job as it was sent, with the probe's defaults filled in. `operations` and `payload` are its caps."""

    probe: str
    params: Mapping[str, str]
    place: Place
    cpus: tuple[int, ...]
    deadline_s: float
    lease_s: float | None
    operations: int | None
    payload: int | None
    seed: int

    @property
    def client(self) -> str:
        """The client that is measured."""
        return self.params["client"]

    def whole(self, name: str) -> int | None:
        """A parameter as a whole number; None for a word."""
        text = self.params.get(name, "")
        return int(text) if text.isdigit() else None


def parse(line: bytes) -> Job:
    """Reads one line; raises Ended, which never repeats a credential."""
    try:
        job = json.loads(line)
    except ValueError as error:
        raise _bad("not JSON") from error
    if not isinstance(job, dict) or job.get("type") != "job" or job.get("v") != PROTOCOL_VERSION:
        raise _bad("no job of this version")
    probe = PROBES.get(str(job.get("probe")))
    if probe is None or probe.name not in MEASURED:
        raise _bad(f"clients other than the agent have no probe {one_line(str(job.get('probe')), 40)}")
    given = job.get("params")
    if not isinstance(given, dict) or not given.keys() <= {one.name for one in probe.params}:
        raise _bad("params that the probe does not have")
    params = {one.name: str(given.get(one.name, one.default)) for one in probe.params}
    if params["client"] not in {SDK_PYTHON, CLI}:
        raise _bad(f"client is not {SDK_PYTHON} or {CLI}")
    for name, only in (("reuse", "yes"), ("expect_continue", "no")):
        if params.get(name, only) != only:
            raise _bad(f"{name} is not {only}, and the client decides that")
    caps = job.get("caps") or {}
    if not isinstance(caps, dict) or not caps.keys() <= set(_CAPS) or not all(map(_is_count, caps.values())):
        raise _bad("caps that the client does not hold")
    place = _place(job)
    operations = caps.get("operations", None if is_loopback(place.endpoint) else _DEFAULT_OPERATIONS)
    cpus, seed, lease_s = job.get("cpus"), job.get("seed"), job.get("lease_s")
    if not isinstance(cpus, list) or not cpus or not all(type(one) is int for one in cpus) or type(seed) is not int:
        raise _bad("no cpus, or no seed")
    return Job(
        probe.name, params, place, tuple(cpus), _time(job.get("deadline_s")), lease_s and _time(lease_s), operations,
        caps.get("bytes"), seed,
    )  # fmt: skip


def _place(job: Mapping[str, Any]) -> Place:
    targets = job.get("targets")
    if not isinstance(targets, list) or len(targets) != 1 or not isinstance(targets[0], dict):
        raise _bad("no target, or several")
    target: dict[str, Any] = targets[0]
    words = {name: target.get(name, "") for name in ("protocol", "endpoint", "data_set", "region", "style")}
    if target.get("role") != "service" or not all(type(word) is str for word in words.values()):
        raise _bad("a target that is no service")
    if not words["endpoint"].startswith(("http://", "https://")) or not words["protocol"] or not words["data_set"]:
        raise _bad("a service without endpoint, protocol or data_set")
    if target.get("ca"):
        raise _bad("clients other than the agent take no roots of their own")
    named, credentials = target.get("credential_ref"), job.get("credentials") or {}
    credential = credentials.get(named) if isinstance(credentials, dict) else None
    if named is not None and not isinstance(credential, dict):
        raise _bad("no credential of the name that the target says")
    return Place(**words, credential=credential)


def _is_count(value: object) -> bool:
    return type(value) is int and value > 0


def _time(value: object) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < 1e8:
        raise _bad("a time that is no number of seconds")
    return float(value)


def _bad(what: str) -> Ended:
    return failed(f"bad job: {what}", _NEXT)
