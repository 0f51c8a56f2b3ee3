"""The whole contract on an emulated OpenStack with SSH servers behind its addresses; no real account was ever used."""

from pathlib import Path

import pytest
from tests.emulated.boot import ssh_boot
from tests.emulated.nova import Faults, nova
from tests.emulated.nova_requests import candidate, provider
from tests.emulated.pointed import pointed
from tests.needs import needs_machines
from tests.provision.contracts import held, is_as_said, of
from tests.slices import some

from cloudcmp.provider.openstack import policy

pytestmark = needs_machines


@pytest.mark.parametrize(
    ("name", "faults"),
    some(
        [
            ("openstack", Faults()),
            ("openstack", Faults(network="provider", read_lag_s=0.7, page=1)),
            ("openstack", Faults(newest="2.60", volumes="none", deletes="soft")),
            ("rackspace", Faults(network="provider", delete_s=0.5)),
        ],
        1,
        1,
    ),
)
def test_the_contract_holds_against_the_emulator_as_it_is_said(name: str, faults: Faults, tmp_path: Path) -> None:
    with pointed(nova(faults, boot=ssh_boot(tmp_path))) as cloud:
        is_as_said(name, held(provider(name), of(name, candidate())), cloud)


def test_the_contract_is_told_alike_by_a_user_whose_credential_opens_no_more_than_the_policy_says(
    tmp_path: Path,
) -> None:
    with pointed(nova(boot=ssh_boot(tmp_path), policy=policy())) as cloud:
        is_as_said("openstack", held(provider(), candidate()), cloud)
