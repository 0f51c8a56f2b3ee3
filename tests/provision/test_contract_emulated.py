"""The whole contract where machines are reached by SSH: an emulated EC2 with SSH servers behind it, and real guests.

Nothing of this was run on a real cloud account.
"""

from pathlib import Path

import pytest
from tests.emulated.boot import ssh_boot
from tests.emulated.ec2 import EUCALYPTUS, Faults, ec2
from tests.emulated.ec2_requests import candidate, provider
from tests.emulated.guests import missing
from tests.emulated.pointed import pointed
from tests.emulated.ssh_server import machine_in_thread
from tests.needs import needs_machines
from tests.provision.contracts import held, is_as_said, of
from tests.slices import long, some

from cloudcmp.agent.host import new_key
from cloudcmp.agent.ssh import dial
from cloudcmp.app.check.live import prepare
from cloudcmp.app.check.live import run as prove
from cloudcmp.model.offering import Offering
from cloudcmp.model.plan import Candidate
from cloudcmp.provider.aws import policy
from cloudcmp.provider.ssh import SshProvider
from cloudcmp.provision.contract import differences


@needs_machines
@pytest.mark.parametrize(
    ("name", "faults"),
    some([("aws", Faults()), ("ec2", EUCALYPTUS), ("aws", Faults(read_lag_s=0.7))], 1, 1),  # "aws" by its policy below
)
def test_the_contract_holds_against_the_emulator_as_it_is_said(name: str, faults: Faults, tmp_path: Path) -> None:
    with pointed(ec2(faults, boot=ssh_boot(tmp_path))) as cloud:
        is_as_said(name, held(provider(name), of(name, candidate())), cloud)


@long
@needs_machines
def test_the_contract_is_told_alike_by_a_user_who_may_do_no_more_than_the_policy_says(tmp_path: Path) -> None:
    with pointed(ec2(boot=ssh_boot(tmp_path), policy=policy())) as cloud:
        is_as_said("aws", held(provider(), candidate()), cloud)


def test_the_contract_holds_on_machines_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    client = new_key()
    (tmp_path / "home").mkdir()
    (tmp_path / "key").write_text(client.private)
    (tmp_path / "key").chmod(0o600)
    with machine_in_thread(tmp_path / "home", host_key=new_key(), client_public=client.public) as machine:
        (tmp_path / "known").write_text(f"[{machine.address}]:{machine.port} {machine.host_key.public}\n")
        (tmp_path / "config").write_text(
            f"Host box\n  HostName {machine.address}\n  Port {machine.port}\n  User {machine.user}\n"
            f"  IdentityFile {tmp_path}/key\n  UserKnownHostsFile {tmp_path}/known\n"
        )
        monkeypatch.setenv("CLOUDCMP_SSH_CONFIG", str(tmp_path / "config"))
        wanted = Candidate(0, "ssh/ssh/box", Offering("ssh", "ssh", "box"), "ssh")
        found = held(SshProvider((wanted,), dial), wanted)
        assert differences("ssh", found.rulings) == ()
        assert found.left == ()
        assert list((tmp_path / "home" / ".cloudcmp").iterdir()) == []


@long
def test_the_contract_holds_on_a_real_guest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if lacking := missing():
        pytest.skip(lacking)
    monkeypatch.chdir(tmp_path)
    tryout = prepare("qemu", budget=None, region=None, offering=None, price=None)
    proved = prove(tryout)
    assert proved.differs == ()
    assert proved.left == ()
    assert not tryout.folder.exists()
