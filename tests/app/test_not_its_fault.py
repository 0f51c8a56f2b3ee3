"""What lies with whoever asks (credentials that expire, a network that is down) is blamed on no candidate.

The cloud is an emulation, see tests/emulated/ec2.py.
"""

import os
from pathlib import Path

import pytest

from cloudcmp.store import StudyStore
from tests.cli.command import forked
from tests.emulated import ec2_xml as xml
from tests.emulated.boot import ssh_boot
from tests.emulated.ec2 import Ec2, ec2
from tests.needs import needs_machines
from tests.slices import long

STUDY = """\
schema: 1
question: Who is to blame?
candidates:
  - {provider: aws, region: us-east-1, offering: t3.micro, price: 0.01 USD/h}
  - {provider: aws, region: eu-central-1, offering: t3.micro, price: 0.01 USD/h}
probes:
  - {probe: fma}
launches: 2
runs: 1
budget: 5 USD
"""

pytestmark = needs_machines


def command(work: Path, cloud: Ec2, *words: str | Path) -> tuple[int, str]:
    """The command with hardly any patience: its exit code and what it said."""
    environ = {**os.environ, **cloud.environ, "HOME": str(work), "PATIENCE_S": "4"}
    done = forked(words, environ, work, 200.0, prepare="tests.app.hurried")
    assert "Traceback" not in done.err, done.err
    return done.code, done.out + done.err


def outcomes(work: Path) -> list[str]:
    with StudyStore.open(work / "out", write=False) as store:
        return [one.outcome.value for one in store.attempts()]


def expire_after(cloud: Ec2, machines: int):
    """From the call for the next machine on, every call is told that its token has expired, until it is renewed."""
    honest, count, over = cloud._honest, [0], []

    def answer(request, service, region, action, params):
        real = action == "RunInstances" and params.get("DryRun") != "true"
        count[0] += real
        if over or (real and count[0] > machines):
            over.append(action)
            # The machines that there are can be ended: the user of another role does it, or they end themselves.
            if not action.startswith(("Terminate", "Delete", "Describe", "GetCallerIdentity")):
                return xml.error("ExpiredToken", "the token has expired", service)
        return honest(request, service, region, action, params)

    cloud._honest = answer
    return lambda: setattr(cloud, "_honest", honest)


@long
def test_p31_credentials_that_expire_half_way_stop_a_study_that_goes_on_once_they_are_renewed(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text("".join(line for line in STUDY.splitlines(True) if "eu-central-1" not in line))
    with ec2(boot=ssh_boot(tmp_path / "m")) as cloud:
        renew = expire_after(cloud, 1)
        code, err = command(tmp_path, cloud, "run", tmp_path / "s.yaml", "--out", tmp_path / "out")
        assert code == 3, err
        assert "ExpiredToken" in err
        assert set(outcomes(tmp_path)) <= {"ok"}
        assert cloud.alive() == []
        renew()
        code, err = command(tmp_path, cloud, "run", "--resume", tmp_path / "out")
        assert code == 0, err
        assert outcomes(tmp_path).count("ok") == 2
        assert set(outcomes(tmp_path)) <= {"ok", "aborted"}
        assert cloud.alive() == []


def test_p1_a_study_that_cannot_go_on_says_what_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "s.yaml").write_text(STUDY)
    with ec2(boot=ssh_boot(tmp_path / "m")) as cloud:
        monkeypatch.setenv("CLOUDCMP_CRASH_AT", "cloud.after_create:3")
        code, _ = command(tmp_path, cloud, "run", tmp_path / "s.yaml", "--out", tmp_path / "out")
        assert code == -9
        monkeypatch.delenv("CLOUDCMP_CRASH_AT")
        assert [one for one in cloud.alive() if one.kind == "instance"]
        cloud._honest = lambda request, service, *_: xml.error("ExpiredToken", "the token has expired", service)
        code, err = command(tmp_path, cloud, "run", "--resume", tmp_path / "out")
        assert code == 3
        assert "ExpiredToken" in err
        assert "left: aws/" in err
        assert " instance " in err
        assert f"cloudcmp cleanup {tmp_path / 'out'}" in err
