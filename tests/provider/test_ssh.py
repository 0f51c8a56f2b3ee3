"""Machines of the user's own, over real SSH, with the real agent on them. The server is a stand-in: see ssh_server."""

import asyncio
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.command import cloudcmp
from tests.emulated.ssh_server import SshMachine, machine_in_thread

from cloudcmp.agent.keys import new_key
from cloudcmp.agent.ssh import dial
from cloudcmp.errors import ProviderFault, Refused, Unlisted
from cloudcmp.model.lease import Handle
from cloudcmp.model.offering import Offering
from cloudcmp.model.plan import Candidate
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


@pytest.mark.parametrize("token", ["..", "a/b", "", "a b", "$(id)", "x" * 65])
def test_a_token_that_could_lead_elsewhere_is_refused(cloud: SshProvider, token: str) -> None:
    with pytest.raises(Refused):
        asyncio.run(cloud.destroy(Handle("instance", "ssh", f"box/{token}")))


def test_p7_a_machine_that_can_not_be_asked_is_no_empty_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "config").write_text("Host box\n  HostName 127.0.0.1\n  Port 9\n")
    monkeypatch.setenv("CLOUDCMP_SSH_CONFIG", str(tmp_path / "config"))
    cloud = SshProvider((candidate(),), dial)
    with pytest.raises(Unlisted):
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
