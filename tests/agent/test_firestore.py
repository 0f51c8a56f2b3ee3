"""The agent's Firestore beside Google's own client, at two emulators, with the access of a trial."""

import json
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.agent.made_data_sets import made, serving_or_skip
from tests.servers.clients import google
from tests.servers.serving import Served
from tests.slices import some

from cloudcmp.agent import encode_job
from cloudcmp.execute.cast import target_of
from cloudcmp.model.cast import DataSet, Service, ServiceKind
from cloudcmp.model.plan import PlannedTrial


@pytest.fixture(scope="module", params=some(["firestore", "firestore-google"], 1, 0))
def server(request: pytest.FixtureRequest) -> Iterator[Served]:
    """An empty Firestore: an independent one, and Google's own where its SDK is installed."""
    with serving_or_skip(request.param) as one:
        yield one


@pytest.fixture
def collection(server: Served, monkeypatch: pytest.MonkeyPatch) -> Iterator[DataSet]:
    """A collection, made by the driver."""
    monkeypatch.setenv("FIRESTORE_EMULATOR_HOST", server.host("firestore"))
    with made(Service(ServiceKind.TABLE, "gcp", "here")) as found:
        yield found


def measure(
    agent: Path, access: DataSet, probe: str = "table", *, limit_s: float = 60.0, **params: str
) -> tuple[str, dict[str, Any], str]:
    """Runs a trial of so many seconds at most; gives its outcome, its notes and its error."""
    target, credentials = target_of(access)
    own = {**({} if probe == "load" else {"duration_s": "0.5"}), **params}
    trial = PlannedTrial(0, 0, probe, tuple(sorted(own.items())), (), 0, 0.0, 1.0, limit_s, 7)
    line = encode_job(trial, cpus=[0], folder=None, role="client", targets=[target], credentials=credentials)
    with subprocess.Popen([agent], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(line)
        process.stdin.flush()
        frames = [json.loads(text) for text in process.stdout.read().splitlines()]
    notes = {frame["key"]: frame["value"] for frame in frames if frame["type"] == "note"}
    errors = [frame["what"] for frame in frames if frame["type"] == "error"]
    return frames[-1]["outcome"], notes, " ".join(errors)


def rows_of(documents: Any, first: str) -> dict[str, dict[str, str]]:
    """The documents whose names begin with a letter and a digit, by their names: not the marker."""
    found = {one.id: one.to_dict() for one in documents.stream()}
    return {name: fields for name, fields in found.items() if name.startswith(first) and name[1].isdigit()}


def test_rows_that_the_agent_writes_are_read_by_googles_client(
    agent: Path, server: Served, collection: DataSet
) -> None:
    outcome, notes, error = measure(agent, collection, op="get", entries="1020")
    assert (outcome, error) == ("ok", "")
    assert (notes["batches_written"], notes["wrong_bodies"]) == (3, 0)
    with google(server, "firestore") as firestore:
        client = firestore.Client(project="cloudcmp")
        rows = rows_of(client.collection(collection.name.rpartition("/")[2]), "r")
        client.close()
    assert sorted(rows) == [f"r{index:08d}" for index in range(1020)]
    assert {(one["g"], len(one["v"]), len(one)) for one in rows.values()} == {
        (f"g{index}", 100, 2) for index in range(102)
    }


def test_rows_that_googles_client_writes_are_read_by_the_agent(
    agent: Path, server: Served, collection: DataSet
) -> None:
    outcome, notes, error = measure(agent, collection, op="get", entries="50")
    assert (outcome, error, notes["batches_written"]) == ("ok", "", 1)
    with google(server, "firestore") as firestore:
        client = firestore.Client(project="cloudcmp")
        documents = client.collection(collection.name.rpartition("/")[2])
        rows = rows_of(documents, "r")
        for name, fields in rows.items():
            documents.document(name).delete()
            documents.document(name).set(fields)
        for op in ("get", "query"):
            outcome, notes, error = measure(agent, collection, op=op, entries="50", read="strong")
            assert (outcome, notes["batches_written"], notes["wrong_bodies"], error) == ("ok", 0, 0, ""), op
        documents.document("r00000007").set({**rows["r00000007"], "v": rows["r00000008"]["v"]})
        documents.document("r00000019").delete()
        outcome, notes, _ = measure(agent, collection, op="query", entries="50", duration_s="1")
        assert 0 < notes["wrong_bodies"] < notes["operations"]
        documents.document("r00000007").set(rows["r00000007"])
        documents.document("r00000019").set({**rows["r00000019"], "more": 7})
        outcome, notes, error = measure(agent, collection, op="query", entries="50", duration_s="1")
        assert (outcome, error) == ("ok", "")
        assert 0 < notes["wrong_bodies"] < notes["operations"], "a field more is another row"
        client.close()


def test_rows_of_puts_and_loads_are_read_by_googles_client(agent: Path, server: Served, collection: DataSet) -> None:
    outcome, notes, error = measure(agent, collection, op="put", entries="20")
    assert (outcome, notes["client_errors"], error) == ("ok", 0, "")
    outcome, notes, error = measure(agent, collection, "load", entries="1010")
    assert (outcome, error) == ("ok", "")
    assert (notes["rows_written"], notes["operations"]) == (1010, 3)
    with google(server, "firestore") as firestore:
        client = firestore.Client(project="cloudcmp")
        written = rows_of(client.collection(collection.name.rpartition("/")[2]), "u")
        client.close()
    assert sorted(written) == [f"u{index:08d}" for index in range(1010)]
    assert written["u00000042"]["g"] == "gu4"


@pytest.mark.parametrize("change", ["write", "update", "delete", "list"])
def test_every_change_is_seen_at_once(agent: Path, collection: DataSet, change: str) -> None:
    for read in ("eventual", "strong"):
        outcome, notes, error = measure(agent, collection, "consistency", service="table", change=change, read=read)
        assert (outcome, error, notes["wrong_bodies"]) == ("ok", "", 0)


def test_a_mistake_is_one_line(agent: Path, collection: DataSet) -> None:
    def fails(access: DataSet, probe: str = "table", **params: str) -> str:
        outcome, _, error = measure(agent, access, probe, **params)
        assert outcome == "failed"
        assert "\n" not in error
        return error

    assert "the data_set of firestore is no collection" in fails(replace(collection, name="cloudcmp-x"))
    other = {"kind": "sas", "query": "sig=secret"}
    assert "takes a credential of kind token" in fails(replace(collection, credential=other))
    assert "no such operation" in measure(agent, collection, "blob")[2]
