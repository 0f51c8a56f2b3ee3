"""An SSH server for tests that really runs commands, and misbehaves when told to.

In a test with an event loop of its own:

    async with ssh_machine(home, host_key=new_key(), client_public=client.public, lies=Lies()) as machine:
        shell = await dial(Endpoint(machine.address, machine.port, host_key=machine.host_key.public, client=client), 10)

In a plain test, whose product may be another process, `with machine_in_thread(home, ...) as machine` has the same
arguments and the same machine, served from a thread. For shell scripts and other tools:

    python -m tests.emulated.ssh_server --home DIR --host-key PRIVATE_FILE --client PUBLIC_FILE --address A --port P

prints one line of JSON (address, port, host_key) and serves until its standard input ends.

Commands run by `sh -c` in `home` (also $HOME), each in a session of its own, unprivileged or not as the test is. As
with OpenSSH, a closed channel closes the command's pipes and does not kill it; all are killed when the machine ends.
A fake `sudo` and `cloudcmp-host` come first on its PATH: `rotate` really changes the host key for new connections,
`disk` makes a folder `home/mnt/cloudcmp`, `ttl` is written to `home/.machine/ttl`, and `die` drops the machine.

This is not OpenSSH: what is proven against it is proven of the protocol, not of a distribution's server.
"""

import argparse
import asyncio
import contextlib
import json
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import asyncssh

from cloudcmp.agent.host import new_key
from cloudcmp.model.remote import KeyPair
from tests.emulated.ssh_session import Server

_SUDO = '#!/bin/sh\n[ "$1" = -n ] && shift\nname="${1##*/}"\nshift\nexec "%s/$name" "$@"\n'
_HOST = """#!/bin/sh
cd "%s" || exit 1
case "$1" in
rotate) mv next_key host_key && mv next_key.pub host_key.pub && cat host_key.pub ;;
disk) mkdir -p ../mnt/cloudcmp && cd ../mnt/cloudcmp && pwd ;;
ttl) echo "$2" >ttl ;;
die) : >died ;;
*) echo "unknown word: $1" >&2; exit 2 ;;
esac
"""


@dataclass
class Lies:
    """How a machine misbehaves; may be changed while it runs. Nothing set: it is honest.

    `host_keys`: the key shown to the n-th connection (from 0) instead of the machine's own. `banner`: said instead of
    SSH, after which it is silent. `flood_bytes`: so much error output before each command's own. `no_exit`: neither
    exit status nor closed channel after a command. `deaf`: takes no signals. `flip_at`: one bit of the n-th byte of
    each command's input is flipped on its way.
    """

    host_keys: dict[int, KeyPair] = field(default_factory=dict)
    banner: bytes | None = None
    flood_bytes: int = 0
    no_exit: bool = False
    deaf: bool = False
    flip_at: int | None = None


class SshMachine:
    """One machine; `connections`, `logins`, `commands` and `input_bytes` tell what came."""

    def __init__(self, home: Path, host_key: KeyPair, client_public: str, user: str, lies: Lies) -> None:
        self.home = home
        self.client = asyncssh.import_public_key(client_public)
        self.user = user
        self.lies = lies
        self.address, self.port = "", 0
        self.connections = self.logins = self.input_bytes = 0
        self.commands: list[str] = []
        self.groups: set[int] = set()
        self._state = home / ".machine"
        self.open_connections: set[asyncssh.SSHServerConnection] = set()
        self._raw: set[socket.socket] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._furnish(host_key)

    @property
    def host_key(self) -> KeyPair:
        """The key that new connections are shown."""
        return KeyPair((self._state / "host_key").read_text(), (self._state / "host_key.pub").read_text().strip())

    def _furnish(self, host_key: KeyPair) -> None:
        bin_folder = self._state / "bin"
        bin_folder.mkdir(parents=True, exist_ok=True)
        for name, text in (("sudo", _SUDO % bin_folder), ("cloudcmp-host", _HOST % self._state)):
            (bin_folder / name).write_text(text)
            (bin_folder / name).chmod(0o755)
        self._store("host_key", host_key)

    def _store(self, name: str, key: KeyPair) -> None:
        (self._state / name).write_text(key.private)
        (self._state / f"{name}.pub").write_text(key.public + "\n")

    async def listen(self, address: str, port: int) -> None:
        """Begin to serve."""
        self._loop = asyncio.get_running_loop()
        self._listener = socket.create_server((address, port))
        self._listener.setblocking(False)
        self.address, self.port = self._listener.getsockname()[:2]
        self.keep(self._accept(self._listener))

    def keep(self, work: "asyncio.Future[None] | object") -> None:
        task = asyncio.ensure_future(work)  # type: ignore[arg-type]
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _accept(self, listener: socket.socket) -> None:
        while True:
            near, _ = await self._loop.sock_accept(listener)
            number, self.connections = self.connections, self.connections + 1
            self.keep(self._serve(near, number))

    async def _serve(self, near: socket.socket, number: int) -> None:
        if self.lies.banner is not None:
            self._raw.add(near)
            with contextlib.suppress(OSError):
                await self._loop.sock_sendall(near, self.lies.banner)
            return
        if not (self._state / "next_key").exists():
            self._store("next_key", new_key())
        shown = asyncssh.import_private_key(self.lies.host_keys.get(number, self.host_key).private)
        with contextlib.suppress(asyncssh.Error, OSError):
            connection = await asyncssh.run_server(
                near,
                server_factory=lambda: Server(self),
                server_host_keys=[shown],
                gss_host=None,
                line_editor=False,
                login_timeout=300,
            )
            self.open_connections.add(connection)
            await connection.wait_closed()
            self.open_connections.discard(connection)

    def environ(self) -> dict[str, str]:
        """What a command is given."""
        path = f"{self._state / 'bin'}:/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"
        return {"HOME": str(self.home), "USER": self.user, "PATH": path, "LC_ALL": "C"}

    def dies(self) -> bool:
        """Whether the command that just ended was the last thing that this machine did."""
        if not (self._state / "died").exists():
            return False
        (self._state / "died").unlink()
        self._loop.call_soon(self._kill)
        return True

    def kill(self) -> None:
        """Drop the machine: no port, no connection, no process. From any thread."""
        if asyncio._get_running_loop() is self._loop:
            self._kill()
        else:
            done = threading.Event()
            self._loop.call_soon_threadsafe(lambda: (self._kill(), done.set()))
            done.wait(5)

    def _kill(self) -> None:
        if self._listener.fileno() >= 0:
            self._loop.remove_reader(self._listener)  # at once: its number may be another socket's in a moment
        self._listener.close()
        for task in list(self._tasks):
            task.cancel()
        for connection in list(self.open_connections):
            connection.abort()
        for near in self._raw:
            near.close()
        for group in self.groups:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(group, signal.SIGKILL)

    async def close(self) -> None:
        """End it, and wait until it has."""
        tasks = list(self._tasks)
        self._kill()
        if tasks:
            await asyncio.wait(tasks, timeout=5)
        await asyncio.sleep(0.01)  # transports say goodbye in the loop's next turns


@contextlib.asynccontextmanager
async def ssh_machine(
    home: Path,
    *,
    host_key: KeyPair,
    client_public: str,
    address: str = "127.0.0.2",
    port: int = 0,
    user: str = "cloudcmp",
    lies: Lies | None = None,
) -> AsyncIterator[SshMachine]:
    """A machine that listens on a loopback address (port 0: any) for as long as the context is open."""
    machine = SshMachine(home, host_key, client_public, user, lies or Lies())
    await machine.listen(address, port)
    try:
        yield machine
    finally:
        await machine.close()


@contextlib.contextmanager
def machine_in_thread(home: Path, **more: object) -> Iterator[SshMachine]:
    """The same from a thread of its own; `more` are the arguments of `ssh_machine`."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    context = ssh_machine(home, **more)  # type: ignore[arg-type]
    try:
        machine = asyncio.run_coroutine_threadsafe(context.__aenter__(), loop).result(10)
        try:
            yield machine
        finally:
            asyncio.run_coroutine_threadsafe(context.__aexit__(None, None, None), loop).result(10)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(5)
        loop.close()


async def _serve_until_eof(given: argparse.Namespace) -> None:
    private = asyncssh.import_private_key(given.host_key.read_text())
    public = " ".join(private.export_public_key().decode().split()[:2])
    key = KeyPair(given.host_key.read_text(), public)
    async with ssh_machine(
        given.home,
        host_key=key,
        client_public=given.client.read_text(),
        address=given.address,
        port=given.port,
        lies=Lies(**json.loads(given.lies)),
    ) as machine:
        print(json.dumps({"address": machine.address, "port": machine.port, "host_key": public}), flush=True)
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for option in ("--home", "--host-key", "--client"):
        parser.add_argument(option, type=Path, required=True)
    parser.add_argument("--address", default="127.0.0.2")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--lies", default="{}", help='for example {"no_exit": true}')
    logging.getLogger("asyncio").setLevel(logging.ERROR)  # clients that vanish are what it is for
    asyncio.run(_serve_until_eof(parser.parse_args()))
