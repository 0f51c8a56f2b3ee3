"""Machines of the user's own, over real SSH, with the real agent on them. The server is a stand-in: see ssh_server."""

import asyncio
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.command import cloudcmp
from tests.emulated.ssh_server import SshMachine, machine_in_thread

from cloudcmp.agent.host import new_key
from cloudcmp.agent.ssh import dial
from cloudcmp.errors import IncompleteListing, ProviderFault, Refused
from cloudcmp.model.lease import Handle
from cloudcmp.model.offering import Offering
from cloudcmp.model.plan import Candidate
from cloudcmp.provider import ssh
from cloudcmp.provider.ssh import SshProvider, aliases


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[SshMachine]:
    client = new_key()
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "key").write_text(client.private)
    (tmp_path / "key").chmod(0o600)
    with machine_in_thread(home, host_key=new_key(), client_public=client.public) as served:
        known = f"[{served.address}]:{served.port} {served.host_key.public}\n"
        (tmp_path / "known_hosts").write_text(known)
        (tmp_path / "config").write_text(
            f"Host box box2\n  HostName {served.address}\n  Port {served.port}\n  User {served.user}\n"
            f"  IdentityFile {tmp_path}/key\n  UserKnownHostsFile {tmp_path}/known_hosts\n  IdentitiesOnly yes\n"
            "Host *.example\n  User other\n"
        )
        yield served


@pytest.fixture
def cloud(machine: SshMachine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SshProvider:
    monkeypatch.setenv("CLOUDCMP_SSH_CONFIG", str(tmp_path / "config"))
    return SshProvider((candidate(),), dial)


def candidate() -> Candidate:
    return Candidate(0, "ssh/ssh/box", Offering("ssh", "ssh", "box"), "ssh")


def request(plans, token: str = "token-1"):
    return plans.request(token, offering="box")


def test_machines_are_those_that_the_configuration_names(tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text('Host a b # c\nhost = d\nHost *.x !y ?z\nHost "e"\n  HostName f\nHost \'open\n')
    assert aliases(config) == ("a", "b", "d", "e")
    assert aliases(tmp_path / "none") == ()


def test_a_lease_is_a_folder_that_is_found_and_goes(cloud: SshProvider, machine: SshMachine, plans) -> None:
    asked = request(plans)
    cloud_id = asyncio.run(cloud.create(asked))
    assert asyncio.run(cloud.create(asked)) == cloud_id
    folder = machine.home / ".cloudcmp" / "token-1"
    assert folder.stat().st_mode & 0o777 == 0o700
    handle = Handle("instance", "ssh", cloud_id)
    for study, token in (("study-a", None), ("other", "token-1")):
        (found,) = asyncio.run(cloud.find(study, token))
        assert (found.cloud_id, found.token, found.tags) == (cloud_id, "token-1", asked.tags)
    assert asyncio.run(cloud.find("other")) == ()
    assert asyncio.run(cloud.gone(handle)) is None
    lingers = subprocess.Popen(["sleep", "600"], cwd=folder)
    (machine.home / ".cloudcmp" / "foreign").mkdir()
    asyncio.run(cloud.destroy(handle))
    assert lingers.wait(5) == -9
    assert "is not there" in str(asyncio.run(cloud.gone(handle)))
    assert (machine.home / ".cloudcmp" / "foreign").is_dir()
    asyncio.run(cloud.destroy(handle))


def put_link(folder: Path, to: Path) -> None:
    """Moves a folder aside and has a link in its place lead to another one."""
    folder.rename(folder.with_name("aside"))
    folder.symlink_to(to)


@pytest.mark.parametrize("what", ["the folder", "all folders", "the card", "another lease's card", "no card"])
def test_a_folder_that_is_not_proved_to_be_the_leases_is_kept(
    cloud: SshProvider, machine: SshMachine, tmp_path: Path, plans, what: str
) -> None:
    asked = request(plans)
    handle = Handle("instance", "ssh", asyncio.run(cloud.create(asked)))
    folder, theirs = machine.home / ".cloudcmp" / "token-1", tmp_path / "theirs"
    (theirs / "token-1").mkdir(parents=True)
    for place in (theirs, theirs / "token-1"):
        (place / "card.json").write_text((folder / "card.json").read_text())
    if what == "the folder":
        put_link(folder, theirs)
    elif what == "all folders":
        put_link(folder.parent, theirs)
    elif what == "the card":
        (folder / "card.json").unlink()
        (folder / "card.json").symlink_to(theirs / "card.json")
    else:
        (folder / "card.json").unlink()
        (folder / "notes").write_text("mine")
        if what == "another lease's card":
            (folder / "card.json").write_text((theirs / "card.json").read_text().replace("token-1", "token-2"))
    bystander = subprocess.Popen(["sleep", "600"], cwd=theirs / "token-1")
    beside = subprocess.Popen(["sleep", "600"], cwd=folder)
    try:
        with pytest.raises(ProviderFault, match="it is kept"):
            asyncio.run(cloud.destroy(handle))
        assert (bystander.poll(), beside.poll()) == (None, None)
        assert asyncio.run(cloud.gone(handle)) is None
        assert (theirs / "token-1" / "card.json").exists()
        assert folder.exists()
    finally:
        for one in (bystander, beside):
            one.kill()
            one.wait()


def test_a_folder_whose_card_was_never_finished_goes(cloud: SshProvider, machine: SshMachine) -> None:
    folder = machine.home / ".cloudcmp" / "token-1"
    folder.mkdir(parents=True)
    (folder / "card.new").write_text('{"na')
    asyncio.run(cloud.destroy(Handle("instance", "ssh", "box/token-1")))
    assert not folder.exists()


@pytest.mark.parametrize("token", ["..", "a/b", "", "a b", "$(id)", "x" * 65])
def test_a_token_that_could_lead_elsewhere_is_refused(cloud: SshProvider, token: str) -> None:
    with pytest.raises(Refused):
        asyncio.run(cloud.destroy(Handle("instance", "ssh", f"box/{token}")))


def test_p7_a_machine_that_cannot_be_asked_is_no_empty_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "config").write_text("Host box\n  HostName 127.0.0.1\n  Port 9\n")
    monkeypatch.setenv("CLOUDCMP_SSH_CONFIG", str(tmp_path / "config"))
    cloud = SshProvider((candidate(),), dial)
    with pytest.raises(IncompleteListing):
        asyncio.run(cloud.find("study-a"))
    assert asyncio.run(cloud.leftovers()).unlisted
    (finding,) = asyncio.run(cloud.check((candidate(),)))
    assert finding.ok is False


def test_p23_a_machine_that_the_user_does_not_know_is_refused(
    cloud: SshProvider, machine: SshMachine, tmp_path: Path, plans
) -> None:
    (tmp_path / "known_hosts").write_text(f"[{machine.address}]:{machine.port} {new_key().public}\n")
    with pytest.raises(ProviderFault):
        asyncio.run(cloud.create(request(plans)))
    assert machine.logins == 0
    assert not (machine.home / ".cloudcmp").exists()


def test_a_study_runs_on_it_from_launch_to_report_and_leaves_nothing(machine: SshMachine, tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(
        "schema: 1\nquestion: Is the second like the first?\nlaunches: 2\nruns: 1\n"
        "candidates:\n  - {provider: ssh, offering: box, price: 0.10 USD/h}\n  - {provider: ssh, offering: box2}\n"
        "probes:\n  - {probe: int, params: {threads: one, duration_s: 0.2}}\n"
    )
    config = str(tmp_path / "config")
    done = cloudcmp("run", tmp_path / "own.yaml", "--out", tmp_path / "study", "--json", CLOUDCMP_SSH_CONFIG=config)
    assert done.code == 0, done.err + done.out
    data = done.json["data"]
    assert data["finished"] is True
    assert data["left"] == []
    assert {one["n_ok"] for one in data["estimates"]} == {2}
    assert list((machine.home / ".cloudcmp").iterdir()) == []
    assert Path(data["report"]).is_file()


@pytest.mark.parametrize("sent", [b"", b'{"name": "x"', b'{"name": "x", "tags": {}, "token": "token-1"}'])
def test_a_card_that_a_broken_line_cut_short_gets_no_name_and_its_folder_goes(sent: bytes, tmp_path: Path) -> None:
    words = ["sh", ".cloudcmp/token-1", "token-1"]
    made = subprocess.run(["sh", "-c", ssh._MAKE, *words], input=sent, cwd=tmp_path, capture_output=True, check=False)
    assert made.returncode == 1
    assert not (tmp_path / ".cloudcmp" / "token-1" / "card.json").exists()
    ended = subprocess.run(["sh", "-c", ssh._END, *words], cwd=tmp_path, capture_output=True, check=False)
    assert ended.returncode == 0
    assert not (tmp_path / ".cloudcmp" / "token-1").exists()
