"""Machines that are reached by SSH: where they listen, who they are, and what can be done there."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from cloudcmp.model.protocol import Channel


@dataclass(frozen=True, slots=True)
class KeyPair:
    """An ed25519 key: the private half as OpenSSH text, never shown, and the public one as `ssh-ed25519 AAAA...`."""

    private: str = field(repr=False)
    public: str


@dataclass(frozen=True, slots=True)
class Access:
    """What a new machine is given so that only we get in, and so that we know that it is the one.

    `user_data` is the same as a cloud-config text. The host key in it is replaced at the first login, because whoever
    may describe the machine may read it.
    """

    host: KeyPair
    client_public: str
    user_data: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a machine's SSH server listens and the only host key (public) that is accepted there.

    `client` is the key that we log in with; with `alias`, a host of the user's own SSH configuration, address, port,
    user, keys and known hosts are taken from there instead.
    """

    address: str = ""
    port: int = 22
    user: str = "cloudcmp"
    host_key: str = ""
    client: KeyPair | None = None
    alias: str | None = None


@dataclass(frozen=True, slots=True)
class Said:
    """What a command on a machine came to; `out` and `err` are cut to the asked-for length, untrusted."""

    exit_code: int
    out: bytes
    err: bytes


class Shell(Protocol):
    """An SSH connection to a machine. Every call ends by its deadline; failures are ProviderFault."""

    async def run(
        self, command: Sequence[str], *, input: bytes = b"", deadline_s: float = 30.0, most_bytes: int = 65536
    ) -> Said:
        """Run one command (its words are quoted for the remote shell) to its end; a deadline passed is a fault."""
        ...

    async def put(self, file: Path, to: str, *, deadline_s: float = 120.0) -> None:
        """Copy a file and make it executable (0755); its SHA-256 is compared on the machine before it is used."""
        ...

    def start(self, command: Sequence[str], job: bytes) -> "AbstractAsyncContextManager[Channel]":
        """Start a process, write the job to its held-open input; leaving the context ends it."""
        ...

    async def rotate(self) -> str:
        """Have the machine make a new host key, pin it, and drop the injected one; returns the new public key.

        The machine's `cloudcmp-host rotate` prints it over the authenticated connection.
        """
        ...

    async def again(self, within_s: float) -> bool:
        """Connect again where the connection was lost, to the same host key only; whether that was so.

        Raises what `Dial` raises where the machine cannot be reached.
        """
        ...

    async def close(self) -> None:
        """Hang up; never raises, never waits longer than a second."""
        ...


Dial = Callable[[Endpoint, float], Awaitable[Shell]]
"""Opens a Shell within so many seconds; raises WrongHost for another host key, ProviderFault for anything else."""
