"""What a cloud can refuse, take back or never deliver, by the real command: told apart, paid for once, nothing left.

The cloud is an emulation, see tests/emulated/ec2.py.
"""

import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from cloudcmp.app import study_view as viewing
from cloudcmp.model.trial import Attempt, Outcome
from cloudcmp.store import StudyStore
from tests.cli.command import forked
from tests.emulated import ec2_xml as xml
from tests.emulated.boot import SshServer, ssh_boot
from tests.emulated.ec2 import Ec2, Faults, ec2
from tests.emulated.ssh_server import Lies
from tests.execute.liars import lie
from tests.needs import needs_machines
from tests.slices import long, some, spread

_STUDY = """\
schema: 1
question: What happens when it does not come?
candidates:
  - {provider: aws, region: us-east-1, offering: t3.micro, price: 0.01 USD/h%s}
probes:
  - {probe: fma}
launches: 1
runs: 2
budget: 5 USD
"""
_SLOW = "hello(); open(%r, 'w'); time.sleep(60)"

pytestmark = needs_machines


@dataclass
class Told:
    """How a run ended and what it left."""

    code: int
    err: str
    attempts: tuple[Attempt, ...]
    cloud: Ec2
    page: str
    lasted_s: float

    @property
    def whys(self) -> set[str]:
        return {one.why for one in self.attempts}

    @property
    def outcomes(self) -> list[str]:
        return [one.outcome.value for one in self.attempts]

    def made(self) -> int:
        """How many instances were really made."""
        return sum(call.outcome == "200" for call in self.cloud.calls("RunInstances"))


def ran(
    work: Path, cloud: Ec2, *, options: str = "", meanwhile: Callable[[], None] | None = None, patience_s: float = 4.0
) -> Told:
    """The study, run against a cloud; `meanwhile` happens beside it."""
    (work / "s.yaml").write_text(_STUDY % options)
    environ = {**os.environ, **cloud.environ, "HOME": str(work), "PATIENCE_S": str(patience_s)}
    began = time.monotonic()
    beside = threading.Thread(target=meanwhile or (lambda: None))
    beside.start()
    try:
        done = forked(("run", work / "s.yaml", "--out", work / "out"), environ, work, 100.0, "tests.app.hurried")
    finally:
        beside.join()
    lasted_s = time.monotonic() - began
    assert "Traceback" not in done.err, done.err
    with StudyStore.open(work / "out", write=False) as store:
        attempts = store.attempts()
    page = work / "out" / "report.html"
    return Told(done.code, done.err, attempts, cloud, page.read_text() if page.exists() else done.err, lasted_s)


REFUSALS = {
    "quota": ("error:VcpuLimitExceeded", "VcpuLimitExceeded"),
    "capacity": ("error:InsufficientInstanceCapacity", "InsufficientInstanceCapacity"),
    "spot capacity": ("error:SpotMaxPriceTooLow", "SpotMaxPriceTooLow"),
    "rights": ("error:UnauthorizedOperation", "UnauthorizedOperation"),
}


_OURS = {"quota", "rights"}


@pytest.mark.parametrize("name", spread(list(REFUSALS), 2))
def test_p31_what_is_refused_is_told_with_the_clouds_own_code_and_asked_once(name: str, tmp_path: Path) -> None:
    what, code = REFUSALS[name]
    with ec2(boot=ssh_boot(tmp_path / "m")) as cloud:
        told = _refused(tmp_path, cloud, what)
        assert cloud.alive() == []
    if name in _OURS:  # it says nothing of the candidate, which is asked for again once it is mended
        assert (told.code, told.outcomes) == (3, [])
        assert f"put off: aws/us-east-1: {code}" in " ".join(told.err.split())
    else:
        assert (told.code, told.outcomes) == (0, ["failed"] * 2)
        (why,) = told.whys
        assert code in why
        assert why.isprintable()
    assert told.made() == 0
    assert len([call for call in cloud.calls("RunInstances") if call.params.get("DryRun") != "true"]) == 1
    assert code in told.page


def _refused(work: Path, cloud: Ec2, what: str) -> Told:
    """A run in which every call that would really make a machine is answered so; the look before is dry."""
    honest = cloud._honest

    def answer(request, service, region, action, params):
        if action == "RunInstances" and params.get("DryRun") != "true":
            return xml.error(what.removeprefix("error:"), "so it was arranged", service)
        return honest(request, service, region, action, params)

    cloud._honest = answer  # type: ignore[method-assign]
    return ran(work, cloud)


def _when(flag: Path, do: Callable[[], None]) -> Callable[[], None]:
    """Do it as soon as a machine's agent has begun."""

    def wait() -> None:
        end = time.monotonic() + 60
        while time.monotonic() < end and not flag.exists():
            time.sleep(0.02)
        do()

    return wait


def _slow_machines(work: Path, flag: Path):
    made = ssh_boot(work / "m")

    def boot(user_data: str, id: str) -> SshServer:
        server = made(user_data, id)
        lie(work / "m" / id, _SLOW % str(flag))
        return server

    return boot


@pytest.mark.parametrize("how", some(["reclaimed", "dies"], 1, 0))
def test_p36_a_machine_that_goes_during_a_trial_was_preempted(how: str, tmp_path: Path) -> None:
    flag = tmp_path / "begun"
    with ec2(boot=_slow_machines(tmp_path, flag)) as cloud:

        def take() -> None:
            (thing,) = [one for one in cloud.alive() if one.kind == "instance"]
            if how == "reclaimed":
                cloud.reclaim(thing.id)
            else:
                machine = cloud.state.lives.all[thing.id].machine
                assert machine is not None
                machine.kill()

        market = ", market: spot" if how == "reclaimed" else ""
        told = ran(tmp_path, cloud, options=market, meanwhile=_when(flag, take))
        assert cloud.alive() == []
    assert told.outcomes == ["preempted"] * 2
    assert "the machine was taken away" in told.attempts[0].why
    assert told.made() == 1
    assert told.code == 0
    id = told.attempts[0].why.split()[5]
    assert id.startswith("i-")
    assert id not in told.page
    assert f"the machine was taken away: {_pseudonym(tmp_path, id)}" in told.page
    assert id in viewing.view(tmp_path / "out", include_ids=True).attempts[0].why
    view = viewing.view(tmp_path / "out")
    assert all(one.values == () for one in view.analysis.estimates)
    assert all(one.n_started == 2 for one in view.analysis.estimates)


def _pseudonym(work: Path, id: str) -> str:
    with StudyStore.open(work / "out", write=False) as store:
        return viewing.pseudonyms(store).text(id)


def test_p24_a_machine_that_never_boots_is_given_up_and_ended(tmp_path: Path) -> None:
    with ec2(Faults(pending_s=1e6)) as cloud:
        told = ran(tmp_path, cloud, patience_s=1.0)
        assert cloud.alive() == []
    assert told.outcomes == ["failed"] * 2
    assert "it is still pending after 1 s" in told.attempts[0].why
    assert told.made() == 1


@long
@pytest.mark.parametrize(
    ("lies", "words"),
    [(Lies(banner=b""), "cannot be reached"), (Lies(banner=b"SSH-2.0-OpenSSH_9.9\r\n"), "SSH")],
)
def test_p24_a_banner_that_stalls_is_given_up_and_its_machine_ended(lies: Lies, words: str, tmp_path: Path) -> None:
    with ec2(boot=ssh_boot(tmp_path / "m", lies=lies)) as cloud:
        told = ran(tmp_path, cloud, patience_s=2.0)
        assert cloud.alive() == []
    assert told.outcomes == ["failed"] * 2
    assert words in told.attempts[0].why
    assert told.made() == 1
    assert told.lasted_s < 60


@long
def test_p31_a_disk_that_fills_fails_the_launch_with_the_machines_own_words(tmp_path: Path) -> None:
    made = ssh_boot(tmp_path / "m")

    def boot(user_data: str, id: str) -> SshServer:
        server = made(user_data, id)
        front = tmp_path / "m" / id / ".machine" / "bin" / "sha256sum"
        front.write_text("#!/bin/sh\necho 'write error: No space left on device' >&2\nexit 1\n")
        front.chmod(0o755)
        return server

    with ec2(boot=boot) as cloud:
        told = ran(tmp_path, cloud)
        assert cloud.alive() == []
    assert told.outcomes == ["failed"] * 2
    assert "No space left on device" in told.attempts[0].why
    assert told.made() == 1
    assert Outcome.OK not in {one.outcome for one in told.attempts}
