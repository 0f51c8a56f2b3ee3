"""A whole study on the emulated Compute Engine, as a user runs it: a process of its own, real SSH, the real agent."""

import pytest
from tests.emulated.boot import ssh_boot
from tests.emulated.gce import Faults, gce
from tests.emulated.gce_told import bodies, body_of
from tests.needs import needs_machines
from tests.provider.study_runs import killed, study, whole
from tests.slices import long

from cloudcmp.provider.gcp import policy

pytestmark = [needs_machines, pytest.mark.usefixtures("agent")]

STUDY = study("""\
  - {provider: gcp, region: us-central1, offering: e2-standard-2, price: 0.067 USD/h}
  - {provider: gcp, region: europe-west4, offering: n2-standard-2, price: 0.107 USD/h, market: spot}
  - {provider: gcp, region: us-central1, offering: n2-custom-2-4096, price: 0.08 USD/h, zone: us-central1-c}
""")


@long
def test_a_study_runs_from_launch_to_report_while_answers_are_lost(tmp_path):
    """Under the least-privilege role."""
    faults = Faults(pending_s=0.1, read_lag_s=0.1)
    with gce(faults, boot=ssh_boot(tmp_path / "machines"), policy=policy()) as cloud:
        cloud.inject("firewalls.insert", "5xx", first=2)
        cloud.inject("instances.insert", "lost")
        cloud.inject("instances.delete", "reset")
        text = whole([cloud], tmp_path, STUDY, "gcp")
        assert bodies(cloud) == []
        made = cloud.calls("instances.insert")
        assert len(made) == 3
        assert {body_of(call)["machineType"].rsplit("/", 1)[-1]: call.params["zone"] for call in made}[
            "n2-custom-2-4096"
        ] == "us-central1-c"
        assert cloud.account.file("")["private_key"].splitlines()[3] not in text


@pytest.mark.parametrize("point", ["cloud.after_create:2"])
def test_p01_a_controller_killed_leaves_nothing_after_cleanup(point, tmp_path):
    first = "\n".join(line for line in STUDY.splitlines() if "n2-" not in line)
    assert killed(point, tmp_path, first, gce, "us-central1") == []
