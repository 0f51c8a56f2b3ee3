"""A whole study on the emulated OpenStack, as a user runs it: a process of its own, real SSH and agent, a report."""

import base64
import json

import pytest
from tests.emulated.boot import ssh_boot
from tests.emulated.nova import Faults, nova
from tests.emulated.nova_told import bodies
from tests.needs import needs_machines
from tests.provider.study_runs import killed, study, whole
from tests.slices import long

from cloudcmp.provider.openstack import policy

pytestmark = [needs_machines, pytest.mark.usefixtures("agent")]

STUDY = study("""\
  - {provider: openstack, region: RegionOne, offering: m1.small, price: 0.02 USD/h}
  - provider: openstack
    region: RegionTwo
    offering: gp.0.1.2
    network: private
    zone: az2
    volume: {type: ssd, size: 10 GiB, root: true, price: 0.001 USD/h}
    price: 0.01 USD/h
""")


@long
def test_a_study_runs_from_launch_to_report_while_answers_are_lost(tmp_path):
    faults = Faults(pending_s=0.1, read_lag_s=0.1, delete_s=0.1, page=2)
    with nova(faults, boot=ssh_boot(tmp_path / "machines"), policy=policy()) as cloud:
        cloud.inject("CreateServer", "lost")
        cloud.inject("CreateSecurityGroup", "5xx", first=2)
        cloud.inject("CreateFloatingIp", "reset")
        cloud.inject("DeleteServer", "reset")
        text = whole([cloud], tmp_path, STUDY, "openstack")
        assert bodies(cloud) == []
        assert len(cloud.calls("CreateServer")) == 2
        given = [call for call in cloud.calls("CreateFloatingIp") if "201" in call.outcome]
        back = [call for call in cloud.calls("DeleteFloatingIp") if "204" in call.outcome]
        assert (len(given), len(back)) == (2, 2)
        for call in cloud.calls("CreateServer"):
            server = json.loads(call.params["body"])["server"]
            assert base64.b64decode(server["user_data"]).startswith(b"#cloud-config")
        assert cloud.keystone.secret not in text


@long
def test_p01_a_controller_killed_with_a_floating_address_in_use_leaves_nothing_after_cleanup(tmp_path):
    first = STUDY.partition("  - provider:")[0] + "probes:" + STUDY.partition("probes:")[2]
    planted, leaves = ("address", "somebody else's"), frozenset({"instance", "firewall", "address"})
    assert killed(
        "cloud.before_destroy:1", tmp_path, first, nova, "RegionOne", planted=planted, leaves=leaves
    ) == []  # fmt: skip
