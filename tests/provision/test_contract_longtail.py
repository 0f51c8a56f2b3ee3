"""The whole contract at the clouds of the long tail: emulations of them, with SSH servers behind their addresses.

Nothing of this was run on a real cloud account.
"""

import asyncio
from pathlib import Path

import pytest
from tests.emulated.boot import ssh_boot, why_not
from tests.emulated.droplets import droplets
from tests.emulated.linode import linode
from tests.emulated.longtail import Faults
from tests.emulated.longtail_requests import ALLOW, candidate, provider
from tests.emulated.pointed import pointed
from tests.emulated.vultr import vultr

from cloudcmp.model.lease import Lease, LeaseRow
from cloudcmp.model.plan import Launch
from cloudcmp.pipeline.office import open_office
from cloudcmp.provider.longtail import CLOUDS
from cloudcmp.provider.time import WallTime
from cloudcmp.provision import Ledger, Patience
from cloudcmp.provision.contract import TESTED, Held, differences, hold
from cloudcmp.provision.stage import LAUNCHES, Stage

PATIENCE = Patience(grace_s=2.0, poll_s=0.2, give_up_s=10.0, listings=2)
MADE = {"digitalocean": droplets, "linode": linode, "vultr": vultr}


class Journal:
    """Rows that nobody reads again."""

    def append_lease(self, row: LeaseRow) -> None:
        """Write a row."""

    def leases(self) -> tuple[Lease, ...]:
        """Nothing of an earlier process."""
        return ()


def held(name: str) -> Held:
    """What comes of the contract on an emulated cloud that the environment points to."""
    driver, ledger = provider(name), Ledger(Journal(), "study-a", WallTime())
    launches = [Launch(index, 0, index, None, 0.0, index) for index in range(LAUNCHES)]
    office = open_office(ledger, [driver])
    return asyncio.run(hold(Stage(office, driver, candidate(name), launches, 600.0, PATIENCE, ALLOW[1])))


@pytest.mark.parametrize("how", ["as it is", "reads that lag", "no more than the policy says"])
@pytest.mark.parametrize("name", sorted(CLOUDS))
def test_the_contract_holds_against_the_emulation_as_it_is_said(name: str, how: str, tmp_path: Path) -> None:
    if why_not():
        pytest.skip(why_not())
    scopes = frozenset(CLOUDS[name].scopes)
    faults = {"as it is": Faults(page=2), "reads that lag": Faults(read_lag_s=0.7, pending_s=0.3, terminate_s=0.3)}
    with pointed(MADE[name](faults.get(how, Faults(scopes=scopes)), boot=ssh_boot(tmp_path))) as cloud:
        found = held(name)
        assert differences(name, found.rulings) == ()
        assert {one.clause for one in found.rulings if one.holds is False} == set(TESTED[name].broken)
        assert found.left == ()
        assert cloud.alive() == []
