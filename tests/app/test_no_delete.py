"""Credentials that may make machines and may not end them, found out before anything is spent (P10).

The cloud is an emulated EC2; see clouds.py.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.app.cloud_walk import RENTED, Stand
from tests.app.clouds import unable

pytestmark = pytest.mark.skipif(bool(unable()), reason=unable() or "studies can run")

DENIED = frozenset({"TerminateInstances"})


@pytest.fixture
def stand(tmp_path: Path) -> Iterator[Stand]:
    """One emulated cloud."""
    with Stand(tmp_path, (RENTED,)) as one:
        yield one


def deny(stand: Stand, denied: frozenset[str] = DENIED) -> None:
    cloud = stand.sky.cloud
    cloud.faults = replace(cloud.faults, denied=denied)


def made(stand: Stand) -> list[str]:
    """The outcomes of all calls that asked for a machine or a group, but for dry runs."""
    calls = [one for action in ("RunInstances", "CreateSecurityGroup") for one in stand.sky.cloud.calls(action)]
    return [f"{one.action}: {one.outcome}" for one in calls if one.params.get("DryRun") != "true"]


def test_p10_a_study_whose_machines_could_not_be_ended_is_refused_before_any_is_made(stand: Stand) -> None:
    deny(stand)
    out = stand.folder()
    job = stand.begin("run", out)
    assert job.wait() == 3, job.said()
    assert "ec2:TerminateInstances" in job.said()
    assert made(stand) == []
    assert len(stand.sky.cloud.calls("TerminateInstances")) > 0
    assert stand.seen() == []


def test_p10_a_study_that_goes_on_makes_nothing_more_and_says_what_is_left(stand: Stand) -> None:
    out = stand.folder()
    assert stand.begin("run", out, "cloud.after_create:2").wait() == -9
    before = made(stand)
    left = stand.sky.left()
    (machine,) = [one for one in stand.sky.cloud.alive() if f"aws instance {one.id}" in left]
    deny(stand)
    job = stand.begin("resume", out, give_up_s=1.0, grace_s=0.5)
    assert job.wait() == 3, job.said()
    assert made(stand) == before
    told = " ".join(job.said().split())
    assert "ec2:TerminateInstances" in told
    assert f"left: aws/us-east-1 instance {dict(machine.tags)['Name']}" in told  # its answer was never written down
    assert str(out) in told
    deny(stand, frozenset())
    assert stand.mend("cleanup", out) == []
