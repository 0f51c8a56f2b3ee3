"""Commands, files and agent processes on a machine, over one SSH connection. Every call has a time limit."""

import asyncio
import hashlib
import secrets
import shlex
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

import asyncssh

from cloudcmp.agent.connection import SshHost
from cloudcmp.agent.host import parse_public, run_host_script
from cloudcmp.agent.remote_process import OutputPieces, RemoteProcess
from cloudcmp.errors import ConnectionLost, OutsideFault, ProviderFault, Refused, WrongHost
from cloudcmp.model.remote import Channel, CommandOutput
from cloudcmp.model.untrusted_text import one_line

_ERR_BYTES_MAX = 4096
_PIECE_BYTES = 64 * 1024
_KILLED_S = 0.5
_LAST_S = 2.0
_EXITED_S = 0.5
_ANSWERS_S = 5.0
_LOGIN_S = 10.0
_SIGNALS = {"HUP": 1, "INT": 2, "QUIT": 3, "ILL": 4, "ABRT": 6, "FPE": 8, "KILL": 9, "SEGV": 11, "PIPE": 13, "TERM": 15}

# The first line of error output is the process id, so that the process can be killed if the server ignores signals.
_NUMBERED = 'echo "$$" >&2; exec "$@"'
_END = 'kill -s KILL -- "-$1" 2>/dev/null; kill -s KILL -- "$1" 2>/dev/null; true'


@dataclass(frozen=True, slots=True)
class Patience:
    """Limits (s) of waits without a deadline: for a process to start, for an SSH server to show its new key."""

    start_s: float = 15.0
    rotated_s: float = 20.0


class SshShell:
    """A connection to one machine. A Shell of the model.

    Does not reconnect by itself after the connection is lost: see `again`.
    """

    def __init__(
        self, host: SshHost, connection: asyncssh.SSHClientConnection, patience: Patience | None = None
    ) -> None:
        self._host = host
        self._connection = connection
        self._patience = patience or Patience()

    async def run(
        self, command: Sequence[str], *, input: bytes = b"", deadline_s: float = 30.0, most_bytes: int = 65536
    ) -> CommandOutput:
        """Runs one command to its end; its exit code is 128 + n for a signal. A missed deadline is a ProviderFault."""
        return await self._run(command, [input] if input else [], deadline_s, most_bytes)

    def peer(self) -> str:
        """The address at which the machine was reached, empty if another host is between."""
        name = self._connection.get_extra_info("peername") if self._host.direct else None
        return str(name[0]) if name else ""

    async def _run(
        self, command: Sequence[str], input: Iterable[bytes], deadline_s: float, most_bytes: int
    ) -> CommandOutput:
        process = RemoteProcess(most_bytes, most_bytes)
        try:
            async with asyncio.timeout(deadline_s):
                await process.open(self._connection, shlex.join(command))
                await process.write(input)
                process.write_eof()
                await process.end()
        except TimeoutError as error:
            process.kill()
            what = f"no end of {_shown(command)} within {deadline_s:g} s (SSH command)"
            raise ProviderFault.at(self._host.name, what, "see whether the machine is up, and its load") from error
        except Exception as error:  # a hostile machine's bytes may end anywhere in the library
            raise self._lost(command, error) from error
        finally:
            process.abort()
        if process.exit_code is None and process.signal is None:
            raise self._lost(command, process.lost)
        code = 128 + _SIGNALS.get(process.signal or "", 0) if process.exit_code is None else process.exit_code
        return CommandOutput(code, bytes(process.out), bytes(process.err))

    async def put(self, file: Path, to: str, *, deadline_s: float = 120.0) -> None:
        """Copies a file under a temporary name, compares its SHA-256, makes it executable and renames it.

        Raises ProviderFault if the machine's copy differs; it is then removed and never had its final name.
        """
        data, name = _read(file), to.rpartition("/")[2]
        draft = f"{to}.{secrets.token_hex(8)}"
        loop = asyncio.get_running_loop()
        end_s = loop.time() + deadline_s

        async def step(name: str, command: Sequence[str], input: Iterable[bytes] = ()) -> bytes:
            output = await self._run(command, input, max(0.0, end_s - loop.time()), 4096)
            if output.exit_code != 0:
                why = one_line(output.err.decode("utf-8", errors="replace")) or f"exit {output.exit_code}"
                raise ProviderFault.at(self._host.name, f"{name}: {why}", "see the machine's disk and permissions")
            return output.out

        try:
            await step(f"copying {name}", _sh('umask 077; exec cat >"$1"', draft), _pieces(data))
            digest = (await step(f"reading {name} again", ["sha256sum", "--", draft])).split(b" ")[0].lstrip(b"\\")
            if digest != hashlib.sha256(data).hexdigest().encode():
                what = f"the copy of {file.name} is not the file: its SHA-256 differs"
                raise ProviderFault.at(self._host.name, what, "nothing of it was run; try another machine")
            await step(f"naming {name}", _sh('chmod 0755 "$1" && mv -f -- "$1" "$2"', draft, to))
        except ProviderFault:
            with suppress(ProviderFault):
                await self.run(["rm", "-f", "--", draft], deadline_s=_LAST_S)
            raise

    def start(self, command: Sequence[str], job: bytes) -> AbstractAsyncContextManager[Channel]:
        """Starts a process, writes the job to its held-open input; leaving the context ends it, within 5 s."""
        return _AgentChannel(self, command, job)

    async def open(self, process: RemoteProcess, command: Sequence[str]) -> None:
        """Starts a command as a process of the caller; raises ProviderFault."""
        try:
            async with asyncio.timeout(self._patience.start_s):
                # Without a login shell in between, signals reach the intended process.
                await process.open(self._connection, f"exec {shlex.join(command)}")
        except asyncio.CancelledError:
            process.abort()
            raise
        except TimeoutError as error:
            process.abort()
            what = f"{_shown(command)} did not start within {self._patience.start_s:g} s"
            raise ProviderFault.at(self._host.name, what, "see whether the machine is up, and its load") from error
        except Exception as error:
            raise self._lost(command, error) from error

    async def rotate(self) -> str:
        """Makes the machine replace its host key, reconnects with only the new one, and closes the old connection.

        If the answer is lost, the machine's key is unknown: it must be destroyed.
        """
        if self._host.endpoint.alias is not None:
            raise Refused.at(self._host.name, "it is the user's own machine", "its host key is not ours to change")
        text = await run_host_script(self, "rotate")
        try:
            new = parse_public(text)
        except ValueError as error:
            raise ProviderFault.at(self._host.name, f"its new host key {error}", "launch another machine") from error
        if new == " ".join(self._host.endpoint.host_key.split()[:2]):
            raise ProviderFault.at(self._host.name, "it kept the host key that it was given", "launch another machine")
        host = self._host.pinned_to(new)
        connection = await _redial(host, self._patience.rotated_s)
        await self.close()
        self._host, self._connection = host, connection
        return new

    async def again(self, within_s: float) -> bool:
        """Reconnects, to the same host key, if the connection was lost; returns False if it held.

        Raises the errors of `dial` if the machine cannot be reached in time.
        """
        if not self._connection.is_closed():
            with suppress(ProviderFault):
                await self.run(["true"], deadline_s=min(_ANSWERS_S, within_s))
                return False
        connection = await self._host.connect(within_s)
        await self.close()
        self._connection = connection
        return True

    async def close(self) -> None:
        """Closes the connection; never raises, never waits longer than a second."""
        with suppress(Exception):
            self._connection.close()
            async with asyncio.timeout(1.0):
                await self._connection.wait_closed()
        with suppress(Exception):
            self._connection.abort()

    def _lost(self, command: Sequence[str], error: Exception | None) -> ProviderFault:
        why = one_line(str(error)) if error is not None and str(error) else "it ended without an exit code"
        what = f"connection lost during {_shown(command)}: {why}"
        kind = ConnectionLost if self._connection.is_closed() else ProviderFault
        return kind.at(self._host.name, what, "see whether the machine is still there")


class _AgentChannel(AbstractAsyncContextManager["_AgentChannel"]):
    """An agent process on the machine. A Channel; use it as an async context."""

    def __init__(self, shell: SshShell, command: Sequence[str], job: bytes) -> None:
        self._shell = shell
        self._command = _sh(_NUMBERED, *command)
        self._job = job
        self._process = RemoteProcess(None, _ERR_BYTES_MAX)
        self._writing: asyncio.Task[None] | None = None

    async def __aenter__(self) -> "_AgentChannel":
        await self._shell.open(self._process, self._command)
        self._writing = asyncio.create_task(self._process.write([self._job]))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        process = self._process
        try:
            if self._writing is not None:
                self._writing.cancel()
            with suppress(asyncssh.Error, OSError):
                process.write_eof()
                process.drop_output()
                if process.exit_code is None and process.signal is None:
                    process.kill()
            if not await _exited(process, _KILLED_S):
                await self._end_by_number()
        finally:
            process.abort()

    async def _end_by_number(self) -> None:
        """Kills the process and its group by number, if the server ignored the signal; else only its lease ends it."""
        number = bytes(self._process.err).partition(b"\n")[0]
        if number.isdigit() and len(number) < 10 and int(number) > 1 and not self._process.closed:
            with suppress(ProviderFault):
                await self._shell.run(_sh(_END, number.decode()), deadline_s=_LAST_S)

    def stdout(self) -> AsyncIterator[bytes]:
        """The output of the process, in pieces, until it ends or the connection is lost."""
        return OutputPieces(self._process)

    async def hang_up(self) -> None:
        """Closes the process's input, which makes an agent stop."""
        if self._writing is not None:
            await asyncio.wait([self._writing], timeout=_EXITED_S)
        with suppress(asyncssh.Error, OSError):
            self._process.write_eof()

    async def last_words(self) -> str:
        """How the process ended and the start of its error output; not cleaned."""
        process = self._process
        await _exited(process, _EXITED_S)
        if process.exit_code is not None:
            how = f"exit {process.exit_code}"
        elif process.signal is not None:
            how = f"signal {process.signal}"
        elif process.closed:
            how = f"connection lost: {process.lost}" if process.lost else "it ended without an exit code"
        else:
            how = "still running"
        words = bytes(process.err).partition(b"\n")[2].decode("utf-8", errors="replace").strip()
        return f"{how}: {words}" if words else how


async def _exited(process: RemoteProcess, within_s: float) -> bool:
    """True if the process ends in time; its output need not be read to the end."""
    with suppress(TimeoutError):
        async with asyncio.timeout(within_s):
            await process.exit()
    return process.closed or process.exit_code is not None or process.signal is not None


async def _redial(host: SshHost, within_s: float) -> asyncssh.SSHClientConnection:
    """Connects to a machine that is changing its host key; only the new one is ever accepted."""
    loop = asyncio.get_running_loop()
    end_s = loop.time() + within_s
    while True:
        try:
            return await host.connect(max(_LOGIN_S, end_s - loop.time()))
        except ProviderFault as fault:
            # Its server may need a moment to load the new key.
            if loop.time() > end_s or (isinstance(fault, Refused) and not isinstance(fault, WrongHost)):
                raise
            await asyncio.sleep(0.3)


def _sh(script: str, *words: str) -> list[str]:
    """A shell script with its words as $1, $2, ..., never interpolated."""
    return ["sh", "-c", script, "cloudcmp", *words]


def _shown(command: Sequence[str]) -> str:
    """A command for an error message: its program, or the first argument of our own shell script."""
    own = list(command[:2]) == ["sh", "-c"] and len(command) > 4
    return one_line(command[4 if own else 0], 60)


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise OutsideFault.at(str(file), error.strerror or str(error), "make it readable, or build it again") from error


def _pieces(data: bytes) -> Iterator[bytes]:
    return (data[at : at + _PIECE_BYTES] for at in range(0, len(data), _PIECE_BYTES))
