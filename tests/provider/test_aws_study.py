"""A whole study on the emulated EC2, as a user runs it: a process of its own, real SSH, the real agent, a report."""

import pytest
from tests.emulated.boot import ssh_boot
from tests.emulated.ec2 import Faults, ec2
from tests.emulated.ec2_query import tags_of
from tests.needs import needs_machines
from tests.provider.study_runs import killed, study, whole
from tests.slices import long

pytestmark = [needs_machines, pytest.mark.usefixtures("agent")]

STUDY = study("""\
  - {provider: aws, region: us-east-1, offering: t3.micro, price: 0.0104 USD/h}
  - {provider: aws, region: eu-central-1, offering: c5.large, price: 0.097 USD/h, market: spot}
""")


def test_a_study_runs_from_launch_to_report_while_answers_are_lost(tmp_path):
    with ec2(Faults(pending_s=0.5, read_lag_s=0.5), boot=ssh_boot(tmp_path / "machines")) as cloud:
        cloud.inject("RunInstances", "lost")
        cloud.inject("CreateSecurityGroup", "5xx", first=2)
        cloud.inject("TerminateInstances", "reset")
        text = whole([cloud], tmp_path, STUDY, "aws", waits=None)
        made = [call for call in cloud.calls("RunInstances") if "DryRun" not in call.params]
        assert len(made) == 2
        for call in made:
            assert call.params["InstanceInitiatedShutdownBehavior"] == "terminate"
            assert call.params["MetadataOptions.HttpTokens"] == "required"
            assert len(call.params["ClientToken"]) <= 64
            assert {"instance", "volume", "network-interface"} <= set(tags_of(call.params))
        assert cloud.account.secret not in text


@long
@pytest.mark.parametrize("point", ["cloud.after_create:2"])
def test_p01_a_controller_killed_leaves_nothing_after_cleanup(point, tmp_path):
    first = "\n".join(line for line in STUDY.splitlines() if "eu-central-1" not in line)
    assert killed(point, tmp_path, first, ec2, "us-east-1") == []
