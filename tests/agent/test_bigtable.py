"""The agent's Bigtable beside Google's own client, at Google's emulator, and before a service that answers badly."""

import asyncio
import json
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic
from typing import Any

import grpc
import pytest
from google.auth.credentials import AnonymousCredentials
from google.cloud.bigtable_v2 import types
from google.rpc import status_pb2
from tests.agent.made_data_sets import made, serving_or_skip
from tests.emulated.tcp_proxy import bad_line
from tests.servers.clients import google
from tests.servers.serving import Served
from tests.slices import long

from cloudcmp.agent import encode_job
from cloudcmp.execute.cast import target_of
from cloudcmp.model.cast import DataSet, Service, ServiceKind
from cloudcmp.model.plan import PlannedTrial

pytestmark = pytest.mark.filterwarnings("ignore:Connecting to Bigtable emulator:RuntimeWarning")
QUICK = {"entries": "60", "duration_s": "0.3"}
DEADLINE_S = 15.0


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    """An empty emulator of Bigtable."""
    with serving_or_skip("bigtable") as one:
        yield one


@pytest.fixture
def table(server: Served, monkeypatch: pytest.MonkeyPatch) -> Iterator[DataSet]:
    """A table, made by the driver."""
    monkeypatch.setenv("BIGTABLE_EMULATOR_HOST", server.host("bigtable"))
    with made(Service(ServiceKind.TABLE, "gcp", "here", api="bigtable")) as found:
        yield found


@dataclass(frozen=True, slots=True)
class Ran:
    """What a trial gave: its outcome, its notes, the values of its metrics, and its error."""

    outcome: str
    notes: dict[str, Any]
    values: dict[str, list[float]]
    error: str


def run(agent: Path, access: DataSet, probe: str = "table", **params: str) -> Ran:
    """Runs a trial."""
    target, credentials = target_of(access)
    trial = PlannedTrial(0, 0, probe, tuple(sorted(params.items())), (), 0, 0.0, 1.0, DEADLINE_S, 7)
    line = encode_job(trial, cpus=[0], folder=None, role="client", targets=[target], credentials=credentials)
    with subprocess.Popen([agent], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(line)
        process.stdin.flush()
        frames = [json.loads(text) for text in process.stdout.read().splitlines()]
    notes = {frame["key"]: frame["value"] for frame in frames if frame["type"] == "note"}
    values: dict[str, list[float]] = {}
    for frame in frames:
        if frame["type"] == "sample":
            values.setdefault(frame["metric"], []).append(frame["value"])
    error = " ".join(frame["what"] for frame in frames if frame["type"] == "error")
    return Ran(frames[-1]["outcome"], notes, values, error)


@contextmanager
def client_of(server: Served, table: DataSet) -> Iterator[Any]:
    """The table as Google's own client sees it."""
    _, project, _, instance, _, name = table.name.split("/")
    with google(server, "bigtable") as bigtable:
        client = bigtable.Client(project=project, credentials=AnonymousCredentials())
        yield client.instance(instance).table(name)
        client.close()


def rows_of(client: Any) -> dict[str, dict[str, str]]:
    """All rows of a table: the newest cell of each column, by key."""
    return {
        row.row_key.decode(): {name.decode(): cells[0].value.decode() for name, cells in row.cells["f"].items()}
        for row in client.read_rows()
    }


def write(client: Any, key: str, row: dict[str, str]) -> None:
    """Replaces a row."""
    direct = client.direct_row(key)
    for name, value in row.items():
        direct.set_cell("f", name, value)
    direct.commit()


def test_rows_that_the_agent_writes_googles_client_reads_and_the_reverse(
    agent: Path, server: Served, table: DataSet
) -> None:
    ran = run(agent, table, op="get", **QUICK)
    assert (ran.outcome, ran.error, ran.notes["batches_written"]) == ("ok", "", 1)
    with client_of(server, table) as client:
        rows = rows_of(client)
        assert sorted(rows) == [f"r{index:08d}" for index in range(60)]
        assert {row["g"] for row in rows.values()} == {f"g{index}" for index in range(6)}
        assert {len(row["v"]) for row in rows.values()} == {100}
        assert len({row["v"] for row in rows.values()}) == 60
        for key, row in rows.items():
            direct = client.direct_row(key)
            direct.delete()
            direct.commit()
            write(client, key, row)
        for op in ("get", "query"):
            ran = run(agent, table, op=op, read="strong", **QUICK)
            assert (ran.outcome, ran.notes["batches_written"], ran.notes["wrong_bodies"]) == ("ok", 0, 0), ran
            assert ran.notes["operations"] > 5
        # A row that is not what was written is never a success, of a get and of a query.
        write(client, "r00000007", {"v": rows["r00000008"]["v"]})
        direct = client.direct_row("r00000019")
        direct.delete()
        direct.commit()
    for op in ("get", "query"):
        ran = run(agent, table, op=op, **QUICK)
        assert ran.outcome == "ok", ran.error
        assert 0 < ran.notes["wrong_bodies"] < ran.notes["operations"], ran.notes
        assert ran.values["table_failed_ratio"] == [ran.notes["wrong_bodies"] / ran.notes["operations"]]


def test_puts_and_loads_are_read_by_googles_client(agent: Path, server: Served, table: DataSet) -> None:
    ran = run(agent, table, "load", entries="250")
    assert (ran.outcome, ran.notes["rows_written"], ran.notes["operations"]) == ("ok", 250, 3), ran
    assert ran.values["table_load_row_per_s"][0] > 0
    with client_of(server, table) as client:
        assert sorted(rows_of(client)) == [f"u{index:08d}" for index in range(250)]
        ran = run(agent, table, op="put", entries="20", duration_s="0.3")
        assert (ran.outcome, ran.notes["client_errors"], ran.notes["wrong_bodies"]) == ("ok", 0, 0)
        # Rows that were put lie beside those that are read.
        assert len(rows_of(client)) == 270
    ran = run(agent, table, op="query", entries="20", duration_s="0.3")
    assert (ran.outcome, ran.notes["wrong_bodies"]) == ("ok", 0)


def test_consistency_of_rows_is_measured(agent: Path, table: DataSet) -> None:
    for change in ("write", "update", "delete", "list"):
        ran = run(agent, table, "consistency", service="table", change=change, duration_s="0.3")
        assert (ran.outcome, ran.error, ran.values["stale_read_ratio"]) == ("ok", "", [0.0]), change


def test_a_mistake_is_one_line_with_the_status_of_grpc(agent: Path, table: DataSet) -> None:
    def fails(access: DataSet, probe: str = "table") -> str:
        ran = run(agent, access, probe)
        assert (ran.outcome, ran.values) == ("failed", {})
        assert "\n" not in ran.error
        return ran.error

    assert "5 NOT_FOUND" in fails(replace(table, name="projects/cloudcmp/instances/cloudcmp/tables/nobodys"))
    assert "none of 1000 rows was written: 5 NOT_FOUND" in fails(
        replace(table, name="projects/cloudcmp/instances/cloudcmp/tables/nobodys"), "load"
    )
    assert "the data_set of bigtable is no table" in fails(replace(table, name="projects/cloudcmp/topics/t"))
    other = {"kind": "sas", "query": "sig=secret"}
    assert "takes a credential of kind token" in fails(replace(table, credential=other))
    for probe in ("queue", "blob", "propagation"):
        assert "bigtable has no such operation" in fails(table, probe)


# -- a service that answers badly

Alter = Callable[[str, list[bytes], Any], list[bytes]]
_SERVICE = "/google.bigtable.v2.Bigtable/"


@dataclass
class Altered(grpc.GenericRpcHandler):
    """A service between the agent and the emulator, which changes answers; it notes what was asked for."""

    server: str
    alter: Alter
    methods: list[str] = field(default_factory=list)
    metadata: list[dict[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._channel = grpc.insecure_channel(self.server)

    def service(self, handler_call_details: Any) -> Any:
        method = handler_call_details.method.removeprefix(_SERVICE)

        def answer(data: bytes, context: Any) -> Iterator[bytes]:
            self.methods.append(method)
            self.metadata.append(dict(context.invocation_metadata()))
            try:
                answers = list(self._channel.unary_stream(handler_call_details.method)(data, timeout=30))
            except grpc.RpcError as error:
                context.abort(error.code(), error.details())
            yield from self.alter(method, answers, context)

        return grpc.unary_stream_rpc_method_handler(answer)


@contextmanager
def altered(server: Served, table: DataSet, alter: Alter) -> Iterator[tuple[DataSet, Altered]]:
    """The table behind a service that changes answers."""
    served, service = grpc.server(ThreadPoolExecutor(8)), Altered(server.host("bigtable"), alter)
    served.add_generic_rpc_handlers((service,))
    port = served.add_insecure_port("127.0.0.1:0")
    served.start()
    try:
        yield replace(table, endpoint=f"http://127.0.0.1:{port}"), service
    finally:
        served.stop(0.5).wait()


def unchanged(method: str, answers: list[bytes], context: Any) -> list[bytes]:
    return answers


def test_the_table_is_named_in_a_header_as_googles_client_names_it(agent: Path, server: Served, table: DataSet) -> None:
    token = {"kind": "token", "header": "authorization", "value": "Bearer 5ec3e7"}
    with altered(server, table, unchanged) as (access, service):
        ran = run(agent, replace(access, credential=token), op="get", entries="10", duration_s="0.1")
        assert (ran.outcome, ran.error) == ("ok", "")
        ours = {(each["x-goog-request-params"], each["authorization"]) for each in service.metadata}
        assert {*service.methods} == {"ReadRows", "MutateRows"}
        service.metadata.clear()
        there = replace(server, endpoints={"bigtable": access.endpoint})
        with client_of(there, table) as client:
            assert client.read_row(b"r00000003").cell_value("f", b"g") == b"g0"
        theirs = {(each["x-goog-request-params"], "Bearer 5ec3e7") for each in service.metadata}
    assert ours == theirs


def in_pieces(method: str, answers: list[bytes], context: Any) -> list[bytes]:
    """Cuts each value into three pieces in messages of their own, after a row that is taken back."""
    if method != "ReadRows":
        return answers
    pieces: list[types.ReadRowsResponse.CellChunk] = []
    for answer in answers:
        for chunk in types.ReadRowsResponse.deserialize(answer).chunks:
            if not pieces or pieces[-1].commit_row:
                pieces.append(types.ReadRowsResponse.CellChunk(chunk, value=b"not this", commit_row=False))
                pieces.append(types.ReadRowsResponse.CellChunk(reset_row=True))
            size = len(chunk.value)
            first = types.ReadRowsResponse.CellChunk(chunk, value=chunk.value[:1], value_size=size, commit_row=False)
            last = types.ReadRowsResponse.CellChunk(value=chunk.value[40:], commit_row=chunk.commit_row)
            more = types.ReadRowsResponse.CellChunk(value=chunk.value[1:40], value_size=size)
            pieces += [first, more, last]
    return [types.ReadRowsResponse.serialize(types.ReadRowsResponse(chunks=[each])) for each in pieces]


def test_values_in_pieces_and_rows_that_are_taken_back_are_put_together(
    agent: Path, server: Served, table: DataSet
) -> None:
    with altered(server, table, in_pieces) as (access, _):
        for op in ("get", "query"):
            ran = run(agent, access, op=op, **QUICK)
            assert (ran.outcome, ran.error, ran.notes["wrong_bodies"]) == ("ok", "", 0), ran
            assert ran.notes["operations"] > 2


def every_third(worse: Alter) -> Alter:
    """A service that is right two reads of three; a trial begins with two."""
    count = [0]

    def alter(method: str, answers: list[bytes], context: Any) -> list[bytes]:
        count[0] += method == "ReadRows"
        return worse(method, answers, context) if method == "ReadRows" and count[0] % 3 == 0 else answers

    return alter


def ends_early(method: str, answers: list[bytes], context: Any) -> list[bytes]:
    """Leaves out the last piece, and says that all is well."""
    response = types.ReadRowsResponse.deserialize(answers[-1])
    response.chunks.pop()
    return [*answers[:-1], types.ReadRowsResponse.serialize(response)]


def fails_late(method: str, answers: list[bytes], context: Any) -> list[bytes]:
    """Sends everything, and says that it failed."""
    context.set_code(grpc.StatusCode.UNAVAILABLE)
    context.set_details("the tablet moved")
    return answers


def throttles(method: str, answers: list[bytes], context: Any) -> list[bytes]:
    context.set_code(grpc.StatusCode.RESOURCE_EXHAUSTED)
    return []


def lies(method: str, answers: list[bytes], context: Any) -> list[bytes]:
    """Changes a byte of the last value."""
    response = types.ReadRowsResponse.deserialize(answers[-1])
    value = response.chunks[-1].value
    response.chunks[-1].value = bytes([value[0] ^ 1]) + value[1:]
    return [*answers[:-1], types.ReadRowsResponse.serialize(response)]


@pytest.mark.parametrize("op", ["get", "query"])
@pytest.mark.parametrize(
    ("worse", "counted"),
    [(ends_early, "wrong_bodies"), (fails_late, "server_errors"), (throttles, "throttled"), (lies, "wrong_bodies")],
)
def test_a_bad_answer_is_counted_and_never_a_success(
    agent: Path, server: Served, table: DataSet, worse: Alter, counted: str, op: str
) -> None:
    assert run(agent, table, op=op, **QUICK).outcome == "ok", "filled before"
    with altered(server, table, every_third(worse)) as (access, _):
        ran = run(agent, access, op=op, **QUICK)
    assert ran.outcome == "ok", ran.error
    assert 0 < ran.notes[counted] < ran.notes["operations"], ran.notes
    others = {"wrong_bodies", "server_errors", "throttled", "client_errors"} - {counted}
    assert all(ran.notes[each] == 0 for each in others), ran.notes


def part_throttled(method: str, answers: list[bytes], context: Any) -> list[bytes]:
    """Says of every tenth row of a batch that there were too many."""
    if method != "MutateRows":
        return answers
    changed = []
    for answer in answers:
        response = types.MutateRowsResponse.deserialize(answer)
        for entry in response.entries:
            if entry.index % 10 == 0:
                entry.status = status_pb2.Status(code=grpc.StatusCode.RESOURCE_EXHAUSTED.value[0], message="slower")
        changed.append(types.MutateRowsResponse.serialize(response))
    return changed


def silent(method: str, answers: list[bytes], context: Any) -> list[bytes]:
    return [] if method == "MutateRows" else answers


def test_rows_of_a_batch_are_counted_one_by_one(agent: Path, server: Served, table: DataSet) -> None:
    with altered(server, table, part_throttled) as (access, _):
        ran = run(agent, access, "load", entries="200")
    assert (ran.outcome, ran.notes["rows_written"], ran.notes["rows_throttled"]) == ("ok", 180, 20), ran
    with altered(server, table, silent) as (access, _):
        ran = run(agent, access, "load", entries="200")
    assert ran.outcome == "failed"
    assert "a batch without the status of 100 of its 100 rows" in ran.error


@long  # on other protocols each day: tests/agent/test_black_holes.py
def test_a_line_that_goes_bad_at_any_byte_ends_in_time_and_is_never_a_success(
    agent: Path, server: Served, table: DataSet
) -> None:
    assert run(agent, table, op="get", **QUICK).outcome == "ok", "filled before"
    host, _, port = server.host("bigtable").partition(":")

    async def one(kind: str, at_byte: int) -> tuple[str, int, Ran, float, bool]:
        async with bad_line((host, int(port)), kind, at_byte) as line:
            access, began = replace(table, endpoint=f"http://{line.address}:{line.port}"), monotonic()
            ran = await asyncio.to_thread(run, agent, access, op="get", entries="60", duration_s="0.5")
            whole = kind == "flip" or line.to_client < at_byte  # nothing was cut off yet
            return kind, at_byte, ran, monotonic() - began, whole

    async def all_of_them() -> list[tuple[str, int, Ran, float, bool]]:
        bytes_ = (0, 9, 60, 150, 700, 3000)
        return await asyncio.gather(*(one(kind, at) for kind in ("end", "reset", "flip") for at in bytes_))

    for kind, at_byte, ran, took_s, whole in asyncio.run(all_of_them()):
        assert took_s < DEADLINE_S + 2, (kind, at_byte, took_s)
        failures = ("broken_connections", "wrong_bodies", "timeouts", "client_errors", "server_errors", "throttled")
        if ran.outcome == "ok":
            assert whole or ran.notes["broken_connections"] > 0, (kind, at_byte, ran)
            assert sum(ran.notes[each] for each in failures) < ran.notes["operations"], (kind, at_byte, ran)
        else:
            assert ran.error, (kind, at_byte, ran)
            assert ran.values == {}, (kind, at_byte, ran)
