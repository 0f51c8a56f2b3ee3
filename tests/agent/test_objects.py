"""The agent's Swift and Cloud Storage beside the providers' own clients, with the access that a study's trials get."""

import asyncio
import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from time import time
from typing import Any
from uuid import uuid4

import pytest
from tests.servers.clients import gcs, swift
from tests.servers.fetch import Absent
from tests.servers.serving import Served, serving

from cloudcmp.agent import encode_job
from cloudcmp.execute.cast import target_of
from cloudcmp.model.cast import DataSet, Service, ServiceKind
from cloudcmp.model.lease import DATA_SET, CreateRequest, Handle
from cloudcmp.model.plan import PlannedTrial
from cloudcmp.provider.registry import make, store_of

SERVERS = {"openstack": "swift", "gcp": "fake-gcs"}


@dataclass(frozen=True, slots=True)
class Cloud:
    """An object store with one data set: the access to it, and the provider's own way to its objects."""

    server: Served
    access: DataSet
    put: Callable[[str, bytes], Any]
    get: Callable[[str], bytes]
    names: Callable[[str], list[str]]
    remove: Callable[[str], Any]


@pytest.fixture(scope="module", params=SERVERS)
def cloud(request: pytest.FixtureRequest) -> Iterator[Cloud]:
    """A server that speaks the provider's protocol, and a data set that the provider's driver made there."""
    provider = request.param
    with pytest.MonkeyPatch.context() as patch:
        try:
            with serving(SERVERS[provider]) as one:
                yield from _cloud(provider, one, patch)
        except Absent as absent:
            pytest.skip(str(absent))


def _cloud(provider: str, one: Served, patch: pytest.MonkeyPatch) -> Iterator[Cloud]:
    own = {"OS_AUTH_URL": one.endpoints.get("swift"), "OS_USERNAME": one.access, "OS_PASSWORD": one.secret}
    for key, value in (own if provider == "openstack" else {"STORAGE_EMULATOR_HOST": one.endpoints["gcs"]}).items():
        patch.setenv(key, str(value))
    store: Any = make(store_of(provider, ServiceKind.BLOB) or "")
    token = str(uuid4())
    asked = CreateRequest("slot", 0, DATA_SET, "name", token, "here", "all", 3600.0, (), 0, 0, 0, time())
    handle = Handle(DATA_SET, "here", asyncio.run(store.create(asked)))
    service = Service(ServiceKind.BLOB, provider, "here")
    access = asyncio.run(store.data_set(service, handle, time() + 60.0))
    name = handle.cloud_id
    if provider == "openstack":
        with closing(swift(one)) as client:
            yield Cloud(
                one, access, lambda key, body: client.put_object(name, key, body),
                lambda key: client.get_object(name, key)[1],
                lambda prefix: [each["name"] for each in client.get_container(name, prefix=prefix)[1]],
                lambda key: client.delete_object(name, key),
            )  # fmt: skip
    else:
        with closing(gcs(one)) as client:
            bucket = client.bucket(name)
            yield Cloud(
                one, access, lambda key, body: bucket.blob(key).upload_from_string(body),
                lambda key: bucket.blob(key).download_as_bytes(),
                lambda prefix: [each.name for each in client.list_blobs(bucket, prefix=prefix)],
                lambda key: bucket.blob(key).delete(),
            )  # fmt: skip
    asyncio.run(store.destroy(handle))
    assert asyncio.run(store.gone(handle)) is not None


def measure(agent: Path, access: DataSet, probe: str = "blob", **params: str) -> tuple[str, dict[str, Any], str]:
    """Runs a trial; gives its outcome, its notes and its error."""
    target, credentials = target_of(access)
    own = {"duration_s": "0.3", **params}
    trial = PlannedTrial(0, 0, probe, tuple(sorted(own.items())), (), 0, 0.0, 1.0, 15.0, 7)
    line = encode_job(trial, cpus=[0], folder=None, role="client", targets=[target], credentials=credentials)
    with subprocess.Popen([agent], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(line)
        process.stdin.flush()
        frames = [json.loads(text) for text in process.stdout.read().splitlines()]
    notes = {frame["key"]: frame["value"] for frame in frames if frame["type"] == "note"}
    errors = [frame["what"] for frame in frames if frame["type"] == "error"]
    secret = str((access.credential or {}).get("value", "no secret"))
    assert secret not in json.dumps(frames)
    return frames[-1]["outcome"], notes, " ".join(errors)


def test_what_the_agent_writes_the_providers_client_reads_and_the_reverse(agent: Path, cloud: Cloud) -> None:
    outcome, notes, error = measure(agent, cloud.access, objects="5", size_bytes="3000")
    assert (outcome, error, notes.get("objects_written")) == ("ok", "", 5)
    keys = [f"b/3000/{index:06d}" for index in range(5)]
    assert cloud.names("b/3000/") == keys
    contents = {key: cloud.get(key) for key in keys}
    assert {len(content) for content in contents.values()} == {3000}
    assert len(set(contents.values())) == 5
    for key, content in contents.items():
        cloud.remove(key)
        cloud.put(key, content)
    outcome, notes, error = measure(agent, cloud.access, objects="5", size_bytes="3000")
    assert (outcome, notes["objects_written"], notes["wrong_bodies"], error) == ("ok", 0, 0, "")
    cloud.put(keys[2], contents[keys[3]])
    outcome, notes, _ = measure(agent, cloud.access, objects="5", size_bytes="3000")
    assert outcome == "ok"
    assert 0 < notes["wrong_bodies"] < notes["operations"]


def test_uploads_lists_and_large_objects(agent: Path, cloud: Cloud) -> None:
    outcome, notes, error = measure(agent, cloud.access, op="upload", objects="3", size_bytes="100000")
    assert (outcome, error) == ("ok", "")
    written = cloud.names("u/100000/")
    assert 1 <= len(written) <= min(3, notes["operations"])  # a busy machine uploads once
    assert {len(cloud.get(key)) for key in written} == {100_000}
    outcome, notes, error = measure(agent, cloud.access, op="list", objects="3")
    assert (outcome, notes["wrong_bodies"], error) == ("ok", 0, "")
    outcome, notes, error = measure(agent, cloud.access, objects="1", size_bytes="5000000", duration_s="1")
    assert (outcome, notes["wrong_bodies"], error) == ("ok", 0, "")


def test_a_change_is_seen_by_reads_and_lists(agent: Path, cloud: Cloud) -> None:
    for change in ("write", "update", "delete", "list"):
        params = {"service": "blob", "change": change, "duration_s": "0.5"}
        outcome, notes, error = measure(agent, cloud.access, "consistency", **params)
        assert (outcome, error) == ("ok", ""), change
        assert notes["wrong_bodies"] == 0


def test_a_mistake_is_one_line_with_the_services_own_words(agent: Path, cloud: Cloud) -> None:
    def fails(access: DataSet, **params: str) -> str:
        outcome, _, error = measure(agent, access, **params)
        assert outcome == "failed"
        assert "\n" not in error
        return error

    assert "404" in fails(replace(cloud.access, name="cloudcmp-nobodys"))
    credential = dict(cloud.access.credential or {})
    if cloud.server.name == "swift":
        wrong = replace(cloud.access, credential={**credential, "value": "AUTH_tk" + "0" * 32})
        assert "401 Unauthorized: This server could not verify" in fails(wrong)
        assert "401 Unauthorized" in fails(replace(cloud.access, credential=None))
    other = {"kind": "sas", "query": "sig=secret"}
    assert "takes a credential of kind token" in fails(replace(cloud.access, credential=other))
