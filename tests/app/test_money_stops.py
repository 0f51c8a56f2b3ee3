"""A budget that is too small for the next launch, in the real command: nothing more is asked for, and more goes on.

The cloud is an emulation, see tests/emulated/ec2.py.
"""

from pathlib import Path

from tests.app.test_not_its_fault import command, outcomes
from tests.app.test_put_off import refuse_in
from tests.emulated.boot import ssh_boot
from tests.emulated.ec2 import Ec2, ec2
from tests.needs import needs_machines
from tests.slices import long

pytestmark = needs_machines

STUDY = """\
schema: 1
question: How far does the money go?
candidates:
  - {provider: aws, region: us-east-1, offering: t3.micro, price: 0.01 USD/h, credits: standard}
  - {provider: aws, region: eu-central-1, offering: t3.micro, price: 0.01 USD/h, credits: standard}
probes:
  - {probe: fma}
launches: 1
runs: 1
budget: 5 USD
%s"""


def asked(cloud: Ec2) -> int:
    """How many machines were asked for."""
    return len([one for one in cloud.calls("RunInstances") if one.params.get("DryRun") != "true"])


@long
def test_p12_a_launch_that_the_budget_does_not_bear_is_not_asked_for_until_there_is_more(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(STUDY % "")
    with ec2(boot=ssh_boot(tmp_path / "m")) as cloud:
        raised = [refuse_in(cloud, region, "VcpuLimitExceeded")[1] for region in ("us-east-1", "eu-central-1")]
        code, said = command(tmp_path, cloud, "run", tmp_path / "s.yaml", "--out", tmp_path / "out")
        assert code == 3, said
        for again in reversed(raised):
            again()
        before = asked(cloud)

        code, said = command(tmp_path, cloud, "run", "--resume", tmp_path / "out", "--budget", "5 EUR")
        assert code == 2, said
        assert "the study's is in USD" in said
        assert asked(cloud) == before

        # A launch that lives its whole time costs 0.0076 USD; 0.0026 is the least that another one may cost.
        code, said = command(tmp_path, cloud, "run", "--resume", tmp_path / "out", "--budget", "0.009 USD")
        assert code == 0, said
        assert "the budget is 0.009 USD" in said
        assert "are committed" in said
        assert f"cloudcmp run --resume {tmp_path / 'out'}" in said
        assert asked(cloud) == before + 1
        assert outcomes(tmp_path) == ["ok"]  # what ran came to its end
        assert cloud.alive() == []

        code, said = command(tmp_path, cloud, "run", "--resume", tmp_path / "out", "--budget", "1 USD")
        assert code == 0, said
        assert asked(cloud) == before + 2
        assert outcomes(tmp_path) == ["ok", "ok"]
        assert cloud.alive() == []


@long
def test_p12_a_study_held_to_one_machine_takes_one_after_another(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(STUDY % "caps: {machines: 1}\n")
    with ec2(boot=ssh_boot(tmp_path / "m")) as cloud:
        code, said = command(tmp_path, cloud, "run", tmp_path / "s.yaml", "--out", tmp_path / "out")
        assert code == 0, said
        assert outcomes(tmp_path) == ["ok", "ok"]
        done = [one.action for one in cloud.journal if one.params.get("DryRun") != "true"]
        turns = [name for name in done if name in {"RunInstances", "TerminateInstances"}]
        assert turns.count("RunInstances") == 2
        assert "TerminateInstances" in turns[: turns.index("RunInstances", 1)]
        assert cloud.alive() == []
