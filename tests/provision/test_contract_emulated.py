"""The whole contract where machines are reached by SSH: an emulated EC2 with SSH servers behind it, and real guests.

Nothing of this was run on a real cloud account.
"""

import asyncio
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from tests.emulated.ec2 import EUCALYPTUS, Faults, ec2
from tests.emulated.ec2_boot import ssh_boot, why_not
from tests.emulated.ec2_requests import ALLOW, candidate, provider

from cloudcmp.model.lease import Lease, LeaseRow
from cloudcmp.model.plan import Launch
from cloudcmp.pipeline.office import open_office
from cloudcmp.pipeline.proving import prepare, prove
from cloudcmp.provider.time import WallTime
from cloudcmp.provision import Ledger, Patience
from cloudcmp.provision.contract import TESTED, Held, differences, hold
from cloudcmp.provision.stage import LAUNCHES, Stage

PATIENCE = Patience(grace_s=2.0, poll_s=0.2, give_up_s=10.0, listings=2)


class Journal:
    """Rows that nobody reads again."""

    def append_lease(self, row: LeaseRow) -> None:
        """Write a row."""

    def leases(self) -> tuple[Lease, ...]:
        """Nothing of an earlier process."""
        return ()


def held(name: str) -> Held:
    """What comes of the contract on an emulated cloud that the environment points to."""
    driver, wanted = provider(name), candidate()
    wanted = replace(wanted, runner=name, offering=replace(wanted.offering, provider=name))
    ledger = Ledger(Journal(), "study-a", WallTime())
    launches = [Launch(index, 0, index, None, 0.0, index) for index in range(LAUNCHES)]
    office = open_office(ledger, [driver])
    return asyncio.run(hold(Stage(office, driver, wanted, launches, 600.0, PATIENCE, ALLOW[1])))


@pytest.mark.parametrize(("name", "faults"), [("aws", Faults()), ("ec2", EUCALYPTUS), ("aws", Faults(read_lag_s=0.7))])
def test_the_contract_holds_against_the_emulator_as_it_is_said(
    name: str, faults: Faults, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if why_not():
        pytest.skip(why_not())
    with ec2(faults, boot=ssh_boot(tmp_path)) as cloud:
        for key, value in cloud.environ.items():
            monkeypatch.setenv(key, value)
        found = held(name)
        assert differences(name, found.rulings) == ()
        assert {one.clause for one in found.rulings if one.holds is False} == set(TESTED[name].broken)
        assert found.left == ()
        assert list(cloud.alive()) == []


def test_the_contract_holds_on_a_real_guest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which("qemu-system-x86_64") is None:
        pytest.skip("qemu-system-x86_64 is not installed: no guest can be booted")
    monkeypatch.chdir(tmp_path)
    tryout = prepare("qemu", budget=None, region=None, offering=None, price=None)
    proved = prove(tryout)
    assert proved.differs == ()
    assert proved.left == ()
    assert not tryout.folder.exists()
