"""Shells on machines: commands, files and processes, over a real SSH connection to a server of our own."""

import asyncio
import logging
import os
import time
from pathlib import Path

import pytest
from tests.emulated.ssh_server import Lies, ssh_machine

from cloudcmp.agent.host import new_key
from cloudcmp.agent.ssh import dial
from cloudcmp.errors import ConnectionLost, NoCredentials, ProviderFault, Refused, WrongHost
from cloudcmp.model.remote import Endpoint

CLIENT, HOST = new_key(), new_key()


def on_machine(tmp_path, work, lies=None):
    """What an async function of a shell and its machine gives."""

    async def visit():
        async with ssh_machine(tmp_path, host_key=HOST, client_public=CLIENT.public, lies=lies) as machine:
            shell = await dial(Endpoint(machine.address, machine.port, host_key=HOST.public, client=CLIENT), 10)
            try:
                return await work(shell, machine)
            finally:
                await shell.close()

    return asyncio.run(visit())


def alive(pid):
    """Whether a process is there and no zombie that nobody reaps."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in {"Z", "X"}
    except OSError:
        return False


def test_a_command_has_its_words_input_output_and_exit_code(tmp_path):
    words = ["sh", "-c", 'cat; printf "%s|" "$@"; echo oops >&2; exit 7', "sh", "a b", "$(id)", "'", "\n", ""]
    said = on_machine(tmp_path, lambda shell, _: shell.run(words, input=b"in \xff\n"))
    assert said.exit_code == 7
    assert said.out == b"in \xff\na b|$(id)|'|\n||"
    assert said.err == b"oops\n"


def test_output_is_cut_where_it_was_said_and_a_signal_is_an_exit_code(tmp_path):
    async def work(shell, _):
        cut = await shell.run(["head", "-c", "3000000", "/dev/zero"], most_bytes=10)
        killed = await shell.run(["sh", "-c", "kill -KILL $$"])
        return cut, killed

    cut, killed = on_machine(tmp_path, work)
    assert (cut.exit_code, cut.out) == (0, bytes(10))
    assert killed.exit_code == 137


def test_large_input_goes_through(tmp_path):
    data = os.urandom(3_000_000)
    said = on_machine(tmp_path, lambda shell, _: shell.run(["sha256sum"], input=data))
    assert len(said.out.split()[0]) == 64
    said = on_machine(tmp_path, lambda shell, _: shell.run(["true"], input=data))
    assert said.exit_code == 0


def test_a_process_is_talked_to_and_says_how_it_ended(tmp_path):
    async def work(shell, _):
        script = 'read line; echo "got $line"; cat; echo "last\x1b[31m" >&2; exit 3'
        async with shell.start(["sh", "-c", script], b"job\n") as channel:
            stream = channel.stdout()
            first = await anext(stream)
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05):
                    await anext(stream)
            await channel.hang_up()
            rest = [piece async for piece in stream]
            return first, rest, await channel.last_words()

    first, rest, words = on_machine(tmp_path, work)
    assert first == b"got job\n"
    assert rest == []
    assert words == "exit 3: last\x1b[31m"


def test_an_output_that_nobody_reads_holds_the_process_back(tmp_path):
    async def work(shell, machine):
        script = 'i=0; while :; do head -c 65536 /dev/zero; i=$((i+1)); echo "$i" >counted; done'
        async with shell.start(["sh", "-c", script], b"") as channel:
            await anext(channel.stdout())
            await asyncio.sleep(0.5)
            before = (machine.home / "counted").read_text()
            await asyncio.sleep(0.3)
            return before, (machine.home / "counted").read_text(), await channel.last_words()

    before, after, words = on_machine(tmp_path, work)
    assert before == after
    assert words == "still running"


@pytest.mark.parametrize("deaf", [False, True])
def test_leaving_the_context_ends_the_process_even_where_signals_are_not_taken(tmp_path, deaf):
    async def work(shell, machine):
        began = time.monotonic()
        script = "trap '' HUP PIPE TERM; echo $$; exec sleep 100"
        async with shell.start(["sh", "-c", script], b"") as channel:
            number = int(await anext(channel.stdout()))
            assert alive(number)
            began = time.monotonic()
        took_s = time.monotonic() - began
        await asyncio.sleep(0.1)
        return alive(number), took_s

    still_there, took_s = on_machine(tmp_path, work, Lies(deaf=deaf))
    assert not still_there
    assert took_s < 5


def test_a_machine_that_dies_is_a_lost_connection_not_a_wait(tmp_path):
    async def work(shell, machine):
        asyncio.get_running_loop().call_later(0.1, machine.kill)
        with pytest.raises(ProviderFault, match=r"connection lost during sleep: .*; see whether") as caught:
            await shell.run(["sleep", "100"])
        with pytest.raises(ProviderFault, match="connection lost"):
            await shell.run(["true"])
        with pytest.raises(ProviderFault, match="connection lost"):
            async with shell.start(["true"], b""):
                pass
        return str(caught.value)

    assert "\n" not in on_machine(tmp_path, work)


def test_a_process_whose_machine_dies_says_so(tmp_path):
    async def work(shell, machine):
        async with shell.start(["sleep", "100"], b"") as channel:
            asyncio.get_running_loop().call_later(0.1, machine.kill)
            with pytest.raises(ConnectionLost, match="the connection was lost"):
                [piece async for piece in channel.stdout()]
            return await channel.last_words()

    assert on_machine(tmp_path, work).startswith(("connection lost", "it ended without an exit code"))


def test_p23_a_lost_connection_is_made_again_and_only_to_the_same_key(tmp_path):
    async def work(shell, machine):
        await shell.rotate()
        assert await shell.again(5.0) is False
        for connection in list(machine.open_connections):
            connection.abort()
        with pytest.raises(ConnectionLost, match="connection lost during true"):
            await shell.run(["true"])
        assert await shell.again(5.0) is True
        assert (await shell.run(["echo", "hi"])).out == b"hi\n"
        for connection in list(machine.open_connections):
            connection.abort()
        machine.lies.host_keys[machine.connections] = new_key()
        commands = len(machine.commands)
        with pytest.raises(WrongHost):
            await shell.again(5.0)
        assert len(machine.commands) == commands
        return True

    assert on_machine(tmp_path, work)


def test_rotate_pins_the_new_key_and_drops_the_old(tmp_path):
    async def work(shell, machine):
        new = await shell.rotate()
        assert new == machine.host_key.public != HOST.public
        assert (await shell.run(["echo", "hi"])).out == b"hi\n"
        again = await shell.rotate()
        assert again not in {new, HOST.public}
        return machine.commands

    assert sum("rotate" in command for command in on_machine(tmp_path, work)) == 2


@pytest.mark.parametrize(
    ("answer", "what"),
    [
        ("cat host_key.pub", "it kept the host key that it was given"),
        ("echo ssh-ed25519 AAAA", "its new host key does not hold"),
        ("true", "its new host key is not one line"),
        ("printf '\\033[2Jno\\nroom' >&2; exit 5", "cloudcmp-host rotate: no room;"),
        ("cat next_key.pub; cat next_key.pub", "its new host key is not"),
    ],
)
def test_a_machine_that_does_not_rotate_is_refused(tmp_path, answer, what):
    async def work(shell, machine):
        (tmp_path / ".machine/bin/cloudcmp-host").write_text(f"#!/bin/sh\ncd {tmp_path}/.machine\n{answer}\n")
        with pytest.raises(ProviderFault, match=what):
            await shell.rotate()

    on_machine(tmp_path, work)


def test_a_file_arrives_whole_executable_and_under_its_name_only(tmp_path):
    source = tmp_path / "source"
    source.write_bytes(os.urandom(500_000))

    async def work(shell, machine):
        await shell.put(source, f"{tmp_path}/over here/it's")

    (tmp_path / "over here").mkdir()
    on_machine(tmp_path, work)
    (copy,) = (tmp_path / "over here").iterdir()
    assert copy.name == "it's"
    assert copy.read_bytes() == source.read_bytes()
    assert copy.stat().st_mode & 0o7777 == 0o755


@pytest.mark.parametrize("at", [0, 1, 65535, 65536, 99_999])
def test_p42_a_flipped_bit_is_refused_and_nothing_of_it_stays(tmp_path, at):
    source = tmp_path / "source"
    source.write_bytes(os.urandom(100_000))
    (tmp_path / "to").mkdir()

    async def work(shell, machine):
        with pytest.raises(ProviderFault, match="the copy of source is not the file: its SHA-256 differs"):
            await shell.put(source, f"{tmp_path}/to/agent")

    on_machine(tmp_path, work, Lies(flip_at=at))
    assert list((tmp_path / "to").iterdir()) == []


def test_a_copy_that_has_no_room_says_what_the_machine_says(tmp_path):
    source = tmp_path / "source"
    source.write_bytes(b"x")

    async def work(shell, machine):
        with pytest.raises(ProviderFault, match=r"copying agent: .*(annot create|No such|can't create)"):
            await shell.put(source, "/not/there/agent")

    on_machine(tmp_path, work)


def test_what_cannot_be_told_or_logged_in_to_is_not_dialled():
    with pytest.raises(Refused, match=r"cloudcmp@127.0.0.2:22: its host key is not known"):
        asyncio.run(dial(Endpoint("127.0.0.2", client=CLIENT), 5))
    with pytest.raises(NoCredentials, match="no key to log in with"):
        asyncio.run(dial(Endpoint("127.0.0.2", host_key=HOST.public), 5))


def test_a_refused_login_and_a_closed_port_are_told_apart(tmp_path):
    async def work(shell, machine):
        end = Endpoint(machine.address, machine.port, host_key=HOST.public, client=new_key())
        with pytest.raises(Refused, match="it refuses our key"):
            await dial(end, 10)
        machine.kill()
        with pytest.raises(ProviderFault, match="its SSH port is closed: not up yet") as caught:
            await dial(end, 10)
        assert not isinstance(caught.value, Refused)

    on_machine(tmp_path, work)


def test_p38_neither_our_key_nor_what_is_typed_is_logged(tmp_path, caplog):
    canary = b"canary-4711-of-a-trial"

    async def work(shell, _):
        await shell.rotate()
        await shell.run(["cat"], input=canary)
        async with shell.start(["cat"], canary + b"\n") as channel:
            assert canary in await anext(channel.stdout())

    with caplog.at_level(logging.DEBUG):
        on_machine(tmp_path, work)
    assert "Auth succeeded" in caplog.text or "Auth for user" in caplog.text
    assert canary.decode() not in caplog.text
    assert canary.hex() not in caplog.text
    assert not [line for line in CLIENT.private.splitlines()[1:-1] if line in caplog.text]


def test_the_real_agent_is_there_after_a_put(tmp_path, agent):
    async def work(shell, machine):
        await shell.put(agent, f"{tmp_path}/agent")
        return await shell.run([f"{tmp_path}/agent", "--version"])

    assert on_machine(tmp_path, work).out.startswith(b"cloudcmp-agent ")
