"""Machines that are reached by SSH: keys, endpoints, and the protocols of connections and processes."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class KeyPair:
    """An ed25519 key: the private half as OpenSSH text, never shown, and the public one as `ssh-ed25519 AAAA...`."""

    private: str = field(repr=False)
    public: str


@dataclass(frozen=True, slots=True)
class Access:
    """The keys of a new machine: its host key, which identifies it, and the only client key that may log in.

    `user_data` is a cloud-config text with both. Its host key is replaced at the first login, because every user who
    may describe the machine can read it.
    """

    host: KeyPair
    client_public: str
    user_data: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The address of a machine's SSH server and the only public host key that is accepted there.

    `client` is the key for the login. With `alias`, a host of the user's own SSH configuration, address, port, user,
    keys and known hosts are taken from there instead.
    """

    address: str = ""
    port: int = 22
    user: str = "cloudcmp"
    host_key: str = ""
    client: KeyPair | None = None
    alias: str | None = None


@dataclass(frozen=True, slots=True)
class CommandOutput:
    """The exit code and untrusted output of a command on a machine; `out` and `err` are cut to the requested length."""

    exit_code: int
    out: bytes
    err: bytes


class Channel(Protocol):
    """The controller's end of one agent process: its output, and its standard input, which is held open."""

    def stdout(self) -> AsyncIterator[bytes]:
        """The output in pieces of any size, until the agent ends."""

    async def hang_up(self) -> None:
        """Closes the agent's standard input, which makes it stop."""

    async def last_words(self) -> str:
        """How the agent ended and the start of its error output, unchanged: clean it before it is shown."""


class Shell(Protocol):
    """An SSH connection to a machine. Every call ends by its deadline; failures are ProviderFault."""

    async def run(
        self, command: Sequence[str], *, input: bytes = b"", deadline_s: float = 30.0, most_bytes: int = 65536
    ) -> CommandOutput:
        """Runs one command (its words are quoted for the remote shell) to its end; a missed deadline is a fault."""

    async def put(self, file: Path, to: str, *, deadline_s: float = 120.0) -> None:
        """Copies a file and makes it executable (0755); its SHA-256 is compared on the machine before it is used."""

    def start(self, command: Sequence[str], job: bytes) -> AbstractAsyncContextManager[Channel]:
        """Starts a process, writes the job to its held-open input; leaving the context ends it."""

    async def rotate(self) -> str:
        """Makes the machine replace its injected host key, and pins the new one; returns the new public key.

        The machine's `cloudcmp-host rotate` prints it over the authenticated connection.
        """

    async def again(self, within_s: float) -> bool:
        """Reconnects if the connection was lost, to the same host key only; returns whether it was lost.

        Raises the errors of `Dial` if the machine cannot be reached.
        """

    async def close(self) -> None:
        """Closes the connection; never raises, never waits longer than a second."""


@runtime_checkable
class KnowsPeer(Protocol):
    """A Shell that knows at which address it reached its machine."""

    def peer(self) -> str:
        """The machine's address, empty if another host is between."""


Dial = Callable[[Endpoint, float], Awaitable[Shell]]
"""Opens a Shell within this many seconds; raises WrongHost for another host key, ProviderFault for anything else."""
