"""Machines that the user already has: their own configuration says where they are, who they are, and how to log in."""

import asyncio

import pytest
from tests.emulated.ssh_server import ssh_machine

from cloudcmp.agent.host import new_key
from cloudcmp.agent.ssh import dial
from cloudcmp.errors import ProviderFault, Refused, WrongHost
from cloudcmp.model.remote import Endpoint

CLIENT, HOST = new_key(), new_key()


def through(tmp_path, known, *more, alias="bench", work=None):
    """What comes of dialling an alias whose known_hosts holds lines made by `known(address, port)`."""
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "id").write_text(CLIENT.private)
    (tmp_path / "id").chmod(0o600)

    async def visit():
        async with ssh_machine(home, host_key=HOST, client_public=CLIENT.public, user="me") as machine:
            (tmp_path / "known_hosts").write_text(known(machine.address, machine.port))
            lines = [
                "Host bench",
                f"HostName {machine.address}",
                f"Port {machine.port}",
                "User me",
                f"IdentityFile {tmp_path / 'id'}",
                f"UserKnownHostsFile {tmp_path / 'known_hosts'}",
                "ForwardAgent yes",
                "Compression yes",
                "RequestTTY force",
            ]
            settings = {line.split()[0]: line for line in [*lines, *more]}
            (tmp_path / "config").write_text("\n  ".join(settings.values()) + "\n")
            shell = await dial(Endpoint(alias=alias), 5, environ={"CLOUDCMP_SSH_CONFIG": str(tmp_path / "config")})
            try:
                return await (work(shell) if work else shell.run(["echo", "hi"])), machine
            finally:
                await shell.close()

    return asyncio.run(visit())


def entry(key):
    return lambda address, port: f"[{address}]:{port} {key.public}\n"


def test_an_alias_takes_everything_from_the_users_configuration(tmp_path):
    said, machine = through(tmp_path, entry(HOST))
    assert said.out == b"hi\n"
    assert machine.logins == 1


def test_a_host_that_nobody_ever_trusted_is_refused_with_what_to_do(tmp_path):
    with pytest.raises(Refused, match=r"bench: known_hosts does not know .*SHA256:.*; connect once by hand: ssh bench"):
        through(tmp_path, lambda *_: "")


def test_p23_another_key_than_the_known_one_is_refused(tmp_path):
    with pytest.raises(WrongHost, match=r"bench: it shows another host key than known_hosts has \(SHA256:"):
        through(tmp_path, entry(new_key()))


def test_p23_a_configuration_that_looks_away_does_not_count(tmp_path):
    with pytest.raises(Refused, match="its UserKnownHostsFile is none"):
        through(tmp_path, entry(HOST), "UserKnownHostsFile none")


def test_p23_no_strict_checking_is_strict_all_the_same(tmp_path):
    with pytest.raises(Refused, match="known_hosts does not know"):
        through(tmp_path, lambda *_: "", "StrictHostKeyChecking no")


def test_a_known_hosts_file_that_cannot_be_read_is_a_fault_of_one_line(tmp_path):
    with pytest.raises(ProviderFault, match=r"bench: .*known hosts entry") as caught:
        through(tmp_path, lambda *_: "rubbish\n")
    assert "\n" not in str(caught.value)


def test_the_users_own_host_keeps_its_key(tmp_path):
    async def work(shell):
        with pytest.raises(Refused, match="its host key is not ours to change"):
            await shell.rotate()

    _, machine = through(tmp_path, entry(HOST), work=work)
    assert machine.commands == []
    assert machine.host_key.public == HOST.public


def test_a_name_that_leads_nowhere_is_a_fault(tmp_path):
    with pytest.raises(ProviderFault, match=r"nowhere\.invalid: "):
        through(tmp_path, entry(HOST), alias="nowhere.invalid")


def test_a_configuration_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ProviderFault, match="no-config"):
        asyncio.run(dial(Endpoint(alias="bench"), 5, environ={"CLOUDCMP_SSH_CONFIG": str(tmp_path / "no-config")}))
