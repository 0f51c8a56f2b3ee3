"""What the controller times of machines that never came, were taken, or came while nobody could see it.

The cloud is an emulation, see tests/emulated/ec2.py. Its machines are this one, which was up long before they were
asked for: their coming is `invalid` wherever it was seen.
"""

import time
from pathlib import Path

from cloudcmp.model.trial import Attempt
from tests.app.test_asleep import attempts, once, ran, slow_machines
from tests.app.test_put_off import refuse_in
from tests.emulated.boot import ssh_boot
from tests.emulated.ec2 import Ec2, Faults, ec2
from tests.needs import needs_machines
from tests.slices import long

_STUDY = """\
schema: 1
question: How long does it take to come and to go?
candidates:
  - {provider: aws, region: us-east-1, offering: t3.micro, price: 0.01 USD/h}
probes:
  - {probe: scaling}
  - {probe: fma}
  - {probe: scale_in}
%slaunches: 1
runs: 1
budget: 5 USD
"""
pytestmark = needs_machines


def outcomes(work: Path) -> dict[str, Attempt]:
    """The attempts that count, by probe."""
    names = ("scaling", "fma", "scale_in", "recovery")
    return {names[one.trial]: one for one in attempts(work) if not one.interrupted}


def begin(work: Path, cloud: Ec2, more: str = "", **how) -> tuple[int, str]:
    (work / "s.yaml").write_text(_STUDY % more)
    return ran(work, cloud, "run", work / "s.yaml", "--out", work / "out", **how)


def machines(cloud: Ec2) -> list[str]:
    return [one.id for one in cloud.alive() if one.kind == "instance"]


def test_p31_a_machine_that_never_came_is_not_the_soonest_gone(tmp_path: Path) -> None:
    with ec2(boot=ssh_boot(tmp_path / "m")) as cloud:
        refuse_in(cloud, "us-east-1", "InsufficientInstanceCapacity")
        code, said = begin(tmp_path, cloud)
        assert code == 0, said
        found = outcomes(tmp_path)
        assert {one.outcome.value for one in found.values()} == {"failed"}
        assert "InsufficientInstanceCapacity" in found["scale_in"].why
        assert len(found) == 3


@long
def test_p36_what_a_taken_machine_cannot_be_asked_any_more_is_preempted_too(tmp_path: Path) -> None:
    flag = tmp_path / "begun"
    with ec2(boot=slow_machines(tmp_path, flag)) as cloud:
        last = "  - {probe: recovery}\n"
        code, said = begin(
            tmp_path, cloud, last, meanwhile=once(flag.exists, lambda: cloud.reclaim(machines(cloud)[0]))
        )
        assert code == 0, said
        found = outcomes(tmp_path)
        assert {name for name, one in found.items() if one.outcome.value == "preempted"} == {
            "fma", "recovery", "scale_in",
        }  # fmt: skip


@long
def test_p02_p31_an_answer_that_is_lost_leaves_the_coming_to_be_timed_by_another_launch(tmp_path: Path) -> None:
    with ec2(boot=ssh_boot(tmp_path / "m")) as cloud:
        cloud.inject("RunInstances", "lost", first=2)  # the first is a dry run
        code, said = begin(tmp_path, cloud)
        assert code == 3, said
        assert "1 launch put off: aws/us-east-1/t3.micro: an answer of its provider was lost" in said
        assert outcomes(tmp_path).keys() == {"fma", "scale_in"}
        code, said = ran(tmp_path, cloud, "run", "--resume", tmp_path / "out")
        assert code == 0, said
        found = outcomes(tmp_path)
        assert "its uptime of" in found["scaling"].why
        assert found["scale_in"].outcome.value == "ok"
        assert cloud.alive() == []


@long
def test_p31_a_coming_that_nobody_could_see_is_timed_by_another_launch(tmp_path: Path) -> None:
    with ec2(Faults(pending_s=4.0), boot=ssh_boot(tmp_path / "m")) as cloud:

        def away() -> None:
            time.sleep(0.5)  # its answer is read
            cloud.leave()
            time.sleep(2.0)
            cloud.come_back()

        code, said = begin(tmp_path, cloud, meanwhile=once(lambda: bool(machines(cloud)), away))
        assert code == 3, said
        assert "there was no way to the provider for a while" in said
        assert "scaling" not in outcomes(tmp_path)
        assert outcomes(tmp_path)["scale_in"].outcome.value == "ok"
