"""The whole contract on an emulated Azure, through the official clients. Nothing of it was run on a real account."""

from pathlib import Path

import pytest
from tests.emulated.arm import Faults, arm
from tests.emulated.arm_requests import candidate, provider
from tests.emulated.boot import ssh_boot
from tests.emulated.pointed import pointed
from tests.needs import needs_machines
from tests.provision.contracts import held, is_as_said
from tests.slices import some

from cloudcmp.provider.azure import policy

pytestmark = needs_machines
USUAL = Faults(pending_s=0.3, network_s=0.2, terminate_s=0.3, page=2)


@pytest.mark.parametrize("faults", some([USUAL, Faults(read_lag_s=0.7)], 1, 0))
def test_the_contract_holds_against_the_emulator_as_it_is_said(faults: Faults, tmp_path: Path) -> None:
    with pointed(arm(faults, boot=ssh_boot(tmp_path), policy=policy())) as cloud:
        found = held(provider(settle_s=1.0), candidate())
        assert [one for one in found.rulings if one.holds is not True] == []
        is_as_said("azure", found, cloud)
        assert "AuthorizationFailed" not in {call.outcome for call in cloud.journal}
