"""Lines that go bad and machines that lie: every call ends, in time and in little memory."""

import asyncio
import socket
import time
from collections import Counter

import pytest
from tests.agent.black_holes import Toll, black_holes
from tests.emulated.ssh_server import Lies, ssh_machine
from tests.emulated.tcp_proxy import bad_line

from cloudcmp.agent.host import new_key
from cloudcmp.agent.ssh import dial
from cloudcmp.errors import ProviderFault
from cloudcmp.model.remote import Endpoint

CLIENT, HOST = new_key(), new_key()


def test_p24_every_call_ends_whatever_the_line_does():
    for deadline_s in (0.5, 1, 2, 4):
        toll = black_holes(25, seed=24, at_once=8, deadline_s=deadline_s)
        assert toll.odd == []
        assert toll.late_s <= 5
        assert toll.grown_bytes <= 64 * 2**20
        untried = toll.untried()
        if not untried:
            break
    assert untried == []


def test_cases_that_all_fail_at_once_show_nothing():
    dead = Toll(12, reached=Counter({("stall", "dial"): 11, ("flood", "dial"): 1}))
    assert dead.untried() == [
        "0 of 12 were good to the end",
        "none of 1 flood came beyond its dial",
        "none of 11 stall came beyond its dial",
    ]
    idle = Toll(12, 12, reached=Counter({("stall", "end"): 11, ("endless", "end"): 1}))
    assert idle.untried() == ["12 of 12 were good to the end", "endless was good to the end"]


def dialled(tmp_path, lies, within_s=0.5):
    """The fault of dialling a machine, and how long it took."""

    async def visit():
        async with ssh_machine(tmp_path, host_key=HOST, client_public=CLIENT.public, lies=lies) as machine:
            began = time.monotonic()
            with pytest.raises(ProviderFault) as caught:
                await dial(Endpoint(machine.address, machine.port, host_key=HOST.public, client=CLIENT), within_s)
            return str(caught.value), time.monotonic() - began

    fault, took_s = asyncio.run(visit())
    assert "\n" not in fault
    assert fault.isprintable()
    assert took_s < within_s + 5
    return fault


@pytest.mark.parametrize("banner", [b"", b"SSH-2.0-Slow", b"hello\r\n" * 10])
def test_p24_a_stalled_banner_is_told_as_one(tmp_path, banner):
    assert "no answer within 0.5 s (SSH banner)" in dialled(tmp_path, Lies(banner=banner))


def test_p24_a_key_exchange_that_stalls_is_told_as_one(tmp_path):
    assert "no answer within 0.5 s (SSH key exchange)" in dialled(tmp_path, Lies(banner=b"SSH-2.0-OpenSSH_9.7\r\n"))


@pytest.mark.parametrize(
    "banner",
    [
        b"HTTP/1.1 400 Bad Request\r\n\r\n" * 2000,
        b"\x1b[2J\x1b]0;owned\x07" + bytes(range(256)) * 100,
        b"SSH-1.5-old\r\n",
        b"SSH-2.0-\xff\xfe\r\n",
        b"SSH-2.0-x\r\n" + b"\xff" * 5000,
        b"SSH-2.0-x\r\n" + b"\0\0\0\x0c\x0a\x01" + b"\0\0\0\x02" + b"\x1b[" + bytes(20),
        b"SSH-2.0-x\r\n" + b"A" * 70000,
        b"x" * 1_000_000,
    ],
)
def test_p24_a_machine_that_speaks_garbage_is_a_fault_of_one_clean_line(tmp_path, banner):
    fault = dialled(tmp_path, Lies(banner=banner))
    assert fault.startswith("cloudcmp@127.0.0.2:")
    assert "SSH" in fault


def test_p24_a_port_that_never_answers_is_told_as_one():
    """A full queue of a socket that accepts nobody: the kernel drops what else knocks."""
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.4", 0))
        deaf.listen(0)
        address, port = deaf.getsockname()
        fillers = []
        for _ in range(4):
            filler = socket.socket()
            filler.setblocking(False)
            filler.connect_ex((address, port))
            fillers.append(filler)
        began = time.monotonic()
        with pytest.raises(ProviderFault, match=r"no answer within 0.5 s \(SSH connect\); see its firewall rules"):
            asyncio.run(dial(Endpoint(address, port, host_key=HOST.public, client=CLIENT), 0.5))
        assert time.monotonic() - began < 5.5
        for filler in fillers:
            filler.close()


def test_p24_a_login_that_stalls_is_told_as_one(tmp_path):
    async def visit():
        async with ssh_machine(tmp_path, host_key=HOST, client_public=CLIENT.public) as machine:
            async with bad_line((machine.address, machine.port), "stall_up", 10**9) as line:
                shell = await dial(Endpoint(line.address, line.port, host_key=HOST.public, client=CLIENT), 5)
                whole = line.to_server
                await shell.close()
            # The last that a client sends before it is in is its signature.
            async with bad_line((machine.address, machine.port), "stall_up", whole - 20) as line:
                with pytest.raises(ProviderFault, match=r"no answer within 0.5 s \(SSH login\)"):
                    await dial(Endpoint(line.address, line.port, host_key=HOST.public, client=CLIENT), 0.5)

    asyncio.run(visit())


def test_p24_a_flood_of_error_output_ends_at_the_deadline_with_the_beginning_kept(tmp_path):
    async def visit():
        lies = Lies(flood_bytes=2**30)
        async with ssh_machine(tmp_path, host_key=HOST, client_public=CLIENT.public, lies=lies) as machine:
            shell = await dial(Endpoint(machine.address, machine.port, host_key=HOST.public, client=CLIENT), 5)
            began = time.monotonic()
            with pytest.raises(ProviderFault, match=r"no end of true within 1 s \(SSH command\)"):
                await shell.run(["true"], deadline_s=1)
            assert time.monotonic() - began < 6
            lies.flood_bytes = 2**20
            said = await shell.run(["echo", "done"], deadline_s=10, most_bytes=100)
            assert (said.out, len(said.err)) == (b"done\n", 100)
            await shell.close()

    asyncio.run(visit())


def test_p24_an_exit_that_is_never_told_ends_at_the_deadline(tmp_path):
    async def visit():
        lies = Lies(no_exit=True)
        async with ssh_machine(tmp_path, host_key=HOST, client_public=CLIENT.public, lies=lies) as machine:
            shell = await dial(Endpoint(machine.address, machine.port, host_key=HOST.public, client=CLIENT), 5)
            with pytest.raises(ProviderFault, match=r"no end of true within 0.3 s"):
                await shell.run(["true"], deadline_s=0.3)
            began = time.monotonic()
            async with shell.start(["true"], b""):
                pass
            await shell.close()
            assert time.monotonic() - began < 5

    asyncio.run(visit())
