"""The inside of the SSH server for tests: who is let in, and how a command is run."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from typing import IO, TYPE_CHECKING

import asyncssh

if TYPE_CHECKING:
    from tests.emulated.ssh_server import SshMachine


class Server(asyncssh.SSHServer):
    def __init__(self, machine: "SshMachine") -> None:
        self._machine = machine

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self._connection = conn
        self._machine.open_connections.add(conn)

    def connection_lost(self, exc: Exception | None) -> None:
        self._machine.open_connections.discard(self._connection)

    def begin_auth(self, username: str) -> bool:
        self._machine.logins += 1
        return True

    def public_key_auth_supported(self) -> bool:
        return True

    def validate_public_key(self, username: str, key: asyncssh.SSHKey) -> bool:
        return username == self._machine.user and key == self._machine.client

    def session_requested(self) -> object:
        return self._connection.create_server_channel(encoding=None), _Command(self._machine)


class _Command(asyncssh.SSHServerSession[bytes]):
    """One command and its pipes."""

    def __init__(self, machine: "SshMachine") -> None:
        self._machine = machine
        self._input: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._got = 0
        self._group = 0
        self._writable = asyncio.Event()
        self._writable.set()
        self._gone = False
        self._early: str | None = None  # a signal that came before the process was there

    def connection_made(self, chan: asyncssh.SSHServerChannel[bytes]) -> None:
        self._channel = chan

    def exec_requested(self, command: str) -> bool:
        self._text = command
        self._machine.commands.append(command)
        return True

    def session_started(self) -> None:
        self._machine.keep(self._run())

    def data_received(self, data: bytes, datatype: object) -> None:
        self._machine.input_bytes += len(data)
        at = self._machine.lies.flip_at
        if at is not None and self._got <= at < self._got + len(data):
            spoilt = bytearray(data)
            spoilt[at - self._got] ^= 1
            data = bytes(spoilt)
        self._got += len(data)
        self._input.put_nowait(data)

    def eof_received(self) -> bool:
        self._input.put_nowait(None)
        return True

    def signal_received(self, signal: str) -> None:
        number = getattr(sys.modules["signal"], f"SIG{signal}", None)
        if self._machine.lies.deaf or number is None:
            return
        if self._group:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._group, number)
        else:
            self._early = signal

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self._gone = True
        self._writable.set()
        self._input.put_nowait(None)

    def _ends(self) -> str:
        """Both ends of the connection, as an SSH server tells them to each command."""
        peer, own = (self._channel.get_extra_info(name) for name in ("peername", "sockname"))
        return " ".join(str(part) for part in (*peer[:2], *own[:2]))

    async def _run(self) -> None:
        machine = self._machine
        process = subprocess.Popen(
            ["sh", "-c", self._text],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            cwd=machine.home,
            env={**machine.environ(), "SSH_CONNECTION": self._ends()},
            start_new_session=True,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        pipes = (process.stdin, process.stdout, process.stderr)
        for pipe in pipes:
            os.set_blocking(pipe.fileno(), False)
        self._group = process.pid
        machine.groups.add(process.pid)
        if self._early:
            self.signal_received(self._early)
        feeding = asyncio.ensure_future(self._feed(process.stdin))
        try:
            await self._flood(machine.lies.flood_bytes)
            await asyncio.gather(self._pump(process.stdout, None), self._pump(process.stderr, 1))
            while process.poll() is None:
                await asyncio.sleep(0.002)
            if not machine.dies():
                self._say_exit(process.returncode)
        finally:
            feeding.cancel()
            with contextlib.suppress(asyncio.CancelledError):  # the machine may end meanwhile
                await asyncio.wait([feeding])
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            machine.groups.discard(process.pid)
            for pipe in pipes:
                pipe.close()

    def _say_exit(self, code: int) -> None:
        if self._machine.lies.no_exit or self._gone:
            return
        if code < 0:
            self._channel.exit_with_signal(signal.Signals(-code).name.removeprefix("SIG"))
        else:
            self._channel.exit(code)

    async def _feed(self, pipe: IO[bytes]) -> None:
        with contextlib.suppress(OSError):
            while (piece := await self._input.get()) is not None:
                left = memoryview(piece)
                while left:
                    try:
                        left = left[os.write(pipe.fileno(), left) :]
                    except BlockingIOError:
                        await _ready(pipe.fileno(), writing=True)
        pipe.close()

    async def _pump(self, pipe: IO[bytes], datatype: int | None) -> None:
        while True:
            try:
                piece = os.read(pipe.fileno(), 32768)
            except BlockingIOError:
                await _ready(pipe.fileno())
                continue
            if not piece:
                return
            await self._send(piece, datatype)

    async def _send(self, piece: bytes, datatype: int | None) -> None:
        await self._writable.wait()
        if not self._gone:
            with contextlib.suppress(OSError):
                self._channel.write(piece, datatype)
        await asyncio.sleep(0)

    async def _flood(self, count: int) -> None:
        piece = b"\x1b[31mnoise \xff\n" * 2048
        for _ in range(count // len(piece)):
            if self._gone:
                return
            await self._send(piece, 1)


async def _ready(descriptor: int, *, writing: bool = False) -> None:
    """Wait until a pipe can be read, or written."""
    loop = asyncio.get_running_loop()
    ready = loop.create_future()

    def wake() -> None:
        if not ready.done():
            ready.set_result(None)

    add, remove = (loop.add_writer, loop.remove_writer) if writing else (loop.add_reader, loop.remove_reader)
    add(descriptor, wake)
    try:
        await ready
    finally:
        remove(descriptor)
