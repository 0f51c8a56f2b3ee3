"""Machines that are not the one that was meant, at any number: nothing of ours may reach them."""

import asyncio
import random
import tempfile
from dataclasses import dataclass
from pathlib import Path

import asyncssh
from tests.emulated.ssh_server import SshMachine, ssh_machine

from cloudcmp.agent.connection import SshHost
from cloudcmp.agent.host import new_key
from cloudcmp.agent.shell import Patience, SshShell
from cloudcmp.agent.ssh import dial
from cloudcmp.errors import WrongHost
from cloudcmp.model.remote import Endpoint, KeyPair

CASES = ("first", "first ecdsa", "later", "later injected", "rotating", "rotating injected")


@dataclass(frozen=True, slots=True)
class Toll:
    """What came of so many wrong host keys; anything but `refused` is a breach."""

    n: int
    refused: int
    logins: int
    input_bytes: int


def wrong_keys(n: int, seed: int) -> Toll:
    """Show n wrong host keys, at the first and at later connections."""
    picks = random.Random(seed)
    cases = [CASES[index % len(CASES)] for index in range(n)]
    picks.shuffle(cases)
    with tempfile.TemporaryDirectory() as folder:
        found = asyncio.run(_all(cases, Path(folder)))
    return Toll(n, sum(item[0] for item in found), sum(item[1] for item in found), sum(item[2] for item in found))


async def _all(cases: list[str], folder: Path) -> list[tuple[bool, int, int]]:
    client, turn = new_key(), asyncio.Semaphore(8)

    async def one(index: int, case: str) -> tuple[bool, int, int]:
        home = folder / str(index)
        home.mkdir()
        async with turn:
            return await _case(case, home, client)

    return list(await asyncio.gather(*(one(*item) for item in enumerate(cases))))


async def _case(case: str, home: Path, client: KeyPair) -> tuple[bool, int, int]:
    """Whether the machine was refused, and what it got all the same."""
    injected = new_key()
    async with ssh_machine(home, host_key=injected, client_public=client.public) as machine:
        end = Endpoint(machine.address, machine.port, host_key=injected.public, client=client)
        when, _, what = case.partition(" ")
        other = _ecdsa() if what == "ecdsa" else injected if what == "injected" else new_key()
        if when == "first":
            machine.lies.host_keys[0] = other
            return await _refused(dial(end, 10), machine)
        line = SshHost(end)
        shell = SshShell(line, await line.connect(10), Patience(rotated_s=0.2))
        try:
            if when == "rotating":
                machine.lies.host_keys.update(dict.fromkeys(range(1, 20), other))
                return await _refused(shell.rotate(), machine)
            pinned = line.pinned_to(await shell.rotate())
        finally:
            await shell.close()
        machine.lies.host_keys[machine.connections] = other
        return await _refused(dial(pinned.endpoint, 10), machine)


async def _refused(attempt: object, machine: SshMachine) -> tuple[bool, int, int]:
    logins, inputs = machine.logins, machine.input_bytes
    try:
        await attempt  # type: ignore[misc]
    except WrongHost:
        return True, machine.logins - logins, machine.input_bytes - inputs
    return False, machine.logins - logins, machine.input_bytes - inputs


def _ecdsa() -> KeyPair:
    key = asyncssh.generate_private_key("ecdsa-sha2-nistp256")
    return KeyPair(key.export_private_key().decode(), key.export_public_key().decode().strip())
