"""A small HTTP/1.1 server on a loopback port, in a thread of its own, that can also answer badly."""

import asyncio
import contextlib
import os
import signal
import socket
import ssl
import struct
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it came."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    def header(self, name: str) -> str:
        """A header by its name in any case, empty where it is missing."""
        return next((value for key, value in self.headers.items() if key.lower() == name.lower()), "")


@dataclass(frozen=True, slots=True)
class Answer:
    """What goes back. `how` is whole, close (no byte), reset (an RST) or part (fewer bytes than announced)."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    how: str = "whole"
    delay_s: float = 0.0


Handler = Callable[[Request], Answer]


class EmulationFault(BaseException):
    """An emulation has a mistake: no test may go on, or take what comes of it for the product's doing."""


_ALARM = signal.SIGUSR2
_BROKEN: "list[Server]" = []
"""Servers whose handler raised, and nobody knows it yet."""


def _interrupt(*_: object) -> None:
    """Runs in the main thread, whatever it waits for."""
    for server in list(_BROKEN):
        server.tell()


class Server:
    """Serves a handler, which may block, on 127.0.0.1 and a free port, until it is left; over TLS with a context.

    A handler that raises ends its test at once, with its traceback: the main thread is interrupted by EmulationFault
    where the server was entered there, else leaving the server raises it. From then on no request is answered.
    """

    def __init__(self, handler: Handler, port: int = 0, tls: ssl.SSLContext | None = None) -> None:
        self._handler = handler
        self._tls = tls
        self._loop = asyncio.new_event_loop()
        self._pool = ThreadPoolExecutor(16, thread_name_prefix="emulated")
        self._open: set[asyncio.Task[None]] = set()
        self._closing = False
        self._fault: BaseException | None = None
        self._listener = socket.create_server(("127.0.0.1", port))
        self.port = int(self._listener.getsockname()[1])
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, name="emulated-http", daemon=True)

    def __enter__(self) -> "Server":
        if threading.current_thread() is threading.main_thread():
            signal.signal(_ALARM, _interrupt)
        self._thread.start()
        self._ready.wait(10)
        return self

    def tell(self) -> None:
        """Raise what the handler raised, unless that was done before."""
        if self in _BROKEN:
            _BROKEN.remove(self)
            raise EmulationFault(f"an emulation failed: {self._fault!r}") from self._fault

    def _guarded(self, request: Request) -> Answer:
        try:
            if self._fault is None:
                return self._handler(request)
        except BaseException as error:
            self._fault = error
            _BROKEN.append(self)
            if signal.getsignal(_ALARM) is _interrupt:
                os.kill(os.getpid(), _ALARM)
        return Answer(how="close")

    def __exit__(self, *_: object) -> None:
        self._stop_serving()
        self.tell()

    def _stop_serving(self) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._server = self._loop.run_until_complete(
            asyncio.start_server(self._accept, sock=self._listener, ssl=self._tls)
        )
        self._ready.set()
        self._loop.run_forever()

    async def _stop(self) -> None:
        # No more are accepted; the server is closed last, because it drops those that it is just accepting.
        self._loop.remove_reader(self._listener.fileno())
        self._closing = True
        while others := asyncio.all_tasks() - {asyncio.current_task()}:
            for task in self._open:  # a connection that was just accepted is none of them yet, and ends by itself
                task.cancel()
            await asyncio.wait(others, timeout=0.05)
        self._server.close()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            while not self._closing and await self._one(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self._open.discard(task)
            writer.close()
            with contextlib.suppress(ConnectionError, asyncio.CancelledError, TimeoutError):
                # A client that keeps its connection does not answer the end of TLS on it: that is hardly waited for.
                await asyncio.wait_for(writer.wait_closed(), 0.2 if self._tls else None)
            if self._tls:
                writer.transport.abort()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Serve one request; whether the connection may be used again."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, path, _ = head[0].split(" ", 2)
        headers = {name: value.strip() for name, _, value in (line.partition(":") for line in head[1:]) if name}
        length = next((int(value) for name, value in headers.items() if name.lower() == "content-length"), 0)
        if any(name.lower() == "expect" for name in headers):
            writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        request = Request(method, path, headers, await reader.readexactly(length))
        answer = await self._loop.run_in_executor(self._pool, self._guarded, request)
        await asyncio.sleep(answer.delay_s)
        return await _send(writer, answer)


async def _send(writer: asyncio.StreamWriter, answer: Answer) -> bool:
    if answer.how == "reset":
        raw = writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()
        return False
    if answer.how == "close":
        return False
    fields = {**answer.headers, "Content-Length": str(len(answer.body))}
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    body = answer.body[: len(answer.body) // 2] if answer.how == "part" else answer.body
    writer.write(f"HTTP/1.1 {answer.status} Said\r\n{lines}\r\n".encode("latin-1") + body)
    await writer.drain()
    return answer.how == "whole"
