"""Commands, files and agent processes on a machine, over one SSH connection. Every call has an end."""

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

from cloudcmp.agent.connection import Line
from cloudcmp.agent.errand import Errand, Pieces
from cloudcmp.agent.host import on_host
from cloudcmp.agent.keys import parse_public
from cloudcmp.errors import ConnectionLost, OutsideFault, ProviderFault, Refused, WrongHost
from cloudcmp.model.protocol import Channel
from cloudcmp.model.remote import Said
from cloudcmp.model.untrusted_text import one_line

_ERR_BYTES_MAX = 4096
_PIECE_BYTES = 64 * 1024
_KILLED_S = 0.5
_LAST_S = 2.0
_EXITED_S = 0.5
_ANSWERS_S = 5.0
_SIGNALS = {"HUP": 1, "INT": 2, "QUIT": 3, "ILL": 4, "ABRT": 6, "FPE": 8, "KILL": 9, "SEGV": 11, "PIPE": 13, "TERM": 15}

# The first line of error output is the process's own number, so that it can be ended where signals are ignored.
_NUMBERED = 'echo "$$" >&2; exec "$@"'
_END = 'kill -s KILL -- "-$1" 2>/dev/null; kill -s KILL -- "$1" 2>/dev/null; true'


@dataclass(frozen=True, slots=True)
class Patience:
    """Limits (s) of what has no deadline of its own: a process to start, an SSH server to show its new key."""

    start_s: float = 15.0
    rotated_s: float = 20.0


class SshShell:
    """A connection to one machine. A Shell of the model.

    Does not come back by itself when the connection is lost: see `again`.
    """

    def __init__(self, line: Line, connection: asyncssh.SSHClientConnection, patience: Patience | None = None) -> None:
        self._line = line
        self._connection = connection
        self._patience = patience or Patience()

    async def run(
        self, command: Sequence[str], *, input: bytes = b"", deadline_s: float = 30.0, most_bytes: int = 65536
    ) -> Said:
        """Run one command to its end; its exit code is 128 + n for a signal. No end in time is a ProviderFault."""
        return await self._run(command, [input] if input else [], deadline_s, most_bytes)

    async def _run(self, command: Sequence[str], input: Iterable[bytes], deadline_s: float, most_bytes: int) -> Said:
        errand = Errand(most_bytes, most_bytes)
        try:
            async with asyncio.timeout(deadline_s):
                await errand.open(self._connection, shlex.join(command))
                await errand.write(input)
                errand.write_eof()
                await errand.end()
        except TimeoutError as error:
            errand.kill()
            what = f"no end of {_shown(command)} within {deadline_s:g} s (SSH command)"
            raise ProviderFault.at(self._line.name, what, "see whether the machine is up, and its load") from error
        except Exception as error:  # a hostile machine's bytes may end anywhere in the library
            raise self._lost(command, error) from error
        finally:
            errand.abort()
        if errand.exit_code is None and errand.signal is None:
            raise self._lost(command, errand.lost)
        code = 128 + _SIGNALS.get(errand.signal or "", 0) if errand.exit_code is None else errand.exit_code
        return Said(code, bytes(errand.out), bytes(errand.err))

    async def put(self, file: Path, to: str, *, deadline_s: float = 120.0) -> None:
        """Copy a file under a temporary name, compare its SHA-256, make it executable and give it its name.

        Raises ProviderFault where the machine's copy is not the file; it is removed then, and never had the name.
        """
        data, name = _read(file), to.rpartition("/")[2]
        draft = f"{to}.{secrets.token_hex(8)}"
        loop = asyncio.get_running_loop()
        end_s = loop.time() + deadline_s

        async def step(doing: str, command: Sequence[str], input: Iterable[bytes] = ()) -> bytes:
            said = await self._run(command, input, max(0.0, end_s - loop.time()), 4096)
            if said.exit_code != 0:
                why = one_line(said.err.decode("utf-8", errors="replace")) or f"exit {said.exit_code}"
                raise ProviderFault.at(self._line.name, f"{doing}: {why}", "see the machine's disk and permissions")
            return said.out

        try:
            await step(f"copying {name}", _sh('umask 077; exec cat >"$1"', draft), _pieces(data))
            digest = (await step(f"reading {name} again", ["sha256sum", "--", draft])).split(b" ")[0].lstrip(b"\\")
            if digest != hashlib.sha256(data).hexdigest().encode():
                what = f"the copy of {file.name} is not the file: its SHA-256 differs"
                raise ProviderFault.at(self._line.name, what, "nothing of it was run; try another machine")
            await step(f"naming {name}", _sh('chmod 0755 "$1" && mv -f -- "$1" "$2"', draft, to))
        except ProviderFault:
            with suppress(ProviderFault):
                await self.run(["rm", "-f", "--", draft], deadline_s=_LAST_S)
            raise

    def start(self, command: Sequence[str], job: bytes) -> AbstractAsyncContextManager[Channel]:
        """Start a process, write the job to its held-open input; leaving the context ends it, within 5 s."""
        return _Process(self, command, job)

    async def open(self, errand: Errand, command: Sequence[str]) -> None:
        """Start a command, as an errand that the caller keeps; raises ProviderFault."""
        try:
            async with asyncio.timeout(self._patience.start_s):
                # Without a login shell in between, the process that signals reach is the one that we meant.
                await errand.open(self._connection, f"exec {shlex.join(command)}")
        except asyncio.CancelledError:
            errand.abort()
            raise
        except TimeoutError as error:
            errand.abort()
            what = f"{_shown(command)} did not start within {self._patience.start_s:g} s"
            raise ProviderFault.at(self._line.name, what, "see whether the machine is up, and its load") from error
        except Exception as error:
            raise self._lost(command, error) from error

    async def rotate(self) -> str:
        """Have the machine make a new host key, connect again with only that one accepted, and hang up the old line.

        An answer that is lost on its way leaves a machine whose key nobody knows: it must be destroyed.
        """
        if self._line.endpoint.alias is not None:
            raise Refused.at(self._line.name, "it is the user's own machine", "its host key is not ours to change")
        said = await on_host(self, "rotate")
        try:
            new = parse_public(said)
        except ValueError as error:
            raise ProviderFault.at(self._line.name, f"its new host key {error}", "launch another machine") from error
        if new == " ".join(self._line.endpoint.host_key.split()[:2]):
            raise ProviderFault.at(self._line.name, "it kept the host key that it was given", "launch another machine")
        line = self._line.pinned_to(new)
        connection = await _redial(line, self._patience.rotated_s)
        await self.close()
        self._line, self._connection = line, connection
        return new

    async def again(self, within_s: float) -> bool:
        """Whether the connection was lost and is there again, with the same host key as before; False where it held.

        Raises what `dial` raises where the machine cannot be reached in time.
        """
        if not self._connection.is_closed():
            with suppress(ProviderFault):
                await self.run(["true"], deadline_s=min(_ANSWERS_S, within_s))
                return False
        connection = await self._line.connect(within_s)
        await self.close()
        self._connection = connection
        return True

    async def close(self) -> None:
        """Hang up; never raises, never waits longer than a second."""
        with suppress(Exception):
            self._connection.close()
            async with asyncio.timeout(1.0):
                await self._connection.wait_closed()
        with suppress(Exception):
            self._connection.abort()

    def _lost(self, command: Sequence[str], error: Exception | None) -> ProviderFault:
        said = one_line(str(error)) if error is not None and str(error) else "it ended without an exit code"
        what = f"connection lost during {_shown(command)}: {said}"
        kind = ConnectionLost if self._connection.is_closed() else ProviderFault
        return kind.at(self._line.name, what, "see whether the machine is still there")


class _Process(AbstractAsyncContextManager["_Process"]):
    """An agent process on the machine. A Channel; use it as an async context."""

    def __init__(self, shell: SshShell, command: Sequence[str], job: bytes) -> None:
        self._shell = shell
        self._command = _sh(_NUMBERED, *command)
        self._job = job
        self._errand = Errand(None, _ERR_BYTES_MAX)
        self._writing: asyncio.Task[None] | None = None

    async def __aenter__(self) -> "_Process":
        await self._shell.open(self._errand, self._command)
        self._writing = asyncio.create_task(self._errand.write([self._job]))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        errand = self._errand
        try:
            if self._writing is not None:
                self._writing.cancel()
            with suppress(asyncssh.Error, OSError):
                errand.write_eof()
                errand.drop_output()
                if errand.exit_code is None and errand.signal is None:
                    errand.kill()
            if not await _exited(errand, _KILLED_S):
                await self._end_by_number()
        finally:
            errand.abort()

    async def _end_by_number(self) -> None:
        """Kill the process and its group by number, where the machine took no signal; its lease is what is left."""
        number = bytes(self._errand.err).partition(b"\n")[0]
        if number.isdigit() and len(number) < 10 and int(number) > 1 and not self._errand.closed:
            with suppress(ProviderFault):
                await self._shell.run(_sh(_END, number.decode()), deadline_s=_LAST_S)

    def stdout(self) -> AsyncIterator[bytes]:
        """What the process prints, in pieces, until it ends or the connection is lost."""
        return Pieces(self._errand)

    async def hang_up(self) -> None:
        """Close the process's input, which tells an agent to stop."""
        if self._writing is not None:
            await asyncio.wait([self._writing], timeout=_EXITED_S)
        with suppress(asyncssh.Error, OSError):
            self._errand.write_eof()

    async def last_words(self) -> str:
        """How the process ended and the beginning of what it wrote to its error output; not cleaned."""
        errand = self._errand
        await _exited(errand, _EXITED_S)
        if errand.exit_code is not None:
            how = f"exit {errand.exit_code}"
        elif errand.signal is not None:
            how = f"signal {errand.signal}"
        elif errand.closed:
            how = f"connection lost: {errand.lost}" if errand.lost else "it ended without an exit code"
        else:
            how = "still running"
        said = bytes(errand.err).partition(b"\n")[2].decode("utf-8", errors="replace").strip()
        return f"{how}: {said}" if said else how


async def _exited(errand: Errand, within_s: float) -> bool:
    """Whether the process ends in time; its output need not be read to the end."""
    with suppress(TimeoutError):
        async with asyncio.timeout(within_s):
            await errand.exit()
    return errand.closed or errand.exit_code is not None or errand.signal is not None


async def _redial(line: Line, within_s: float) -> asyncssh.SSHClientConnection:
    """Connect to a machine that is changing its host key; only the new one is ever accepted."""
    loop = asyncio.get_running_loop()
    end_s = loop.time() + within_s
    while True:
        try:
            return await line.connect(max(1.0, end_s - loop.time()))
        except ProviderFault as fault:
            # Its server may need a moment to take the new key up.
            if loop.time() > end_s or (isinstance(fault, Refused) and not isinstance(fault, WrongHost)):
                raise
            await asyncio.sleep(0.3)


def _sh(script: str, *words: str) -> list[str]:
    """A shell script with its words as $1, $2, ..., never interpolated."""
    return ["sh", "-c", script, "cloudcmp", *words]


def _shown(command: Sequence[str]) -> str:
    """A command for an error message: its program, or the first word that a shell of ours was given."""
    own = list(command[:2]) == ["sh", "-c"] and len(command) > 4
    return one_line(command[4 if own else 0], 60)


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise OutsideFault.at(str(file), error.strerror or str(error), "make it readable, or build it again") from error


def _pieces(data: bytes) -> Iterator[bytes]:
    return (data[at : at + _PIECE_BYTES] for at in range(0, len(data), _PIECE_BYTES))
