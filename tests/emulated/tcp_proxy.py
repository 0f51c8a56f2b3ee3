"""A bad line: forwards TCP connections to a server up to a byte, then does something to them."""

import asyncio
import contextlib
import socket
import struct
from collections.abc import AsyncIterator, Coroutine
from dataclasses import dataclass, field

KINDS = ("stall", "stall_up", "drip", "reset", "half_open", "end", "flip")


@dataclass
class BadLine:
    """What happens once `at_byte` bytes of the server's (of the client's for `stall_up`) were forwarded.

    `stall`, `stall_up`: nothing goes either way any more, and nobody is told. `drip`: a byte a second for the client.
    `reset`: RST. `half_open`: the server is dropped and the client not told. `end`: FIN. `flip`: one bit of that byte
    is another, and the rest as it came. The counts are those of the last connection.
    """

    kind: str
    at_byte: int
    address: str = "127.0.0.3"
    port: int = 0
    to_client: int = 0
    to_server: int = 0
    _tasks: set["asyncio.Task[None]"] = field(default_factory=set)
    _sockets: list[socket.socket] = field(default_factory=list)

    async def _serve(self, listener: socket.socket, server: tuple[str, int]) -> None:
        loop = asyncio.get_running_loop()
        while True:
            near, _ = await loop.sock_accept(listener)
            far = socket.socket()
            far.setblocking(False)
            await loop.sock_connect(far, server)
            self._sockets += [near, far]
            self.to_client = self.to_server = 0
            broken = asyncio.Event()
            up = self._keep(self._up(near, far, broken))
            self._keep(self._down(far, near, broken, up))

    def _keep(self, work: "Coroutine[None, None, None]") -> "asyncio.Task[None]":
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _up(self, near: socket.socket, far: socket.socket, broken: asyncio.Event) -> None:
        loop = asyncio.get_running_loop()
        with contextlib.suppress(OSError):
            while data := await loop.sock_recv(near, 65536):
                if self.kind == "stall_up" and self.to_server + len(data) > self.at_byte:
                    data = data[: self.at_byte - self.to_server]
                    broken.set()
                if broken.is_set() and self.kind != "stall_up":
                    await asyncio.Event().wait()
                await loop.sock_sendall(far, data)
                self.to_server += len(data)
                if broken.is_set():
                    await asyncio.Event().wait()
            far.shutdown(socket.SHUT_WR)

    async def _down(
        self, far: socket.socket, near: socket.socket, broken: asyncio.Event, up: "asyncio.Task[None]"
    ) -> None:
        loop = asyncio.get_running_loop()
        with contextlib.suppress(OSError):
            while data := await loop.sock_recv(far, 65536):
                if broken.is_set():
                    await asyncio.Event().wait()
                at = self.at_byte - self.to_client
                if self.kind == "flip" and 0 <= at < len(data):
                    data = data[:at] + bytes([data[at] ^ 0x20]) + data[at + 1 :]
                room = len(data) if self.kind in {"stall_up", "flip"} else max(0, self.at_byte - self.to_client)
                await loop.sock_sendall(near, data[:room])
                self.to_client += len(data[:room])
                if room < len(data):
                    broken.set()
                    await self._break(far, near, data[room:], up)
            near.shutdown(socket.SHUT_WR)

    async def _break(self, far: socket.socket, near: socket.socket, rest: bytes, up: "asyncio.Task[None]") -> None:
        loop = asyncio.get_running_loop()
        if self.kind in {"reset", "half_open"}:  # nobody may wait for a socket that is closed
            up.cancel()
            await asyncio.wait([up])
        match self.kind:
            case "drip":
                for byte in rest:
                    await loop.sock_sendall(near, bytes([byte]))
                    await asyncio.sleep(1.0)
            case "reset":
                near.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                near.close()
                far.close()
            case "half_open":
                far.close()
            case "end":
                near.shutdown(socket.SHUT_RDWR)
        await asyncio.Event().wait()


@contextlib.asynccontextmanager
async def bad_line(server: tuple[str, int], kind: str, at_byte: int, port: int = 0) -> AsyncIterator[BadLine]:
    """A line to the server that goes bad, on an address and port of its own (0: any)."""
    line = BadLine(kind, at_byte)
    listener = socket.create_server((line.address, port))
    listener.setblocking(False)
    line.port = listener.getsockname()[1]
    line._keep(line._serve(listener, server))
    try:
        yield line
    finally:
        tasks = list(line._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks, timeout=5)
        for each in [listener, *line._sockets]:
            each.close()
