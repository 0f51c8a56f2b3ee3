"""The whole contract on an emulated Compute Engine with SSH servers behind it.

Nothing of this was run on a real cloud account.
"""

from pathlib import Path

import pytest
from tests.emulated.boot import ssh_boot
from tests.emulated.gce import Faults, gce
from tests.emulated.gce_requests import candidate, provider
from tests.emulated.pointed import pointed
from tests.needs import needs_machines
from tests.provision.contracts import held, is_as_said
from tests.slices import some

from cloudcmp.provider.gcp import policy

pytestmark = needs_machines


@pytest.mark.parametrize(
    "faults", some([Faults(), Faults(read_lag_s=0.7), Faults(pending_s=0.4, end_s=0.3, page=1)], 1, 2)
)
def test_the_contract_holds_against_the_emulator_as_it_is_said(faults: Faults, tmp_path: Path) -> None:
    with pointed(gce(faults, boot=ssh_boot(tmp_path))) as cloud:
        is_as_said("gcp", held(provider(), candidate(), "study-A"), cloud)


def test_the_contract_is_told_alike_by_an_account_that_may_do_no_more_than_the_policy_says(tmp_path: Path) -> None:
    with pointed(gce(boot=ssh_boot(tmp_path), policy=policy())) as cloud:
        is_as_said("gcp", held(provider(), candidate(), "study-A"), cloud)
