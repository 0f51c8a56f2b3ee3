"""A whole study on the emulated Compute Engine, as a user runs it: a process of its own, real SSH, the real agent."""

import os
import subprocess
import sys

import pytest
from tests.emulated.boot import ssh_boot, why_not
from tests.emulated.gce import Faults, gce
from tests.emulated.gce_told import bodies, body_of

from cloudcmp.errors import AgentMissing
from cloudcmp.provider.gcp import policy

pytestmark = pytest.mark.skipif(bool(why_not()), reason=why_not() or "machines can listen")

STUDY = """\
schema: 1
question: which of three machines is faster
candidates:
  - {provider: gcp, region: us-central1, offering: e2-standard-2, price: 0.067 USD/h}
  - {provider: gcp, region: europe-west4, offering: n2-standard-2, price: 0.107 USD/h, market: spot}
  - {provider: gcp, region: us-central1, offering: n2-custom-2-4096, price: 0.08 USD/h, zone: us-central1-c}
probes:
  - {probe: int}
launches: 1
runs: 1
budget: 1 USD
seed: 1
"""
_CALL = "from cloudcmp.cli.entry import main; main()"
_OTHERS = ("AWS_", "CLOUDCMP_", "CLOUDSDK_", "GOOGLE_", "HTTP")


@pytest.fixture(autouse=True)
def _agent():
    from cloudcmp import agent

    try:
        agent.locate(agent.this_triple())
    except AgentMissing as missing:
        pytest.skip(f"the agent is not built: {missing}")


def cloudcmp(cloud, folder, *words, **environ):
    """The command in a process of its own, which sees the emulated cloud only."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_OTHERS)}
    variables = {**kept, **cloud.environ, "HOME": str(folder), **environ}
    command = [sys.executable, "-c", _CALL, *words]
    return subprocess.run(
        command, cwd=folder, env=variables, capture_output=True, text=True, timeout=240, check=False
    )  # fmt: skip


def test_a_study_runs_from_launch_to_report_while_answers_are_lost(tmp_path):
    """Under the least-privilege role."""
    (tmp_path / "study.yaml").write_text(STUDY)
    faults = Faults(pending_s=0.5, read_lag_s=0.3)
    with gce(faults, boot=ssh_boot(tmp_path / "machines"), policy=policy()) as cloud:
        cloud.inject("firewalls.insert", "5xx", first=2)
        cloud.inject("instances.insert", "lost")
        cloud.inject("instances.delete", "reset")
        ran = cloudcmp(cloud, tmp_path, "run", "study.yaml", "--out", "out")
        assert ran.returncode == 0, ran.stdout + ran.stderr
        assert "failed" not in ran.stdout + ran.stderr
        assert (tmp_path / "out" / "report.html").stat().st_size > 10_000
        assert cloud.alive() == []
        assert bodies(cloud) == []
        made = cloud.calls("instances.insert")
        assert len(made) == 3
        assert {body_of(call)["machineType"].rsplit("/", 1)[-1]: call.params["zone"] for call in made}[
            "n2-custom-2-4096"
        ] == "us-central1-c"
        text = ran.stdout + ran.stderr
        assert cloud.account.file("")["private_key"].splitlines()[3] not in text
        swept = cloudcmp(cloud, tmp_path, "sweep", "gcp")
        assert swept.returncode == 0, swept.stdout + swept.stderr


def killed(point, folder):
    """A controller is killed at a crash point (`name:n`), and `cleanup` runs; returns what is wrong."""
    folder.mkdir()
    first = "\n".join(line for line in STUDY.splitlines() if "n2-" not in line)
    (folder / "study.yaml").write_text(first)
    with gce(boot=ssh_boot(folder / "machines")) as cloud:
        theirs = cloud.plant("instance", "us-central1", "somebody-else", {"cloudcmp:study": "another"})
        foreign = {thing.id for thing in cloud.alive()}
        ran = cloudcmp(cloud, folder, "run", "study.yaml", "--out", "out", CLOUDCMP_CRASH_AT=point)
        wrong = [] if ran.returncode == -9 else [f"{point}: it was not killed: {ran.stdout}{ran.stderr}"]
        cleaned = cloudcmp(cloud, folder, "cleanup", "out")
        wrong += [] if cleaned.returncode == 0 else [f"{point}: {cleaned.stdout}{cleaned.stderr}"]
        left = {thing.id for thing in cloud.alive()}
        wrong += [f"{point}: {id} is left" for id in left - foreign]
        wrong += [f"{point}: {id} is gone" for id in foreign - left]
        return wrong + [f"{point}: {call.name}" for call in cloud.journal if theirs in cloud.changed_by(call)]


@pytest.mark.parametrize("point", ["cloud.after_create:2"])
def test_p01_a_controller_killed_leaves_nothing_after_cleanup(point, tmp_path):
    assert killed(point, tmp_path / "study") == []
