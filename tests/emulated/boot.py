"""Machines behind emulated instances: SSH servers on loopback addresses of their own, port 22 as in the cloud."""

import contextlib
import json
import random
import socket
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Protocol


class Machine(Protocol):
    """What stands behind an instance: it listens on port 22 of an address of its own."""

    address: str

    def alive(self) -> bool:
        """False once it has ended by itself."""
        ...

    def kill(self) -> None:
        """End it at once; ending it again is no error."""
        ...


Boot = Callable[[str, str], Machine]
"""Starts a machine from its user data and the instance's id; may block while it starts."""


class Powered(Protocol):
    """What a machine stands behind: `booting` until it is up, or `trouble` says why it never will be."""

    machine: Machine | None
    booting: bool
    trouble: str


class Boots:
    """Boots machines in the background, where there are any at all."""

    def __init__(self, boot: Boot | None) -> None:
        self._boot = boot
        self._threads: list[threading.Thread] = []

    def begin(self, life: Powered, user_data: str, id: str, up: Callable[[Machine], None]) -> None:
        """Begin with one; `up` takes the machine that has come up, and says that nothing boots any more."""
        if self._boot is not None:
            life.booting = True
            thread = threading.Thread(target=self._start, args=(self._boot, life, user_data, id, up), daemon=True)
            self._threads.append(thread)
            thread.start()

    @staticmethod
    def _start(boot: Boot, life: Powered, user_data: str, id: str, up: Callable[[Machine], None]) -> None:
        try:
            machine = boot(user_data, id)
        except Exception as error:
            life.trouble, life.booting = f"{type(error).__name__}: {error}", False
            return
        up(machine)

    def wait(self) -> None:
        """Wait for those that are starting."""
        for thread in self._threads:
            thread.join(30)

    def end(self, lives: Iterable[Powered]) -> None:
        """Wait for those that are starting, and kill every machine."""
        self.wait()
        for life in lives:
            if life.machine is not None:
                life.machine.kill()


def why_not() -> str:
    """Why machines cannot listen on port 22 of a loopback address here, empty where they can."""
    try:
        socket.create_server((_address(), 22)).close()
    except OSError as error:
        return f"port 22 of a loopback address cannot be bound ({error.strerror}): machines of emulated clouds need it"
    return ""


def _address() -> str:
    return f"127.{random.randrange(92, 120)}.{random.randrange(256)}.{random.randrange(1, 255)}"


def told(user_data: str) -> tuple[Any, str]:
    """The host key and the client's public key in our cloud-config text, which is JSON behind its first line."""
    from cloudcmp.model.remote import KeyPair

    said = json.loads(user_data.removeprefix("#cloud-config\n"))
    keys = said["ssh_keys"]
    return KeyPair(keys["ed25519_private"], keys["ed25519_public"]), said["users"][0]["ssh_authorized_keys"][0]


class SshServer:
    """One machine: an SSH server that runs commands in a folder; see ssh_server.py."""

    def __init__(self, folder: Path, user_data: str, **more: Any) -> None:
        from tests.emulated.ssh_server import machine_in_thread

        host, client = told(user_data)
        kept = folder / ".machine" / "host_key"
        if kept.exists():  # it boots again: its disk has the key that it made itself
            host = type(host)(kept.read_text(), (folder / ".machine" / "host_key.pub").read_text().strip())
        self.host_public = host.public
        self._stack = contextlib.ExitStack()
        for left in reversed(range(20)):
            context = machine_in_thread(
                folder, host_key=host, client_public=client, address=_address(), port=22, **more
            )
            try:
                self.server = self._stack.enter_context(context)
                break
            except OSError:
                if not left:
                    raise
        self.address = str(self.server.address)

    def alive(self) -> bool:
        """False once it dropped out by itself."""
        return bool(self.server._listener.fileno() >= 0)

    def kill(self) -> None:
        """End it, and all that runs on it."""
        self._stack.close()


def ssh_boot(folder: Path, **more: Any) -> Boot:
    """Boots an SSH server for each instance, in a folder of its own; `more` is for `machine_in_thread`."""

    def boot(user_data: str, id: str) -> SshServer:
        home = folder / id
        home.mkdir(parents=True, exist_ok=True)
        return SshServer(home, user_data, **more)

    return boot
