"""A controller that sleeps while its machines go on: what it cannot have timed is not told, and nobody is blamed.

The cloud is an emulation, see tests/emulated/ec2.py.
"""

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

from cloudcmp.model.trial import Attempt
from cloudcmp.store import StudyStore
from tests.cli.command import forked
from tests.emulated.boot import SshServer, ssh_boot
from tests.emulated.ec2 import Ec2, Faults, ec2
from tests.execute.liars import lie
from tests.needs import needs_machines
from tests.slices import long

_STUDY = """\
schema: 1
question: What happens while nobody looks?
candidates:
  - {provider: aws, region: us-east-1, offering: t3.micro, price: 0.01 USD/h}
probes:
%s
launches: 1
runs: 1
budget: 5 USD
"""
_SLOW = "hello(); open(%r, 'w'); time.sleep(60)"

pytestmark = needs_machines


def ran(work: Path, cloud: Ec2, *words: str | Path, meanwhile: Callable[[], None] | None = None) -> tuple[int, str]:
    """The command beside what happens meanwhile: its exit code and what it said."""
    environ = {**os.environ, **cloud.environ, "HOME": str(work), "PATIENCE_S": "30"}
    environ["NIGHT"] = str(work / "night")
    beside = threading.Thread(target=meanwhile or (lambda: None))
    beside.start()
    try:
        done = forked(words, environ, work, 100.0, prepare="tests.app.sleepy")
    finally:
        beside.join()
    assert "Traceback" not in done.err, done.err
    return done.code, done.out + done.err


def attempts(work: Path) -> tuple[Attempt, ...]:
    with StudyStore.open(work / "out", write=False) as store:
        return store.attempts()


def once(seen: Callable[[], bool], do: Callable[[], object]) -> Callable[[], None]:
    """Do it as soon as something is seen."""

    def wait() -> None:
        end = time.monotonic() + 60
        while time.monotonic() < end and not seen():
            time.sleep(0.02)
        do()

    return wait


def slow_machines(work: Path, flag: Path) -> Callable[[str, str], SshServer]:
    """Machines whose agents begin and do not end, until `flag` is there."""
    made = ssh_boot(work / "m")

    def boot(user_data: str, id: str) -> SshServer:
        server = made(user_data, id)
        if not flag.exists():
            lie(work / "m" / id, _SLOW % str(flag))
        return server

    return boot


@long
def test_p21_p31_a_machine_whose_time_ran_out_while_its_controller_slept_was_not_taken_away(tmp_path: Path) -> None:
    flag, night, study = tmp_path / "begun", tmp_path / "night", tmp_path / "s.yaml"
    study.write_text(_STUDY % "  - {probe: fma}\n  - {probe: int}")
    with ec2(boot=slow_machines(tmp_path, flag)) as cloud:

        def sleep() -> None:
            (thing,) = [one for one in cloud.alive() if one.kind == "instance"]
            machine = cloud.state.lives.all[thing.id].machine
            assert machine is not None
            night.write_text("90000")
            machine.kill()  # as its own timer does

        code, said = ran(tmp_path, cloud, "run", study, "--out", tmp_path / "out", meanwhile=once(flag.exists, sleep))
        assert "time to live is over" in said, said
        assert [(one.outcome.value, one.interrupted) for one in attempts(tmp_path)] == [("aborted", True)]
        assert cloud.alive() == []
        code, said = ran(tmp_path, cloud, "run", "--resume", tmp_path / "out")
        assert code == 0, said
        assert [one.outcome.value for one in attempts(tmp_path) if not one.interrupted] == ["ok", "ok"]
        assert cloud.alive() == []


@long
def test_p21_p35_a_machine_that_came_while_its_controller_slept_is_timed_by_another_launch(tmp_path: Path) -> None:
    study = tmp_path / "s.yaml"
    study.write_text(_STUDY % "  - {probe: scaling}\n  - {probe: fma}")
    with ec2(Faults(pending_s=2.0), boot=ssh_boot(tmp_path / "m")) as cloud:

        def made() -> bool:
            return any(one.kind == "instance" for one in cloud.alive())

        night = once(made, lambda: (tmp_path / "night").write_text("60"))
        code, said = ran(tmp_path, cloud, "run", study, "--out", tmp_path / "out", meanwhile=night)
        assert code == 3, said
        assert "1 launch put off: aws/us-east-1/t3.micro: this machine slept for 60 s during it" in said
        scaling, fma = attempts(tmp_path)
        assert (scaling.outcome.value, scaling.interrupted, scaling.n_samples) == ("aborted", True, 0)
        assert fma.outcome.value == "ok"
        (tmp_path / "night").unlink()
        code, said = ran(tmp_path, cloud, "run", "--resume", tmp_path / "out")
        assert code == 0, said
        timed, fma = (one for one in attempts(tmp_path) if not one.interrupted)
        # The emulated machine is this one, and was up long before it was asked for.
        assert (timed.outcome.value, "its uptime of" in timed.why, fma.outcome.value) == ("invalid", True, "ok")
        assert cloud.alive() == []
