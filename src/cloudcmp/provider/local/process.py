"""One agent process on this machine, from start to certain end."""

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

_PIECE_BYTES = 64 * 1024
_STDERR_BYTES_MAX = 4096
_REAP_S = 5.0


class Process:
    """A process in its own session, with its input held open. A Channel; use it as an async context.

    Writes the job while it reads the output, so that neither side waits for the other. Keeps only the beginning of the
    error output.
    """

    def __init__(self, command: Sequence[str], job: bytes, folder: Path, environ: Mapping[str, str]) -> None:
        self._command = [*parent_death_command(), *command]
        self._job = memoryview(job)
        self._folder = folder
        self._environ = dict(environ)
        self._errors = bytearray()

    async def __aenter__(self) -> "Process":
        self._popen = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            cwd=self._folder,
            env=self._environ,
            start_new_session=True,
        )
        self._loop = asyncio.get_running_loop()
        self._in, self._out, self._err = (pipe.fileno() for pipe in self._pipes())
        for descriptor in (self._in, self._out, self._err):
            os.set_blocking(descriptor, False)
        self._loop.add_writer(self._in, self._write)
        self._loop.add_reader(self._err, self._read_error)
        return self

    async def __aexit__(self, *_: object) -> None:
        for descriptor in (self._out, self._err):
            self._loop.remove_reader(descriptor)
        self._loop.remove_writer(self._in)
        # Kill the group before reaping its leader: until then its id cannot be reused.
        kill_group(self._popen.pid)
        for pipe in self._pipes():
            pipe.close()
        await self._wait_for_exit()

    def _pipes(self) -> Iterator[IO[bytes]]:
        """Input, output and error output."""
        return (pipe for pipe in (self._popen.stdin, self._popen.stdout, self._popen.stderr) if pipe is not None)

    def stdout(self) -> AsyncIterator[bytes]:
        """The agent's output, in pieces, until every writer has closed it."""
        return _PipeReader(self._out)

    async def hang_up(self) -> None:
        """Closes the agent's input, which tells it to stop."""
        self._loop.remove_writer(self._in)
        if self._popen.stdin is not None:
            self._popen.stdin.close()

    async def last_words(self) -> str:
        """How the process ended, and the beginning of its error output; not cleaned."""
        for _ in range(20):  # the output ends shortly before the process
            if self._popen.poll() is not None:
                break
            await asyncio.sleep(0.005)
        code = self._popen.returncode
        state = "still running" if code is None else f"exit {code}" if code >= 0 else f"signal {-code}"
        self._read_error()
        text = self._errors.decode("utf-8", errors="replace").strip()
        return f"{state}: {text}" if text else state

    def _write(self) -> None:
        """Writes as much of the job as the pipe takes; an agent that does not read it fails later."""
        try:
            while self._job:
                self._job = self._job[os.write(self._in, self._job) :]
        except BlockingIOError:
            return
        except OSError:
            pass
        self._loop.remove_writer(self._in)

    def _read_error(self) -> None:
        try:
            piece = os.read(self._err, _PIECE_BYTES)
        except BlockingIOError:
            return
        except OSError:
            piece = b""
        if not piece:
            self._loop.remove_reader(self._err)
        self._errors += piece[: _STDERR_BYTES_MAX - len(self._errors)]

    async def _wait_for_exit(self) -> None:
        """Waits until the killed process is gone; one stuck in the kernel is left to the lease's end."""
        for pause_s in pauses(_REAP_S):
            if self._popen.poll() is not None:
                return
            await asyncio.sleep(pause_s)


class _PipeReader:
    """Asynchronous reading of a pipe; can be interrupted and resumed."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def __aiter__(self) -> "_PipeReader":
        return self

    async def __anext__(self) -> bytes:
        while True:
            try:
                piece = os.read(self._descriptor, _PIECE_BYTES)
            except BlockingIOError:
                await _readable(self._descriptor)
                continue
            if not piece:
                raise StopAsyncIteration
            # An endless output must not block deadlines and other launches.
            await asyncio.sleep(0)
            return piece


async def _readable(descriptor: int) -> None:
    loop = asyncio.get_running_loop()
    readable = loop.create_future()

    def wake() -> None:
        if not readable.done():
            readable.set_result(None)

    loop.add_reader(descriptor, wake)
    try:
        await readable
    finally:
        loop.remove_reader(descriptor)


def kill_group(group: int) -> None:
    """Kills a process group by SIGKILL, if it exists."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def parent_death_command() -> list[str]:
    """The command that makes the kernel kill even a stuck agent when we die, if it is installed."""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "KILL", "--"] if setpriv else []


def pauses(total_s: float) -> Iterator[float]:
    """Growing pauses, a millisecond at first, of `total_s` in sum."""
    waited = 0.0
    while waited < total_s:
        pause_s = max(0.001, min(0.1, waited))
        waited += pause_s
        yield pause_s
