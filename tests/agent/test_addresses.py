"""What an SSH connection shows of a machine's addresses."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.agent.test_ssh import on_machine
from tests.agent.test_ssh_alias import HOST, entry, through
from tests.emulated.ssh_server import SshMachine

from cloudcmp.agent.addresses import both_ends, public_address, reached_at
from cloudcmp.agent.connection import SshHost
from cloudcmp.model.remote import CommandOutput, Endpoint, KnowsPeer


def test_a_machine_is_known_by_where_it_was_reached_and_by_its_own_end(tmp_path: Path) -> None:
    async def work(shell: Any, machine: SshMachine) -> None:
        assert isinstance(shell, KnowsPeer)
        assert shell.peer() == reached_at(shell) == machine.address  # type: ignore[arg-type]
        assert await both_ends(shell) == ("127.0.0.1", machine.address)  # type: ignore[arg-type]
        assert await public_address(shell) == "", "a loopback address is none of the internet"

    on_machine(tmp_path, work)


def test_an_alias_is_reached_at_its_address(tmp_path: Path) -> None:
    async def work(shell: KnowsPeer) -> str:
        return shell.peer()

    said, machine = through(tmp_path, entry(HOST), work=work)
    assert said == machine.address


@pytest.mark.parametrize(("line", "direct"), [("", True), ("ProxyJump gate", False), ("ProxyCommand nc %h %p", False)])
def test_a_host_behind_another_one_is_not_reached_itself(tmp_path: Path, line: str, direct: bool) -> None:
    (tmp_path / "config").write_text(f"Host bench\n  HostName 203.0.113.7\n  {line}\n")
    assert SshHost(Endpoint(alias="bench"), str(tmp_path / "config")).direct is direct


class Told:
    """A shell without an address of its own, whose machine says this."""

    def __init__(self, text: bytes) -> None:
        self._text = text

    async def run(self, *_: object, **__: object) -> CommandOutput:
        return CommandOutput(0, self._text, b"")


@pytest.mark.parametrize(
    ("text", "own", "public"),
    [
        (b"10.0.0.1 4000 8.8.8.8 22", "8.8.8.8", "8.8.8.8"),
        (b"10.0.0.1 4000 2001:4860:4860::8888 22", "2001:4860:4860::8888", "2001:4860:4860::8888"),
        (b"10.0.0.1 4000 ::ffff:8.8.8.8 22", "8.8.8.8", "8.8.8.8"),
        (b"10.0.0.1 4000 10.0.0.7 22", "10.0.0.7", ""),
        (b"10.0.0.1 4000 100.64.0.7 22", "100.64.0.7", ""),
        (b"8.8.8.8", "", ""),
        (b"", "", ""),
        (b"a b \xff\xff d", "", ""),
    ],
)
def test_its_own_end_is_one_address_or_nothing(text: bytes, own: str, public: str) -> None:
    shell = Told(text)
    assert asyncio.run(both_ends(shell))[1] == own  # type: ignore[arg-type]
    assert asyncio.run(public_address(shell)) == public  # type: ignore[arg-type]
