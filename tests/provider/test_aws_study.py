"""A whole study on the emulated EC2, as a user runs it: a process of its own, real SSH, the real agent, a report."""

import os
import subprocess
import sys

import pytest
from tests.emulated.boot import ssh_boot, why_not
from tests.emulated.ec2 import Faults, ec2
from tests.emulated.ec2_query import tags_of

from cloudcmp.errors import AgentMissing

pytestmark = pytest.mark.skipif(bool(why_not()), reason=why_not() or "machines can listen")

STUDY = """\
schema: 1
question: which of two machines is faster
candidates:
  - {provider: aws, region: us-east-1, offering: t3.micro, price: 0.0104 USD/h}
  - {provider: aws, region: eu-central-1, offering: c5.large, price: 0.097 USD/h, market: spot}
probes:
  - {probe: int}
launches: 1
runs: 1
budget: 1 USD
seed: 1
"""
_CALL = "from cloudcmp.cli.entry import main; main()"


@pytest.fixture(autouse=True)
def _agent():
    from cloudcmp import agent

    try:
        agent.locate(agent.this_triple())
    except AgentMissing as missing:
        pytest.skip(f"the agent is not built: {missing}")


def cloudcmp(cloud, folder, *words, **environ):
    """The command in a process of its own, which sees the emulated cloud only."""
    variables = {**os.environ, **cloud.environ, "HOME": str(folder), **environ}
    command = [sys.executable, "-c", _CALL, *words]
    return subprocess.run(
        command, cwd=folder, env=variables, capture_output=True, text=True, timeout=120, check=False
    )  # fmt: skip


def test_a_study_runs_from_launch_to_report_while_answers_are_lost(tmp_path):
    (tmp_path / "study.yaml").write_text(STUDY)
    with ec2(Faults(pending_s=0.5, read_lag_s=0.5), boot=ssh_boot(tmp_path / "machines")) as cloud:
        cloud.inject("RunInstances", "lost")
        cloud.inject("CreateSecurityGroup", "5xx", first=2)
        cloud.inject("TerminateInstances", "reset")
        ran = cloudcmp(cloud, tmp_path, "run", "study.yaml", "--out", "out")
        assert ran.returncode == 0, ran.stdout + ran.stderr
        assert "failed" not in ran.stdout + ran.stderr
        assert (tmp_path / "out" / "report.html").stat().st_size > 10_000
        assert cloud.alive() == []
        made = [call for call in cloud.calls("RunInstances") if "DryRun" not in call.params]
        assert len(made) == 2
        for call in made:
            assert call.params["InstanceInitiatedShutdownBehavior"] == "terminate"
            assert call.params["MetadataOptions.HttpTokens"] == "required"
            assert len(call.params["ClientToken"]) <= 64
            assert {"instance", "volume", "network-interface"} <= set(tags_of(call.params))
        text = " ".join(ran.stdout.split() + ran.stderr.split())
        assert cloud.account.secret not in text
        swept = cloudcmp(cloud, tmp_path, "sweep", "aws")
        assert swept.returncode == 0, swept.stdout + swept.stderr


def killed(point, folder):
    """A controller is killed at a crash point (`name:n`), and `cleanup` runs; returns what is wrong."""
    folder.mkdir()
    first = "\n".join(line for line in STUDY.splitlines() if "eu-central-1" not in line)
    (folder / "study.yaml").write_text(first)
    with ec2(boot=ssh_boot(folder / "machines")) as cloud:
        theirs = cloud.plant("instance", "us-east-1", "somebody else's", {"cloudcmp:study": "another"})
        foreign = {thing.id for thing in cloud.alive()}
        ran = cloudcmp(cloud, folder, "run", "study.yaml", "--out", "out", CLOUDCMP_CRASH_AT=point)
        wrong = [] if ran.returncode == -9 else [f"{point}: it was not killed: {ran.stdout}{ran.stderr}"]
        cleaned = cloudcmp(cloud, folder, "cleanup", "out")
        wrong += [] if cleaned.returncode == 0 else [f"{point}: {cleaned.stdout}{cleaned.stderr}"]
        left = {thing.id for thing in cloud.alive()}
        wrong += [f"{point}: {id} is left" for id in left - foreign]
        wrong += [f"{point}: {id} is gone" for id in foreign - left]
        return wrong + [
            f"{point}: {call.name} touched {theirs}" for call in cloud.journal if theirs in call.params.values()
        ]


@pytest.mark.parametrize("point", ["cloud.after_create:2"])
def test_p01_a_controller_killed_leaves_nothing_after_cleanup(point, tmp_path):
    assert killed(point, tmp_path / "study") == []
