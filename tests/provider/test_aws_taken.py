"""A machine that is taken back on its way is preempted, one that ends by itself has failed: the real command.

The cloud is an emulation, see tests/emulated/ec2.py.
"""

import threading
import time
from pathlib import Path

import pytest
from tests.app.test_not_its_fault import command
from tests.emulated.boot import ssh_boot
from tests.emulated.ec2 import Ec2, Faults, ec2
from tests.needs import needs_machines
from tests.slices import long

from cloudcmp.model.trial import Attempt
from cloudcmp.store import StudyStore

STUDY = """\
schema: 1
question: Who took it?
candidates:
  - {provider: aws, region: us-east-1, offering: t3.micro, price: 0.01 USD/h, market: %s}
probes:
  - {probe: scaling}
  - {probe: fma}
launches: 1
runs: 1
budget: 5 USD
"""
TAKEN = ("Server.SpotInstanceTermination", "Spot instance termination")
BAD_IMAGE = ("Client.InternalError", "Client error on launch")

pytestmark = needs_machines


def end_first(cloud: Ec2, reason: tuple[str, str], over: threading.Event) -> None:
    """End the first machine as soon as it is there, while it is still pending."""
    while not over.is_set():
        there = [one.id for one in cloud.alive() if one.kind == "instance"]
        if there:
            with cloud._lock:
                cloud.state.lives.end(there[0], reason)
            return
        time.sleep(0.02)


def ran(work: Path, market: str, reason: tuple[str, str]) -> tuple[str, tuple[Attempt, ...]]:
    """What a study said whose only machine ended on its way, and its attempts."""
    (work / "s.yaml").write_text(STUDY % market)
    over = threading.Event()
    with ec2(Faults(pending_s=60.0), boot=ssh_boot(work / "m")) as cloud:
        beside = threading.Thread(target=end_first, args=(cloud, reason, over))
        beside.start()
        try:
            code, said = command(work, cloud, "run", work / "s.yaml", "--out", work / "out")
        finally:
            over.set()
            beside.join()
        assert cloud.alive() == []
    assert code == 0, said
    with StudyStore.open(work / "out", write=False) as store:
        return said, store.attempts()


@long
@pytest.mark.parametrize(
    ("market", "reason", "outcome"),
    [("spot", TAKEN, "preempted"), ("on-demand", BAD_IMAGE, "failed")],
)
def test_p36_a_machine_that_ends_before_it_is_up(
    tmp_path: Path, market: str, reason: tuple[str, str], outcome: str
) -> None:
    said, attempts = ran(tmp_path, market, reason)
    assert [one.outcome.value for one in attempts] == [outcome] * 2, said
    assert all(reason[1] in one.why for one in attempts)
