"""The whole contract at the clouds of the long tail: emulations of them, with SSH servers behind their addresses.

Nothing of this was run on a real cloud account.
"""

from pathlib import Path

import pytest
from tests.emulated.boot import ssh_boot
from tests.emulated.longtail import Faults
from tests.emulated.longtail_requests import candidate, provider
from tests.emulated.pointed import pointed
from tests.emulated.tail import emulated
from tests.needs import needs_machines
from tests.provision.contracts import held, is_as_said
from tests.slices import some

from cloudcmp.provider.longtail import CLOUDS

pytestmark = needs_machines


NAMES = sorted(CLOUDS)
HOW = ["as it is", "reads that lag", "no more than the policy says"]


@pytest.mark.parametrize(("name", "how"), [(name, how) for at, name in enumerate(NAMES) for how in some(HOW, 1, at)])
def test_the_contract_holds_against_the_emulation_as_it_is_said(name: str, how: str, tmp_path: Path) -> None:
    scopes = frozenset(CLOUDS[name].scopes)
    faults = {"as it is": Faults(page=2), "reads that lag": Faults(read_lag_s=0.7, pending_s=0.3, terminate_s=0.3)}
    with pointed(emulated(name).make(faults.get(how, Faults(scopes=scopes)), boot=ssh_boot(tmp_path))) as cloud:
        is_as_said(name, held(provider(name), candidate(name)), cloud)
