"""Real guests of qemu for tests: made, reached by SSH, and always ended, whatever the test does.

    async with guests(tmp_path) as made:
        guest = await made.start("token-1")
        shell = await guest.shell()

They say nothing of any cloud's speed: on most hosts their processors are translated, not real.
"""

import asyncio
import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from cloudcmp.agent.cloud_config import cloud_config
from cloudcmp.agent.host import new_key
from cloudcmp.agent.ssh import dial
from cloudcmp.errors import CloudcmpError, ProviderFault, WrongHost
from cloudcmp.model.lease import CreateRequest, Handle
from cloudcmp.model.offering import Volume
from cloudcmp.model.remote import Access, Endpoint, KeyPair, Shell
from cloudcmp.model.safety import MachineStatus
from cloudcmp.provider.qemu import QemuProvider
from cloudcmp.provider.qemu.debian import debian_image
from cloudcmp.provider.qemu.image import cache_folder
from cloudcmp.provider.qemu.inventory import Guest, Inventory
from cloudcmp.provider.qemu.machine import SERIAL
from cloudcmp.provider.qemu.processes import list_running, query

SMALLEST = "1cpu-128mb"
LARGER = "1cpu-512mb"  # what a whole Debian needs
USABLE_S = 90.0  # a guest that needs 3 s alone needs many times that on a busy host
_HEARD_S = 0.5
_LOGIN_S = 20.0
_GRACE_S = 60.0
_BOOT_S = 600.0
_NETWORKS = ("out", "peers")  # as the provider names them for qemu
_ARMED = "running 'init' at"  # the stage of cloud-init in which the timer is armed


def missing() -> str | None:
    """Why no guest can be had on this machine, None where it can: qemu is there, or apt to fetch it."""
    if sys.platform != "linux" or os.uname().machine != "x86_64":
        return "guests need an x86-64 Linux host"
    if shutil.which("apt-get") is None:
        return "neither the guests' packages nor qemu can be had: there is no apt-get here"
    return None


def no_debian() -> str | None:
    """Why no Debian guest can be had here, None where one can; the first time builds its image, in some minutes."""
    if lacking := missing():
        return lacking
    try:
        debian_image(cache_folder())
    except CloudcmpError as error:
        return str(error)
    return None


def request(
    token: str,
    *,
    ttl_s: float = 300.0,
    offering: str = SMALLEST,
    study: str = "study-a",
    access: Access | None = None,
    volume: Volume | None = None,
    image: str | None = None,
) -> CreateRequest:
    """What asks for one guest."""
    tags = (("cloudcmp:attempt", "1"), ("cloudcmp:schema", "1"), ("cloudcmp:slot", token), ("cloudcmp:study", study))
    options = (("image", image),) if image else ()
    return CreateRequest(
        token, 1, "instance", f"cloudcmp-{study}-{token}", token, "local", offering, ttl_s, tags, 0, 0, 1, time.time(),
        options, volume, access or Access(new_key(), new_key().public, ""),
    )  # fmt: skip


@dataclass
class Made:
    """A guest that was started: how it is known, and how one gets in."""

    provider: QemuProvider
    handle: Handle
    folder: Path
    access: Access
    client: KeyPair
    began: float
    shells: list[Shell] = field(default_factory=list)

    def lives(self) -> int:
        """How often it came up."""
        return (self.folder / SERIAL).read_text(errors="replace").count("cloudcmp: ssh up")

    async def look(self) -> MachineStatus:
        return await self.provider.look(self.handle)

    async def shell(self, host_key: str | None = None, within_s: float = USABLE_S) -> Shell:
        """A connection, once its SSH server answers; `host_key` is the only one that is accepted."""
        deadline = time.monotonic() + within_s
        while True:
            sight = await self.look()
            try:
                # The port takes connections before the guest does: what answers there is heard first.
                await _heard(sight, _HEARD_S + (time.monotonic() - self.began) / 20)
                endpoint = Endpoint(
                    sight.address or "", sight.port, host_key=host_key or self.access.host.public, client=self.client
                )
                shell = await dial(endpoint, _LOGIN_S)
            except WrongHost:
                raise
            except (ProviderFault, OSError) as error:
                if time.monotonic() > deadline or sight.state == "stopped":
                    raise ProviderFault.at(self.handle.cloud_id, f"{sight}", "") from error
                await asyncio.sleep(0.05)
                continue
            self.shells.append(shell)
            return shell


async def _heard(sight: MachineStatus, within_s: float) -> None:
    """Returns when the guest's SSH server greets; raises OSError where none does in time.

    The later it is the longer a try takes: a server on a busy host may need seconds to greet.
    """
    async with asyncio.timeout(within_s):
        reader, writer = await asyncio.open_connection(sight.address or "", sight.port)
        try:
            if not (await reader.read(4)).startswith(b"SSH"):
                raise ConnectionError(f"{sight}")
        finally:
            writer.close()


@dataclass
class Guests:
    """Guests under one state folder."""

    provider: QemuProvider
    state: Path

    async def start(self, token: str, **asked: object) -> Made:
        """Ask for a guest; returns before it is up."""
        host, client = new_key(), new_key()
        access = Access(host, client.public, str(asked.pop("user_data", "")))
        began = time.monotonic()
        cloud_id = await self.provider.create(request(token, access=access, **asked))
        return Made(self.provider, Handle("instance", "local", cloud_id), self.state / cloud_id, access, client, began)


@contextlib.contextmanager
def ended(state: Path) -> Iterator[None]:
    """Afterwards no guest of this state folder is left, whoever started it."""
    try:
        yield
    finally:
        inventory = Inventory(state.resolve())
        for guest in inventory.all():
            inventory.remove(guest)


@contextlib.asynccontextmanager
async def guests(state: Path, cache: Path | None = None) -> AsyncIterator[Guests]:
    """A provider whose guests are all ended at the end."""
    with ended(state):
        yield Guests(QemuProvider(state, cache), state)


def start_and_die(
    state: Path, token: str, ttl_s: float, image: str | None = None, guest_ttl_s: float | None = None
) -> str:
    """Have another process start a guest and be killed right after: its controller never comes back."""
    words = [str(state), token, str(ttl_s), image or "", str(guest_ttl_s or ttl_s)]
    command = [sys.executable, "-m", "tests.emulated.guests", *words]
    with tempfile.TemporaryFile() as errors:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, timeout=600, check=False,
            cwd=Path(__file__).parents[2],
        )  # fmt: skip
        errors.seek(0)
        assert done.returncode == -signal.SIGKILL, errors.read().decode()
    return str(json.loads(done.stdout.splitlines()[-1]))


def powers_off(n: int, state: Path, *, ttl_s: float = 15.0, at_once: int = 2, image: str | None = None) -> list[str]:
    """Guests whose controller is gone for ever and that did not end by themselves in time: a line for each (P5).

    The small image counts from its request. With `image="debian"` the real cloud-init arms the timer, and the time
    counts from when it does: where processors are translated, getting there alone takes a minute or two. From the
    moment that it counts from, no guest has a network.
    """
    faults: list[str] = []
    with ended(state):
        for first in range(0, n, at_once):
            tokens = [f"alone-{number}" for number in range(first, min(n, first + at_once))]
            faults += _left_alone(state, tokens, ttl_s, image)
    return faults


def _left_alone(state: Path, tokens: list[str], ttl_s: float, image: str | None) -> list[str]:
    inventory = Inventory(state.resolve())
    began: dict[str, float | None] = {}
    for token in tokens:
        started = time.monotonic()
        # The host's own limit on a guest's life must not be what ends it here.
        cloud_id = start_and_die(state, token, ttl_s + (_BOOT_S if image else 0.0), image, ttl_s)
        began[cloud_id] = None if image else started
        if not image:
            _cut_off(inventory.folder(cloud_id))
    first, faults = time.monotonic(), []
    while began:
        time.sleep(0.2)
        for cloud_id, started in list(began.items()):
            guest = inventory.one(cloud_id)
            serial = _serial(guest)
            if started is None and _ARMED in serial:
                began[cloud_id] = time.monotonic()
                _cut_off(inventory.folder(cloud_id))
            late = time.monotonic() - (began[cloud_id] or first + _BOOT_S) > ttl_s + _GRACE_S
            if guest is None or guest.process is None or late:
                if guest is None or guest.process is not None or "Power down" not in serial:
                    faults.append(f"{cloud_id} did not power itself off in time: {serial[-200:]!r}")
                del began[cloud_id]
                if guest is not None:
                    inventory.remove(guest)
    return faults


def _cut_off(folder: Path) -> None:
    """Pull the cables of both networks of a guest; raises ProviderFault where one has none to pull."""
    for name in _NETWORKS:
        query(folder, "set_link", {"name": name, "up": False})


def _serial(guest: Guest | None) -> str:
    try:
        return (guest.folder / SERIAL).read_text(errors="replace") if guest else ""
    except FileNotFoundError:
        return ""


def killed_makers(kills: int, state: Path, seed: int) -> list[str]:
    """Makers killed at random moments of their create: a line for each guest, folder or process that was left (P1)."""
    chance, left = random.Random(seed), []
    provider = QemuProvider(state)
    with ended(state):
        for number in range(kills):
            token = f"killed-{number}"
            with subprocess.Popen(
                [sys.executable, "-m", "tests.emulated.guests", str(state), token, "60", "", "60"],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2],
            ) as maker:  # fmt: skip
                (maker.stdout or sys.stdin).readline()
                (maker.stdin or sys.stdout).close()
                time.sleep(chance.uniform(0.0, 0.25))
                maker.kill()
            for found in asyncio.run(provider.find("study-a", token)):
                asyncio.run(provider.destroy(found.handle()))
            cloud_id = Inventory(state.resolve()).id_of(token)
            time.sleep(0.05)
            left += [f"{token}: process {one.pid}" for one in list_running() if one.identity.cloud_id == cloud_id]
            left += [f"{token}: {path}" for path in state.glob(f"{cloud_id}*")]
    return left


def _start_and_be_killed(state: str, token: str, ttl_s: str, image: str, guest_ttl_s: str) -> None:
    host, client = new_key(), new_key()
    access = Access(host, client.public, cloud_config(host, client.public, float(guest_ttl_s)))
    asked = request(
        token, ttl_s=float(ttl_s), access=access, image=image or None, offering=LARGER if image else SMALLEST
    )
    provider = QemuProvider(Path(state))
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.read()
    cloud_id = asyncio.run(provider.create(asked))
    sys.stdout.write(json.dumps(cloud_id))
    sys.stdout.flush()
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    _start_and_be_killed(*sys.argv[1:])
