"""The whole contract on an emulated Compute Engine with SSH servers behind it.

Nothing of this was run on a real cloud account.
"""

import asyncio
from pathlib import Path

import pytest
from tests.emulated.boot import ssh_boot
from tests.emulated.gce import Faults, gce
from tests.emulated.gce_requests import ALLOW, candidate, provider
from tests.emulated.pointed import pointed
from tests.needs import needs_machines

from cloudcmp.model.lease import Lease, LeaseRow
from cloudcmp.model.plan import Launch
from cloudcmp.pipeline.office import open_office
from cloudcmp.provider.gcp import policy
from cloudcmp.provider.time import WallTime
from cloudcmp.provision import Ledger, Patience
from cloudcmp.provision.contract import TESTED, Held, differences, hold
from cloudcmp.provision.stage import LAUNCHES, Stage

PATIENCE = Patience(grace_s=2.0, poll_s=0.2, give_up_s=10.0, listings=2)

pytestmark = needs_machines


class Journal:
    """Rows that nobody reads again."""

    def append_lease(self, row: LeaseRow) -> None:
        """Write a row."""

    def leases(self) -> tuple[Lease, ...]:
        """Nothing of an earlier process."""
        return ()


def held() -> Held:
    """What comes of the contract on the emulated cloud that the environment points to."""
    driver = provider()
    ledger = Ledger(Journal(), "study-A", WallTime())
    launches = [Launch(index, 0, index, None, 0.0, index) for index in range(LAUNCHES)]
    office = open_office(ledger, [driver])
    return asyncio.run(hold(Stage(office, driver, candidate(), launches, 600.0, PATIENCE, ALLOW[1])))


@pytest.mark.parametrize("faults", [Faults(), Faults(read_lag_s=0.7), Faults(pending_s=0.4, end_s=0.3, page=1)])
def test_the_contract_holds_against_the_emulator_as_it_is_said(faults: Faults, tmp_path: Path) -> None:
    with pointed(gce(faults, boot=ssh_boot(tmp_path))) as cloud:
        found = held()
        assert differences("gcp", found.rulings) == ()
        assert all(one.holds for one in found.rulings) is not bool(TESTED["gcp"].broken)
        assert found.left == ()
        assert cloud.alive() == []


def test_the_contract_is_told_alike_by_an_account_that_may_do_no_more_than_the_policy_says(tmp_path: Path) -> None:
    with pointed(gce(boot=ssh_boot(tmp_path), policy=policy())) as cloud:
        found = held()
        assert differences("gcp", found.rulings) == ()
        assert found.left == ()
        assert cloud.alive() == []
