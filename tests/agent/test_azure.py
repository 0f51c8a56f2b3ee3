"""The agent's blobs, rows and messages of Azure beside Azure's own clients, at an Azurite that checks signatures."""

import asyncio
import base64
import json
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from time import time
from typing import Any
from uuid import uuid4

import pytest
from tests.servers.clients import azure, azure_connection
from tests.servers.fetch import Absent
from tests.servers.serving import Served, serving

from cloudcmp.agent import encode_job
from cloudcmp.execute.cast import target_of
from cloudcmp.model.cast import DataSet, Service, ServiceKind
from cloudcmp.model.lease import DATA_SET, CreateRequest, Handle
from cloudcmp.model.plan import PlannedTrial
from cloudcmp.provider.azure.data_sets import AzureDataSets
from cloudcmp.provider.azure.storage import CONNECTION
from cloudcmp.provider.registry import make, store_of

REGION = "westeurope"
WRONG = base64.b64encode(b"another key").decode()


@pytest.fixture(scope="module")
def azurite() -> Iterator[Served]:
    """An empty Azurite."""
    try:
        with serving("azurite") as one:
            yield one
    except Absent as absent:
        pytest.skip(str(absent))


class Place:
    """One data set of a service, and the access of a trial to it."""

    def __init__(self, account: Served, kind: str) -> None:
        store = make(store_of("azure", ServiceKind(kind)) or "")
        assert isinstance(store, AzureDataSets)
        self.account, self.kind, self.store = account, kind, store
        tags = (("cloudcmp:schema", "1"), ("cloudcmp:study", "study-a"))
        one = CreateRequest("slot", 0, DATA_SET, "n", str(uuid4()), REGION, "all", 3600.0, tags, 0, 0, 0, time())
        self.name = asyncio.run(store.create(one))

    def access(self, left_s: float = 60.0) -> DataSet:
        """The access until so many seconds from now."""
        service = Service(ServiceKind(self.kind), "azure", REGION)
        return asyncio.run(self.store.data_set(service, Handle(DATA_SET, REGION, self.name), time() + left_s))


@pytest.fixture(params=["blob", "table", "queue"])
def place(azurite: Served, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """An empty data set, which is deleted."""
    monkeypatch.setenv(CONNECTION, azure_connection(azurite))
    one = Place(azurite, request.param)
    yield one
    monkeypatch.setenv(CONNECTION, azure_connection(azurite))
    one.store._sdk.forget()
    asyncio.run(one.store.destroy(Handle(DATA_SET, REGION, one.name)))


def measure(agent: Path, access: DataSet, probe: str, **params: str) -> tuple[str, dict[str, Any], str]:
    """Runs a trial; gives its outcome, its notes and its error."""
    target, credentials = target_of(access)
    given = tuple(sorted({**({} if probe == "load" else {"duration_s": "0.5"}), **params}.items()))
    trial = PlannedTrial(0, 0, probe, given, (), 0, 0.0, 1.0, 15.0, 7)
    line = encode_job(trial, cpus=[0], folder=None, role="client", targets=[target], credentials=credentials)
    with subprocess.Popen([agent], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(line)
        process.stdin.flush()
        frames = [json.loads(text) for text in process.stdout.read().splitlines()]
    notes = {frame["key"]: frame["value"] for frame in frames if frame["type"] == "note"}
    errors = [frame["what"] for frame in frames if frame["type"] == "error"]
    signature = str(dict(access.credential or {})["query"]).rpartition("sig=")[2]
    assert len(signature) > 20
    assert signature not in json.dumps(frames)
    return frames[-1]["outcome"], notes, " ".join(errors)


@pytest.mark.parametrize("place", ["blob"], indirect=True)
def test_blobs_that_the_agent_writes_azures_client_reads_and_the_reverse(agent: Path, place: Place) -> None:
    outcome, notes, error = measure(agent, place.access(), "blob", objects="5", size_bytes="3000")
    assert (outcome, error) == ("ok", "")
    assert notes["objects_written"] == 5
    with azure(place.account, "blob") as service, service.get_container_client(place.name) as container:
        listed = {one.name: one.size for one in container.list_blobs(name_starts_with="b/3000/")}
        assert listed == {f"b/3000/{index:06d}": 3000 for index in range(5)}
        contents = {name: container.download_blob(name).readall() for name in listed}
        assert len(set(contents.values())) == 5
        for name, content in contents.items():
            container.delete_blob(name)
            container.upload_blob(name, content)
        outcome, notes, error = measure(agent, place.access(), "blob", objects="5", size_bytes="3000")
        assert (outcome, notes["objects_written"], notes["wrong_bodies"], error) == ("ok", 0, 0, "")
        container.upload_blob("b/3000/000002", contents["b/3000/000003"], overwrite=True)
        outcome, notes, _ = measure(agent, place.access(), "blob", objects="5", size_bytes="3000")
        assert outcome == "ok"
        assert 0 < notes["wrong_bodies"] < notes["operations"]
        outcome, notes, error = measure(agent, place.access(), "blob", op="upload", objects="3", size_bytes="100000")
        assert (outcome, notes["operations"] >= 3, error) == ("ok", True, "")
        assert {one.size for one in container.list_blobs(name_starts_with="u/100000/")} == {100_000}
        outcome, notes, error = measure(agent, place.access(), "blob", op="list", objects="3")
        assert (outcome, notes["wrong_bodies"], error) == ("ok", 0, "")


@pytest.mark.parametrize("place", ["table"], indirect=True)
def test_rows_that_the_agent_writes_azures_client_reads_and_the_reverse(agent: Path, place: Place) -> None:
    outcome, notes, error = measure(agent, place.access(), "table", op="get", entries="260")
    assert (outcome, error) == ("ok", "")
    assert (notes["batches_written"], notes["wrong_bodies"]) == (3, 0)
    with azure(place.account, "table") as service, service.get_table_client(place.name) as table:
        rows = {str(one["RowKey"]): dict(one) for one in table.list_entities()}
        assert sorted(rows) == [f"r{index:08d}" for index in range(260)]
        assert {(one["PartitionKey"], one["g"], len(str(one["v"]))) for one in rows.values()} == {
            ("r0", f"g{index}", 100) for index in range(26)
        }
        for row in rows.values():
            table.delete_entity("r0", str(row["RowKey"]))
            table.create_entity(row)
        for op in ("get", "query"):
            outcome, notes, error = measure(agent, place.access(), "table", op=op, entries="260")
            assert (outcome, notes["batches_written"], notes["wrong_bodies"], error) == ("ok", 0, 0, "")
        table.upsert_entity({**rows["r00000007"], "v": rows["r00000008"]["v"]})
        table.delete_entity("r0", "r00000019")
        outcome, notes, _ = measure(agent, place.access(), "table", op="query", entries="260")
        assert 0 < notes["wrong_bodies"] < notes["operations"]
        outcome, notes, error = measure(agent, place.access(), "table", op="put", entries="20")
        assert (outcome, notes["client_errors"], error) == ("ok", 0, "")
        outcome, notes, error = measure(agent, place.access(), "load", entries="110")
        assert (outcome, error) == ("ok", "")
        assert (notes["rows_written"], notes["operations"]) == (110, 2)
        written = {str(one["RowKey"]) for one in table.query_entities("PartitionKey eq 'u0'")}
        assert written == {f"u{index:08d}" for index in range(110)}


@pytest.mark.parametrize("place", ["queue"], indirect=True)
def test_messages_go_to_azures_client_and_come_from_it(agent: Path, place: Place) -> None:
    with azure(place.account, "queue") as service, service.get_queue_client(place.name) as queue:
        outcome, notes, error = measure(agent, place.access(), "queue", op="send")
        assert (outcome, notes["purged"], error) == ("ok", False, ""), "no signature of a queue allows to empty it"
        one = queue.receive_message()
        assert one is not None
        assert len(one.content) == 50
        assert int(one.content[:16], 16) >= 0
        access = place.access()
        queue.send_message("somebody's")
        outcome, notes, error = measure(agent, access, "queue", op="receive")
        assert (outcome, notes["removed_before"], notes["wrong_bodies"], error) == ("ok", 1, 0, "")
        outcome, notes, error = measure(agent, place.access(), "propagation")
        assert (outcome, notes["censored"], notes["strangers"], error) == ("ok", 0, 0, "")


def test_consistency_is_measured(agent: Path, place: Place) -> None:
    changes = ("write",) if place.kind == "queue" else ("write", "update", "delete", "list")
    for change in changes:
        outcome, _, error = measure(agent, place.access(), "consistency", service=place.kind, change=change)
        assert (outcome, error) == ("ok", ""), change


MISSING = {"blob": "404 ContainerNotFound", "table": "404 TableNotFound", "queue": "404 QueueNotFound"}


def test_a_mistake_is_one_line_with_the_services_own_code(
    agent: Path, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(access: DataSet) -> str:
        outcome, _, error = measure(agent, access, place.kind)
        assert outcome == "failed"
        assert "\n" not in error
        return error.partition(": ")[2]

    right = place.access()
    expired = place.access(-700.0)
    assert refused(expired).startswith(("403 AuthorizationFailure", "403 AuthenticationFailed"))
    place.store._sdk.forget()
    monkeypatch.setenv(CONNECTION, azure_connection(place.account, key=WRONG))
    service, handle = Service(ServiceKind(place.kind), "azure", REGION), Handle(DATA_SET, REGION, place.name)
    wrong = asyncio.run(AzureDataSets.data_set(place.store, service, handle, time() + 60.0))
    assert refused(wrong).startswith(("403 AuthorizationFailure", "403 AuthenticationFailed"))
    assert refused(replace(right, credential={"kind": "sas", "query": "sv=2021-12-02&sig=" + "x" * 30})).startswith(
        "403 "
    )
    asyncio.run(_destroyed(place, monkeypatch))
    assert refused(right).startswith(MISSING[place.kind])


async def _destroyed(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CONNECTION, azure_connection(place.account))
    place.store._sdk.forget()
    await place.store.destroy(Handle(DATA_SET, REGION, place.name))
