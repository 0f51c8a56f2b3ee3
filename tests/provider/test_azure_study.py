"""A whole study on the emulated Azure, as a user runs it: a process of its own, real SSH, the real agent, a report."""

import json
import os
import subprocess
import sys

import pytest
from tests.emulated.arm import Faults, arm
from tests.emulated.boot import ssh_boot, why_not

from cloudcmp.errors import AgentMissing
from cloudcmp.provider.azure import policy
from cloudcmp.provider.azure.policy import actions

pytestmark = pytest.mark.skipif(bool(why_not()), reason=why_not() or "machines can listen")

STUDY = """\
schema: 1
question: which of two machines is faster
candidates:
  - {provider: azure, region: eastus, offering: Standard_B1s, price: 0.0104 USD/h}
  - {provider: azure, region: westeurope, offering: Standard_D2s_v5, price: 0.115 USD/h, market: spot}
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
    usual = Faults(pending_s=0.3, read_lag_s=0.3)
    with arm(usual, boot=ssh_boot(tmp_path / "machines"), policy=policy()) as cloud:
        cloud.inject("virtualMachines/write", "lost")
        cloud.inject("networkSecurityGroups/write", "5xx", first=2)
        cloud.inject("virtualMachines/delete", "reset")
        ran = cloudcmp(cloud, tmp_path, "run", "study.yaml", "--out", "out")
        assert ran.returncode == 0, ran.stdout + ran.stderr
        assert "failed" not in ran.stdout + ran.stderr
        assert (tmp_path / "out" / "report.html").stat().st_size > 10_000
        assert cloud.alive() == []
        made = cloud.calls("virtualMachines/write")
        assert len(made) == 2
        for call in made:
            body = json.loads(call.params["body"])
            assert body["tags"]["cloudcmp:schema"] == "1"
            assert body["properties"]["storageProfile"]["osDisk"]["deleteOption"] == "Delete"
        called = {f"{call.service}/{call.action}" for call in cloud.journal}
        assert {one for one in called if "/operationresults/" not in one} - set(actions()) == set()
        text = " ".join(ran.stdout.split() + ran.stderr.split())
        assert cloud.login.secret not in text
        swept = cloudcmp(cloud, tmp_path, "sweep", "azure")
        assert swept.returncode == 0, swept.stdout + swept.stderr


def killed(point, folder):
    """A controller is killed at a crash point (`name:n`), and `cleanup` runs; returns what is wrong."""
    folder.mkdir()
    first = "\n".join(line for line in STUDY.splitlines() if "westeurope" not in line)
    (folder / "study.yaml").write_text(first)
    with arm(boot=ssh_boot(folder / "machines")) as cloud:
        theirs = cloud.plant("instance", "eastus", "somebody-elses", {"cloudcmp:study": "another"})
        foreign = {thing.id for thing in cloud.alive()}
        ran = cloudcmp(cloud, folder, "run", "study.yaml", "--out", "out", CLOUDCMP_CRASH_AT=point)
        wrong = [] if ran.returncode == -9 else [f"{point}: it was not killed: {ran.stdout}{ran.stderr}"]
        cleaned = cloudcmp(cloud, folder, "cleanup", "out")
        wrong += [] if cleaned.returncode == 0 else [f"{point}: {cleaned.stdout}{cleaned.stderr}"]
        left = {thing.id for thing in cloud.alive()}
        wrong += [f"{point}: {id} is left" for id in left - foreign]
        wrong += [f"{point}: {id} is gone" for id in foreign - left]
        return wrong + [
            f"{point}: {call.name} touched {theirs}" for call in cloud.journal if theirs == call.params["id"]
        ]


@pytest.mark.parametrize("point", ["cloud.after_create:2"])
def test_p01_a_controller_killed_leaves_nothing_after_cleanup(point, tmp_path):
    assert killed(point, tmp_path / "study") == []
