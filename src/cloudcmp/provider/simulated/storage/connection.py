"""One connection of a client to the simulated storage service: requests in, answers out at their moments."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from cloudcmp.provider.simulated.storage.http_message import Answer, BadMessage, Head, RequestReader
from cloudcmp.provider.simulated.storage.precise_loop import LEAD_S

_PIECE_BYTES = 256 * 1024
_PACED_PIECE_BYTES = 16 * 1024
_WAITING_BYTES_MAX = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer to send: at `due_s` of the loop's clock, its body at `bytes_per_s` (0: as fast as it goes).

    With `cut`, the connection ends after this share of its bytes; a `silent` one is never sent. `ended` is called with
    the seconds by which the first byte was late, or with None if the client had left.
    """

    head: Head
    answer: Answer
    due_s: float
    bytes_per_s: float
    cut: float | None
    silent: bool
    ended: Callable[[float | None], None]


class Backend(Protocol):
    """What a connection asks the server."""

    def now_s(self) -> float:
        """Seconds since the server's start."""

    def arrival_s(self, descriptor: int) -> float:
        """When the bytes that were last read of a connection arrived, in seconds since the server's start."""

    def unix_s(self) -> float:
        """The service's clock, as Unix time in seconds."""

    def opened(self, connection: "Connection") -> None:
        """Notes a connection that a client opened."""

    def closed(self, connection: "Connection") -> None:
        """Notes a connection that has ended."""

    def malformed(self) -> None:
        """Notes bytes that are no request."""

    def early_refusal(self, head: Head) -> Answer | None:
        """The refusal of a request whose body has not come; None if it is welcome so far."""

    def take(self, head: Head, body: bytes, begun_s: float, arrival_s: float, connection: "Connection") -> None:
        """Serves a request whose first byte came at `begun_s` and whose last one came at `arrival_s`."""


class Connection(asyncio.Protocol):
    """Reads requests one after another; the next one begins when the one before it has been answered."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._loop = asyncio.get_running_loop()
        self._reader = RequestReader()
        self._busy = self._continued = False
        self._begun_s: float | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._reply: Reply | None = None
        self._first = b""
        self._body = memoryview(b"")
        self._sent = 0
        self._held = False  # by a client that reads slowly
        self._started = False
        self.is_closed = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begins to read."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._descriptor: int = transport.get_extra_info("socket").fileno()
        self._backend.opened(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forgets an answer that nobody waits for any more."""
        del exc
        self.is_closed = True
        if self._timer is not None:
            self._timer.cancel()
        if self._reply is not None and not self._started:
            self._reply.ended(None)
        self._reply = None
        self._backend.closed(self)

    def data_received(self, data: bytes) -> None:
        """Takes bytes, and serves the request that they complete."""
        arrival_s = self._backend.arrival_s(self._descriptor)
        self._reader.feed(data)
        if self._begun_s is None:
            self._begun_s = arrival_s
        if not self._busy:
            self._advance(arrival_s)
        elif self._reader.waiting_bytes > _WAITING_BYTES_MAX:
            self._transport.pause_reading()

    def pause_writing(self) -> None:
        """Holds the rest of a body until the client has read some."""
        self._held = True

    def resume_writing(self) -> None:
        """Goes on with a body."""
        self._held = False
        if self._reply is not None and self._timer is None and self._started:
            self._send_more()

    def abort(self) -> None:
        """Ends the connection at once."""
        self._transport.abort()

    def reply(self, reply: Reply) -> None:
        """Sends an answer at its moment."""
        if self.is_closed:
            reply.ended(None)
            return
        if reply.silent:
            reply.ended(0.0)
            return
        self._reply, self._started = reply, False
        self._prepare(reply)
        self._timer = self._loop.call_at(reply.due_s - LEAD_S, self._start)

    def _advance(self, arrival_s: float) -> None:
        try:
            found = self._reader.next()
        except BadMessage as bad:
            self._backend.malformed()
            self._finish_early(Answer(bad.status, str(bad).encode()))
            return
        if found is not None:
            begun_s, self._begun_s = self._begun_s, None
            self._busy, self._continued = True, False
            self._backend.take(*found, arrival_s if begun_s is None else begun_s, arrival_s, self)
            return
        head = self._reader.head
        if head is not None and not self._continued and head.headers.get("expect", "").lower() == "100-continue":
            self._continued = True
            refusal = self._backend.early_refusal(head)
            if refusal is None:
                self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            else:
                self._finish_early(refusal)

    def _finish_early(self, answer: Answer) -> None:
        """Answers at once and ends the connection: what follows in it cannot be understood, or is not wanted."""
        self._busy = True
        head = answer.head(self._backend.unix_s(), len(answer.body), keeps_open=False)
        self._transport.write(head + answer.body)
        self._transport.close()

    def _prepare(self, reply: Reply) -> None:
        """Makes the first bytes to send, so that nothing but sending them is left for their moment."""
        answer = reply.answer
        length = len(answer.body) if answer.length is None else answer.length
        head = answer.head(self._backend.unix_s(), length, keeps_open=reply.head.keeps_open)
        body = memoryview(answer.body)
        if reply.cut is not None:
            kept = int(reply.cut * (len(head) + len(body)))
            head, body = head[:kept], body[: max(0, kept - len(head))]
        self._body = body
        self._sent = 0 if reply.bytes_per_s else min(_PIECE_BYTES, len(body))
        self._first = head + body[: self._sent]

    def _start(self) -> None:
        """Sends the head and, without a pace, the first piece of the body."""
        reply = self._reply
        assert reply is not None
        now_s = self._loop.time()
        while now_s < reply.due_s:  # a timer may be late, so it wakes early, and the rest is waited without sleep
            now_s = self._loop.time()
        self._transport.write(self._first)
        self._timer, self._started, self._first = None, True, b""
        reply.ended(now_s - reply.due_s)
        self._send_more()

    def _send_more(self) -> None:
        """Sends pieces until the body is sent, the client reads no more, or the pace says to wait."""
        reply = self._reply
        assert reply is not None
        while self._sent < len(self._body):
            if self._held:
                return
            piece = _PACED_PIECE_BYTES if reply.bytes_per_s else _PIECE_BYTES
            end = min(self._sent + piece, len(self._body))
            if reply.bytes_per_s:
                due_s = reply.due_s + end / reply.bytes_per_s
                if self._loop.time() < due_s:
                    self._timer = self._loop.call_at(due_s, self._resume)
                    return
            self._transport.write(self._body[self._sent : end])
            self._sent = end
        self._end()

    def _resume(self) -> None:
        self._timer = None
        self._send_more()

    def _end(self) -> None:
        """Goes on to the next request, which may be here already."""
        reply = self._reply
        assert reply is not None
        self._reply, self._body = None, memoryview(b"")
        if reply.cut is not None or not reply.head.keeps_open:
            self._transport.close()
            return
        self._busy = False
        self._transport.resume_reading()
        if self._reader.waiting_bytes:
            self._begun_s = self._backend.now_s()
            self._advance(self._begun_s)
