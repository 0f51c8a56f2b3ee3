"""The whole contract on an emulated Azure, through the official clients. Nothing of it was run on a real account."""

import asyncio
from pathlib import Path

import pytest
from tests.emulated.arm import Faults, arm
from tests.emulated.arm_requests import ALLOW, candidate, provider
from tests.emulated.boot import ssh_boot
from tests.emulated.pointed import pointed
from tests.needs import needs_machines

from cloudcmp.model.lease import Lease, LeaseRow
from cloudcmp.model.plan import Launch
from cloudcmp.pipeline.office import open_office
from cloudcmp.provider.azure import policy
from cloudcmp.provider.time import WallTime
from cloudcmp.provision import Ledger, Patience
from cloudcmp.provision.contract import Held, differences, hold
from cloudcmp.provision.stage import LAUNCHES, Stage

pytestmark = needs_machines
PATIENCE = Patience(grace_s=2.0, poll_s=0.2, give_up_s=10.0, listings=2)
USUAL = Faults(pending_s=0.3, network_s=0.2, terminate_s=0.3, page=2)


class Journal:
    """Rows that nobody reads again."""

    def append_lease(self, row: LeaseRow) -> None:
        """Write a row."""

    def leases(self) -> tuple[Lease, ...]:
        """Nothing of an earlier process."""
        return ()


def held() -> Held:
    """What comes of the contract on the emulated cloud that the environment points to."""
    driver = provider(settle_s=1.0)
    ledger = Ledger(Journal(), "study-a", WallTime())
    launches = [Launch(index, 0, index, None, 0.0, index) for index in range(LAUNCHES)]
    stage = Stage(open_office(ledger, [driver]), driver, candidate(), launches, 600.0, PATIENCE, ALLOW[1])
    return asyncio.run(hold(stage))


@pytest.mark.parametrize("faults", [USUAL, Faults(read_lag_s=0.7)])
def test_the_contract_holds_against_the_emulator_as_it_is_said(faults: Faults, tmp_path: Path) -> None:
    with pointed(arm(faults, boot=ssh_boot(tmp_path), policy=policy())) as cloud:
        found = held()
        assert [one for one in found.rulings if one.holds is not True] == []
        assert differences("azure", found.rulings) == ()
        assert found.left == ()
        assert cloud.alive() == []
        assert "AuthorizationFailed" not in {call.outcome for call in cloud.journal}
