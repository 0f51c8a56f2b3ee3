"""A whole study on the emulated OpenStack, as a user runs it: a process of its own, real SSH and agent, a report."""

import base64
import json

import pytest
from tests.emulated.boot import ssh_boot, why_not
from tests.emulated.nova import Faults, nova
from tests.emulated.nova_told import bodies
from tests.provider.test_aws_study import _agent as needed
from tests.provider.test_aws_study import cloudcmp

from cloudcmp.provider.openstack import policy

pytestmark = pytest.mark.skipif(bool(why_not()), reason=why_not() or "machines can listen")
_agent = needed

STUDY = """\
schema: 1
question: which of two machines is faster
candidates:
  - {provider: openstack, region: RegionOne, offering: m1.small, price: 0.02 USD/h}
  - provider: openstack
    region: RegionTwo
    offering: gp.0.1.2
    network: private
    zone: az2
    volume: {type: ssd, size: 10 GiB, root: true, price: 0.001 USD/h}
    price: 0.01 USD/h
probes:
  - {probe: int}
launches: 1
runs: 1
budget: 1 USD
seed: 1
"""


def test_a_study_runs_from_launch_to_report_while_answers_are_lost(tmp_path):
    (tmp_path / "study.yaml").write_text(STUDY)
    faults = Faults(pending_s=0.5, read_lag_s=0.5, delete_s=0.2, page=2)
    with nova(faults, boot=ssh_boot(tmp_path / "machines"), policy=policy()) as cloud:
        cloud.inject("CreateServer", "lost")
        cloud.inject("CreateSecurityGroup", "5xx", first=2)
        cloud.inject("CreateFloatingIp", "reset")
        cloud.inject("DeleteServer", "reset")
        ran = cloudcmp(cloud, tmp_path, "run", "study.yaml", "--out", "out")
        assert ran.returncode == 0, ran.stdout + ran.stderr
        assert "failed" not in ran.stdout + ran.stderr
        assert (tmp_path / "out" / "report.html").stat().st_size > 10_000
        assert cloud.alive() == []
        assert bodies(cloud) == []
        assert len(cloud.calls("CreateServer")) == 2
        given = [call for call in cloud.calls("CreateFloatingIp") if "201" in call.outcome]
        back = [call for call in cloud.calls("DeleteFloatingIp") if "204" in call.outcome]
        assert (len(given), len(back)) == (2, 2)
        for call in cloud.calls("CreateServer"):
            server = json.loads(call.params["body"])["server"]
            assert base64.b64decode(server["user_data"]).startswith(b"#cloud-config")
        text = " ".join(ran.stdout.split() + ran.stderr.split())
        assert cloud.keystone.secret not in text
        swept = cloudcmp(cloud, tmp_path, "sweep", "openstack")
        assert swept.returncode == 0, swept.stdout + swept.stderr


def test_p01_a_controller_killed_with_a_floating_address_in_use_leaves_nothing_after_cleanup(tmp_path):
    first = STUDY.partition("  - provider:")[0] + "probes:" + STUDY.partition("probes:")[2]
    (tmp_path / "study.yaml").write_text(first)
    with nova(boot=ssh_boot(tmp_path / "machines")) as cloud:
        theirs = cloud.plant("address", "RegionOne", "somebody else's", {"cloudcmp:study": "another"})
        foreign = {thing.id for thing in cloud.alive()}
        ran = cloudcmp(cloud, tmp_path, "run", "study.yaml", "--out", "out", CLOUDCMP_CRASH_AT="cloud.before_destroy:1")
        assert ran.returncode == -9, ran.stdout + ran.stderr
        assert {one.kind for one in cloud.alive()} == {"instance", "firewall", "address"}
        cleaned = cloudcmp(cloud, tmp_path, "cleanup", "out")
        assert cleaned.returncode == 0, cleaned.stdout + cleaned.stderr
        assert {thing.id for thing in cloud.alive()} == foreign
        assert [call for call in cloud.journal if theirs in cloud.changed_by(call)] == []
