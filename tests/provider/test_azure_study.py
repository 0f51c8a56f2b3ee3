"""A whole study on the emulated Azure, as a user runs it: a process of its own, real SSH, the real agent, a report."""

import json

import pytest
from tests.emulated.arm import Faults, arm
from tests.emulated.boot import ssh_boot
from tests.needs import needs_machines
from tests.provider.study_runs import killed, study, whole
from tests.slices import long

from cloudcmp.provider.azure import policy
from cloudcmp.provider.azure.policy import actions

pytestmark = [needs_machines, pytest.mark.usefixtures("agent")]

STUDY = study("""\
  - {provider: azure, region: eastus, offering: Standard_B1s, price: 0.0104 USD/h}
  - {provider: azure, region: westeurope, offering: Standard_D2s_v5, price: 0.115 USD/h, market: spot}
""")


@long
def test_a_study_runs_from_launch_to_report_while_answers_are_lost(tmp_path):
    usual = Faults(pending_s=0.1, read_lag_s=0.1)
    with arm(usual, boot=ssh_boot(tmp_path / "machines"), policy=policy()) as cloud:
        cloud.inject("virtualMachines/write", "lost")
        cloud.inject("networkSecurityGroups/write", "5xx", first=2)
        cloud.inject("virtualMachines/delete", "reset")
        text = whole([cloud], tmp_path, STUDY, "azure")
        made = cloud.calls("virtualMachines/write")
        assert len(made) == 2
        for call in made:
            body = json.loads(call.params["body"])
            assert body["tags"]["cloudcmp:schema"] == "1"
            assert body["properties"]["storageProfile"]["osDisk"]["deleteOption"] == "Delete"
        called = {f"{call.service}/{call.action}" for call in cloud.journal}
        assert {one for one in called if "/operationresults/" not in one} - set(actions()) == set()
        assert cloud.login.secret not in text


@pytest.mark.parametrize("point", ["cloud.after_create:2"])
def test_p01_a_controller_killed_leaves_nothing_after_cleanup(point, tmp_path):
    first = "\n".join(line for line in STUDY.splitlines() if "westeurope" not in line)
    assert killed(point, tmp_path, first, arm, "eastus", planted=("instance", "somebody-elses")) == []
