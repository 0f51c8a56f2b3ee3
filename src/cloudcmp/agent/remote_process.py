"""One remote process: its output is cut or throttled on arrival, so that memory stays bounded."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterable
from contextlib import suppress

import asyncssh

from cloudcmp.errors import ConnectionLost
from cloudcmp.model.untrusted_text import one_line

WINDOW_BYTES = 256 * 1024
_PACKET_BYTES = 32 * 1024


class RemoteProcess(asyncssh.SSHClientSession[bytes]):
    """The controller's end of a remote process.

    With `most_out` the start of its output is kept and the rest dropped; without, pieces wait for their reader and the
    channel's window throttles the process. Of its error output only the first `most_err` bytes are kept.
    """

    def __init__(self, most_out: int | None, most_err: int) -> None:
        self.out = bytearray()
        self.err = bytearray()
        self.exit_code: int | None = None
        self.signal: str | None = None
        self.lost: Exception | None = None
        self.out_ended = False
        self.closed = False
        self._most_out = most_out
        self._most_err = most_err
        self._pieces: deque[bytes] = deque()
        self._held_bytes = 0
        self._changed = asyncio.Event()
        self._writable = asyncio.Event()
        self._writable.set()
        self._channel: asyncssh.SSHClientChannel[bytes] | None = None
        self._connection: asyncssh.SSHClientConnection | None = None

    @property
    def cut_off(self) -> bool:
        """True if the connection was lost before the process's own end was received."""
        if not self.closed or self.exit_code is not None or self.signal is not None:
            return False
        return self.lost is not None or (self._connection is not None and self._connection.is_closed())

    @property
    def ended(self) -> bool:
        """True if nothing more will arrive: the channel is closed, or the process exited and its output ended."""
        return self.closed or (self.out_ended and (self.exit_code is not None or self.signal is not None))

    def connection_made(self, chan: asyncssh.SSHClientChannel[bytes]) -> None:
        self._channel = chan

    def data_received(self, data: bytes, datatype: asyncssh.DataType) -> None:
        if datatype == asyncssh.EXTENDED_DATA_STDERR:
            self.err += data[: max(0, self._most_err - len(self.err))]
        elif self._most_out is not None:
            self.out += data[: max(0, self._most_out - len(self.out))]
        else:
            self._pieces.append(data)
            self._held_bytes += len(data)
            if self._held_bytes >= WINDOW_BYTES and self._channel is not None:
                self._channel.pause_reading()
            self._changed.set()

    def eof_received(self) -> bool:
        self.out_ended = True
        self._changed.set()
        return True

    def exit_status_received(self, status: int) -> None:
        self.exit_code = status
        self._changed.set()

    def exit_signal_received(self, signal: str, core_dumped: bool, msg: str, lang: str) -> None:  # noqa: ARG002
        self.signal = signal
        self._changed.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost = exc
        self.closed = self.out_ended = True
        self._changed.set()
        self._writable.set()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    async def open(self, connection: asyncssh.SSHClientConnection, command: str) -> None:
        """Starts the command on a new channel of the connection."""
        self._connection = connection
        await connection.create_session(
            lambda: self, command, encoding=None, window=WINDOW_BYTES, max_pktsize=_PACKET_BYTES
        )

    async def write(self, pieces: Iterable[bytes]) -> None:
        """Writes as fast as the process reads; stops silently if it has exited."""
        try:
            for piece in pieces:
                await self._writable.wait()
                if self._channel is None or self.closed:
                    return
                self._channel.write(piece)
        except BrokenPipeError:
            return

    def write_eof(self) -> None:
        """Closes the process's standard input."""
        if self._channel is not None and not self.closed and not self._channel.is_closing():
            self._channel.write_eof()

    def kill(self) -> None:
        """Asks the machine to kill the process; servers may ignore it."""
        if self._channel is not None and not self.closed:
            with suppress(OSError):
                self._channel.kill()

    def drop_output(self) -> None:
        """Drops further output, so that it does not block the exit."""
        self._most_out = len(self.out)
        self._pieces.clear()
        if self._channel is not None and not self.closed:
            self._channel.resume_reading()

    def abort(self) -> None:
        """Drops the channel with all pending data."""
        if self._channel is not None:
            self._channel.abort()

    async def end(self) -> None:
        """Waits until nothing more will arrive."""
        while not self.ended:
            self._changed.clear()
            await self._changed.wait()

    async def exit(self) -> None:
        """Waits until the process has ended; its output need not be read."""
        while not (self.closed or self.exit_code is not None or self.signal is not None):
            self._changed.clear()
            await self._changed.wait()

    async def piece(self) -> bytes:
        """The next piece of output, empty at its end. May be cancelled and called again."""
        while not self._pieces:
            if self.out_ended:
                return b""
            self._changed.clear()
            await self._changed.wait()
        # An endless output must not block deadlines and other launches.
        await asyncio.sleep(0)
        piece = self._pieces.popleft()
        self._held_bytes -= len(piece)
        if self._held_bytes < WINDOW_BYTES // 2 and self._channel is not None:
            self._channel.resume_reading()
        return piece


class OutputPieces(AsyncIterator[bytes]):
    """The pieces of a process's output; iteration may stop and continue.

    Raises ConnectionLost at the end if the output ended with the connection.
    """

    def __init__(self, process: RemoteProcess) -> None:
        self._process = process

    async def __anext__(self) -> bytes:
        piece = await self._process.piece()
        if not piece and self._process.cut_off:
            why = one_line(str(self._process.lost or "")) or "it was closed"
            raise ConnectionLost.at("", f"the connection was lost: {why}", "see whether the machine is still there")
        if not piece:
            raise StopAsyncIteration
        return piece
