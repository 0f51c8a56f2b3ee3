"""Microsoft's own libraries, at an Azurite that checks signatures."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from time import time
from uuid import uuid4

import pytest
from tests.agent.test_azure import measure
from tests.client.trials import run
from tests.servers.clients import azure_connection
from tests.servers.fetch import Absent
from tests.servers.serving import Served, serving
from tests.slices import long

from cloudcmp.execute.cast import target_of
from cloudcmp.model.cast import DataSet, Service, ServiceKind
from cloudcmp.model.lease import DATA_SET, CreateRequest, Handle
from cloudcmp.provider.azure.data_sets import AzureDataSets
from cloudcmp.provider.azure.storage import CONNECTION
from cloudcmp.provider.registry import make, store_of

REGION = "westeurope"
PROBES = {
    "blob": [("blob", {"op": op, "objects": "4", "size_bytes": "3000"}) for op in ("download", "upload", "list")],
    "table": [
        *(("table", {"op": op, "entries": "30"}) for op in ("get", "put", "query")),
        ("load", {"entries": "120"}),
    ],
    "queue": [("queue", {"op": op}) for op in ("send", "receive")],
}


@pytest.fixture(scope="module")
def azurite() -> Iterator[Served]:
    """An empty Azurite."""
    try:
        with serving("azurite") as one:
            yield one
    except Absent as absent:
        pytest.skip(str(absent))


@pytest.fixture
def access(azurite: Served, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> DataSet:
    """A new data set of a kind, with what a trial gets."""
    monkeypatch.setenv(CONNECTION, azure_connection(azurite))
    kind = ServiceKind(request.param)
    store = make(store_of("azure", kind) or "")
    assert isinstance(store, AzureDataSets)
    tags = (("cloudcmp:schema", "1"), ("cloudcmp:study", "study-a"))
    one = CreateRequest("slot", 0, DATA_SET, "n", str(uuid4()), REGION, "all", 3600.0, tags, 0, 0, 0, time())

    async def made() -> DataSet:
        name = await store.create(one)
        return await store.data_set(Service(kind, "azure", REGION), Handle(DATA_SET, REGION, name), time() + 600.0)

    return asyncio.run(made())


@long
@pytest.mark.parametrize("access", PROBES, indirect=True)
def test_every_operation_runs_and_the_agent_reads_what_it_wrote(access: DataSet, agent: Path) -> None:
    place, credentials = target_of(access, by_other_client=True)
    assert credentials["service"]["kind"] == "sas", "nothing that lives longer than a trial's access"
    kind = access.protocol.removeprefix("azure-")
    for probe, params in PROBES[kind]:
        ran = run(_named(place), credentials["service"], probe, deadline_s=60.0, **params)
        assert ran.outcome == "ok", (probe, params, ran)
        assert ran.notes["client_version"].startswith("azure-")
        assert ran.notes["operations"] > 0
        for kind_ in ("throttled", "server_errors", "client_errors", "timeouts", "wrong_bodies", "broken_connections"):
            assert ran.notes[kind_] == 0, (probe, params, ran)
    if kind != "queue":
        probe, params = PROBES[kind][0]
        outcome, notes, error = measure(agent, access, probe, **params)
        assert (outcome, notes["wrong_bodies"], error) == ("ok", 0, "")
        assert notes["objects_written" if kind == "blob" else "batches_written"] == 0


@long
@pytest.mark.parametrize("access", ["blob"], indirect=True)
def test_a_wrong_signature_is_refused_in_one_line(access: DataSet) -> None:
    place, credentials = target_of(access)
    credential = credentials["service"]
    ran = run(_named(place), {**credential, "query": f"{credential['query']}x"}, "blob", op="upload")
    assert ran.outcome == "failed"
    assert "403" in ran.error
    assert "\n" not in ran.error


def _named(place):  # type: ignore[no-untyped-def]
    from dataclasses import replace

    return replace(place, credential_ref="mine")
