"""Firestore answers wrongly, refuses, goes silent or is cut off: each is counted as what it is, none as a success."""

import asyncio
import random
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
from tests.agent.test_firestore import measure
from tests.servers.fetch import Absent
from tests.servers.serving import Served, serving
from tests.slices import examples

from cloudcmp.model.cast import DataSet

COLLECTION = "projects/cloudcmp/databases/(default)/documents/cloudcmp-answers"
QUERY = "/google.firestore.v1.Firestore/RunQuery"
COUNTS = ("throttled", "server_errors", "client_errors", "timeouts", "wrong_bodies", "broken_connections")
Change = Callable[[list[bytes], Any], list[bytes]]


class Relay:
    """A server of gRPC that asks another one, and changes every second answer to a query."""

    def __init__(self, host: str) -> None:
        self.change: Change | None = None
        self.queries = 0
        self._channel = grpc.insecure_channel(host)
        self._server = grpc.server(ThreadPoolExecutor(4))
        self._server.add_generic_rpc_handlers((self,))  # type: ignore[arg-type]
        self.port = self._server.add_insecure_port("127.0.0.1:0")
        self._server.start()

    def service(self, details: grpc.HandlerCallDetails) -> Any:
        """The handler of a method, whatever it is: bytes in, bytes out."""
        ask = self._channel.unary_stream(details.method)

        def answer(request: bytes, context: grpc.ServicerContext) -> Iterator[bytes]:
            messages = list(ask(request, timeout=30))
            if details.method == QUERY and self.change is not None:
                self.queries += 1
                if self.queries % 2:
                    messages = self.change(messages, context)
            yield from messages

        return grpc.unary_stream_rpc_method_handler(answer)

    def close(self) -> None:
        """Ends the server and its connection."""
        self._server.stop(None)
        self._channel.close()


@pytest.fixture(scope="module")
def server(agent: Path) -> Iterator[Served]:
    """A Firestore that holds three groups of rows, written by the agent."""
    try:
        with serving("firestore") as one:
            outcome, notes, error = measure(agent, at(one.host("firestore")), op="get", entries="30")
            assert (outcome, error, notes["batches_written"]) == ("ok", "", 1)
            yield one
    except Absent as absent:
        pytest.skip(str(absent))


def at(host: str) -> DataSet:
    return DataSet("firestore", f"http://{host}", COLLECTION, "here")


@pytest.fixture
def relay(server: Served) -> Iterator[Relay]:
    """A relay to that server."""
    one = Relay(server.host("firestore"))
    yield one
    one.close()


def refused(code: grpc.StatusCode) -> Change:
    def change(_: list[bytes], context: Any) -> list[bytes]:
        context.abort(code, "so it is")
        return []

    return change


def late(code: grpc.StatusCode) -> Change:
    """Refuses after half of the rows."""

    def change(messages: list[bytes], context: Any) -> list[bytes]:
        context.set_code(code)
        return messages[:5]

    return change


def flipped(messages: list[bytes], _: Any) -> list[bytes]:
    """One letter of a row's value is another."""
    at = messages[3].rindex(b"\n\x01v") + 12
    return [*messages[:3], messages[3][:at] + bytes([messages[3][at] ^ 1]) + messages[3][at + 1 :], *messages[4:]]


CHANGES: dict[str, tuple[Change, str]] = {
    "a row is missing": (lambda messages, _: messages[1:], "wrong_bodies"),
    "a row comes twice": (lambda messages, _: [*messages, messages[0]], "wrong_bodies"),
    "nothing comes": (lambda _, __: [], "wrong_bodies"),
    "a message is cut": (lambda messages, _: [*messages[:-1], messages[-1][:40]], "wrong_bodies"),
    "a message is no message": (lambda messages, _: [b"\xff" * 50, *messages[1:]], "wrong_bodies"),
    "a value is another": (flipped, "wrong_bodies"),
    "RESOURCE_EXHAUSTED": (refused(grpc.StatusCode.RESOURCE_EXHAUSTED), "throttled"),
    "ABORTED": (refused(grpc.StatusCode.ABORTED), "throttled"),
    "UNAVAILABLE": (refused(grpc.StatusCode.UNAVAILABLE), "server_errors"),
    "INTERNAL after rows": (late(grpc.StatusCode.INTERNAL), "server_errors"),
    "PERMISSION_DENIED": (refused(grpc.StatusCode.PERMISSION_DENIED), "client_errors"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_each_wrong_answer_is_counted_as_what_it_is_and_the_others_are_right(
    agent: Path, relay: Relay, name: str
) -> None:
    relay.change, kind = CHANGES[name]
    outcome, notes, error = measure(agent, at(f"127.0.0.1:{relay.port}"), op="query", entries="30")
    assert (outcome, error) == ("ok", "")
    assert 0 < notes[kind] < notes["operations"]
    assert abs(2 * notes[kind] - notes["operations"]) <= 1
    assert {count: notes[count] for count in COUNTS if count != kind and notes.get(count)} == {}


def test_a_service_that_refuses_everything_is_told_with_its_own_code(agent: Path, relay: Relay) -> None:
    denied = refused(grpc.StatusCode.PERMISSION_DENIED)

    def always(messages: list[bytes], context: Any) -> list[bytes]:
        relay.queries = 0
        return denied(messages, context)

    relay.change = always
    outcome, _, error = measure(agent, at(f"127.0.0.1:{relay.port}"), op="query", entries="30")
    assert outcome == "failed"
    assert "7 PERMISSION_DENIED: so it is" in error


@contextmanager
def cut(host: str, after: Callable[[], int | None]) -> Iterator[int]:
    """A line to a server that ends each connection after some bytes of its answers (None: never)."""
    target = host.partition(":")[0], int(host.partition(":")[2])
    listener = socket.create_server(("127.0.0.1", 0))
    stopped = threading.Event()

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, left: int | None) -> None:
        try:
            while data := await reader.read(4096):
                data = data if left is None else data[:left]
                writer.write(data)
                await writer.drain()
                left = None if left is None else left - len(data)
                if left == 0:
                    break
        except OSError:
            pass
        finally:
            writer.close()

    async def joined(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there, away = await asyncio.open_connection(*target)
            await asyncio.gather(pump(reader, away, None), pump(there, writer, after()), return_exceptions=True)
        finally:
            writer.close()

    async def serve() -> None:
        async with await asyncio.start_server(joined, sock=listener):
            while not stopped.is_set():
                await asyncio.sleep(0.05)

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        stopped.set()
        thread.join()


def test_a_connection_that_is_cut_at_any_byte_is_a_failure_and_never_a_right_answer(
    agent: Path, server: Served
) -> None:
    chance = random.Random(examples(7, 11))
    made: list[int | None] = []

    def after() -> int | None:
        # What looks whether the rows are there has connections of its own.
        made.append(None if len(made) < 2 or len(made) % 2 else chance.randrange(1, 4000))
        return made[-1]

    with cut(server.host("firestore"), after) as port:
        outcome, notes, error = measure(
            agent, at(f"127.0.0.1:{port}"), op="query", entries="30", reuse="no", duration_s="3"
        )
    assert (outcome, error, notes["wrong_bodies"]) == ("ok", "", 0)
    assert 0 < notes["broken_connections"] < notes["operations"]
    assert notes["broken_connections"] + notes["timeouts"] <= sum(one is not None for one in made)


def test_a_service_that_goes_silent_is_a_timeout_in_time(agent: Path, relay: Relay) -> None:
    over = threading.Event()

    def silent(messages: list[bytes], _: Any) -> list[bytes]:
        over.wait(30)
        return messages

    relay.change, relay.queries = silent, 1  # the first is answered
    began = time.monotonic()
    access = at(f"127.0.0.1:{relay.port}")
    outcome, notes, error = measure(agent, access, limit_s=8.0, op="query", entries="30", duration_s="1")
    over.set()
    assert time.monotonic() - began < 10
    assert (outcome, error, notes["timeouts"], notes["wrong_bodies"]) == ("ok", "", 1, 0)
