"""The control port of a simulated storage service: its truth and its counts, apart from what is measured.

GET  /-/truth          {"planted": ..., "counted": ...}
GET  /-/truth?values   the same with every planted time
PUT  /-/truth          plants another truth; stored data stays
POST /-/reset          what was counted so far; counts begin anew
"""

import asyncio
import json

from cloudcmp.errors import UserMistake
from cloudcmp.model.codec import to_json
from cloudcmp.provider.simulated.storage.connection import Connection, Reply
from cloudcmp.provider.simulated.storage.counts import Counts
from cloudcmp.provider.simulated.storage.http_message import Answer, Head
from cloudcmp.provider.simulated.storage.server import HOST, StorageServer
from cloudcmp.provider.simulated.storage.truth import parse_truth


def document(storage: StorageServer, counts: Counts, *, with_values: bool = False) -> dict[str, object]:
    """What was planted and what was counted, as plain data; secret keys are left out."""
    planted = json.loads(to_json(storage.truth))
    planted["keys"] = [{"access_key": key.access_key} for key in storage.truth.keys]
    return {"planted": planted, "counted": counts.document(with_values=with_values)}


class Control:
    """Answers on the control port; no request on it is counted, delayed or refused for its signature."""

    def __init__(self, storage: StorageServer) -> None:
        self._storage = storage
        self._server: asyncio.Server | None = None
        self._open: set[Connection] = set()

    @property
    def port(self) -> int:
        """The port that it listens on, once it has started."""
        assert self._server is not None
        return int(self._server.sockets[0].getsockname()[1])

    async def start(self, port: int = 0) -> None:
        """Listens on loopback, on any free port by default."""
        self._server = await asyncio.get_running_loop().create_server(lambda: Connection(self), HOST, port)

    async def stop(self) -> None:
        """Ends all connections and stops listening."""
        if self._server is not None:
            self._server.close()
        for connection in list(self._open):
            connection.abort()
        await asyncio.sleep(0)

    def now_s(self) -> float:
        """Seconds since the server's start."""
        return self._storage.now_s()

    def arrival_s(self, descriptor: int) -> float:
        """Now: nothing is timed here."""
        del descriptor
        return self.now_s()

    def unix_s(self) -> float:
        """The service's clock, as Unix time in seconds."""
        return self._storage.unix_s()

    def opened(self, connection: Connection) -> None:
        """Notes a connection that a client opened."""
        self._open.add(connection)

    def closed(self, connection: Connection) -> None:
        """Notes a connection that has ended."""
        self._open.discard(connection)

    def malformed(self) -> None:
        """Notes nothing: only the storage counts."""

    def early_refusal(self, head: Head) -> Answer | None:
        """Nothing: every body is welcome."""
        del head
        return None

    def take(self, head: Head, body: bytes, begun_s: float, arrival_s: float, connection: Connection) -> None:
        """Answers a request at once."""
        del begun_s, arrival_s
        answer = self._answer(head, body)
        connection.reply(Reply(head, answer, 0.0, 0.0, None, silent=False, ended=lambda _: None))

    def _answer(self, head: Head, body: bytes) -> Answer:
        match f"{head.method} {head.path}":
            case "GET /-/truth":
                return _json(document(self._storage, self._storage.counts, with_values=head.query == "values"))
            case "PUT /-/truth":
                return self._plant(body)
            case "POST /-/reset":
                return _json(document(self._storage, self._storage.reset()))
            case _:
                return Answer(404, b"use GET or PUT /-/truth, or POST /-/reset\n")

    def _plant(self, body: bytes) -> Answer:
        try:
            self._storage.plant(parse_truth(body.decode("utf-8", "replace")))
        except UserMistake as mistake:
            return Answer(400, f"{mistake}\n".encode())
        return Answer(204)


def _json(plain: object) -> Answer:
    return Answer(body=json.dumps(plain).encode(), headers=(("Content-Type", "application/json"),))
