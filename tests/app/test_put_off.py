"""A launch that an account or a lost answer denies is put off: the others go on, and it is asked for again later.

The cloud is an emulation, see tests/emulated/ec2.py.
"""

from pathlib import Path

from tests.app.test_not_its_fault import STUDY, command, outcomes
from tests.emulated import ec2_xml as xml
from tests.emulated.boot import ssh_boot
from tests.emulated.ec2 import Ec2, ec2
from tests.needs import needs_machines
from tests.slices import long

pytestmark = needs_machines


def refuse_in(cloud: Ec2, region: str, code: str):
    """Every request for a machine in a region is told a code, until what comes back is called."""
    honest, asked = cloud._honest, []

    def answer(request, service, where, action, params):
        if action == "RunInstances" and params.get("DryRun") != "true" and where == region:
            asked.append(action)
            return xml.error(code, "the limit of this account is reached", service)
        return honest(request, service, where, action, params)

    cloud._honest = answer
    return asked, lambda: setattr(cloud, "_honest", honest)


@long
def test_p31_a_quota_is_no_failure_of_a_candidate_and_stops_no_other(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(STUDY.replace("launches: 2", "launches: 1"))
    with ec2(boot=ssh_boot(tmp_path / "m")) as cloud:
        asked, raised = refuse_in(cloud, "eu-central-1", "VcpuLimitExceeded")
        code, said = command(tmp_path, cloud, "run", tmp_path / "s.yaml", "--out", tmp_path / "out")
        assert code == 3, said
        assert "1 launch put off: " in said
        assert "VcpuLimitExceeded" in said
        assert f"cloudcmp run --resume {tmp_path / 'out'}" in said
        assert len(asked) == 1  # a refusal is not repeated
        assert outcomes(tmp_path) == ["ok"]
        assert cloud.alive() == []
        raised()
        code, said = command(tmp_path, cloud, "run", "--resume", tmp_path / "out")
        assert code == 0, said
        assert outcomes(tmp_path) == ["ok", "ok"]
        assert cloud.alive() == []
