"""The sweep as it is typed, on an emulated EC2: of a study of which nothing but its tags is left, and interrupted."""

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.app.cloud_walk import RENTED, Stand
from tests.app.clouds import unable
from tests.cli.command import COMMAND, Said, forked
from tests.emulated.ec2 import Ec2, ec2
from tests.slices import long

REGION = "us-east-1"
OURS = {"cloudcmp:schema": "1", "cloudcmp:study": "old-1", "cloudcmp:expires": "2020-01-01T00:00:00Z"}
WITHIN_S = 60.0


def elsewhere(cloud: Ec2, home: Path) -> dict[str, str]:
    """The environment of a machine that never saw the study: the account's credentials, and an empty home."""
    kept = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "COLUMNS": "120"}
    return {**kept, **cloud.environ, "HOME": str(home)}


def sweep(cloud: Ec2, home: Path, *words: str) -> Said:
    return forked(("sweep", "aws", *words), elsewhere(cloud, home), home, WITHIN_S)


@pytest.mark.skipif(bool(unable()), reason=unable() or "studies can run")
def test_p06_a_study_whose_folder_is_lost_is_ended_by_its_tag_from_an_empty_home(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    with Stand(tmp_path / "stand", (RENTED,)) as stand:
        out, sky = stand.folder(), stand.sky
        assert stand.begin("run", out, "cloud.after_create:2").wait() == -9
        assert {one.split()[1] for one in sky.left()} >= {"instance", "firewall"}
        shutil.rmtree(out)
        found = json.loads(sweep(sky.cloud, home, "--json").out)["data"]["found"]
        (tag,) = {one["study"] for one in found} - {"another"}
        done = sweep(sky.cloud, home, "--study", tag, "--delete")
        assert done.code == 0, done.out + done.err
        assert "2 destroyed and confirmed gone, 0 left, 0 kept." in done.out
        assert sky.left() == []
        assert sky.harm() == []
        assert list(home.iterdir()) == []
        assert stand.seen() == []


@pytest.fixture
def cloud() -> Iterator[Ec2]:
    """A machine and a firewall group of a study that has expired, of which the group does not go."""
    with ec2() as one:
        one.plant("instance", REGION, "cloudcmp-old-1-launch-0-1", OURS)
        one.plant("firewall", REGION, "cloudcmp-old-1-launch-0-1", OURS)
        one.inject("DeleteSecurityGroup", "error:DependencyViolation", times=10_000)
        yield one


@long
@pytest.mark.parametrize("how", ["lines", "document"])
def test_p04_an_interrupted_sweep_says_what_was_destroyed_and_what_is_left(
    cloud: Ec2, tmp_path: Path, how: str
) -> None:
    words = ["--delete", *(["--json"] if how == "document" else [])]
    running = subprocess.Popen(
        [COMMAND, "sweep", "aws", *words], cwd=tmp_path, env=elsewhere(cloud, tmp_path), text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    with running:
        end = time.monotonic() + WITHIN_S
        while not cloud.calls("DeleteSecurityGroup"):
            assert running.poll() is None
            assert time.monotonic() < end
            time.sleep(0.05)
        time.sleep(0.5)
        began = time.monotonic()
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=WITHIN_S)
    assert time.monotonic() - began < 2.0
    assert running.returncode == 130, out + err
    assert "nothing measured is lost" not in err
    assert "--resume" not in out + err
    if how == "document":
        found = json.loads(out)["data"]["found"]
        assert {one["kind"]: one["fate"] for one in found} == {"instance": "deleted", "firewall": "left"}
        return
    assert "gone: aws/us-east-1 instance i-" in out
    assert "1 destroyed and confirmed gone, 1 left, 0 kept." in out
    assert "interrupted" in out.splitlines()[-1]
    assert "left: aws/us-east-1 firewall sg-" in err
    assert "DependencyViolation" in err


@long
def test_p04_a_dry_sweep_that_is_interrupted_says_that_nothing_was_destroyed(tmp_path: Path) -> None:
    with ec2() as cloud:
        cloud.inject("DescribeVolumes", "late", times=10_000, seconds=20.0)
        with subprocess.Popen(
            [COMMAND, "sweep", "aws"], cwd=tmp_path, env=elsewhere(cloud, tmp_path), text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        ) as running:  # fmt: skip
            end = time.monotonic() + WITHIN_S
            while not cloud.calls("DescribeVolumes"):
                assert time.monotonic() < end
                time.sleep(0.05)
            running.send_signal(signal.SIGINT)
            out, err = running.communicate(timeout=10)
    assert running.returncode == 130, out + err
    assert "interrupted: nothing was destroyed" in out
    assert "No resource with cloudcmp's tags" not in out
    assert "not listed: aws: it was not queried" in err
