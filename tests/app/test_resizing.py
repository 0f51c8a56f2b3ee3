"""A machine of the emulated EC2 is resized from plan to report; where its controller dies meanwhile, nothing stays."""

import base64
import re
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest

from cloudcmp.model.lease import INSTANCE, LeaseEvent, LeaseNote
from cloudcmp.model.trial import Outcome
from cloudcmp.store import StudyStore
from tests.app.clouds import Sky, clouds, unable
from tests.app.warm import SHORT, warmth
from tests.cli.command import Said
from tests.crash_points import RESIZE_CRASH_POINTS
from tests.slices import long, some

pytestmark = pytest.mark.skipif(bool(unable()), reason=unable() or "machines can listen")

STUDY = """\
schema: 1
question: How long does a small machine take to grow?
candidates:
  - {provider: aws, region: us-east-1, offering: t3.micro, price: 0.0104 USD/h%s}
probes:
  - {probe: resize, params: {to: t3.small}}
launches: 1
budget: 1 USD
"""
PRICED = STUDY % ", resize_price: 0.0208 USD/h"


@pytest.fixture(scope="module")
def sky(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sky]:
    with clouds(tmp_path_factory.mktemp("sky") / "sky", cheap=True) as one:
        yield one


def typed(sky: Sky, *words: str | Path, crash: str = "") -> Said:
    """What came of a command, which waits for clouds only shortly and dies at a crash point (`name:n`)."""
    more = {"CLOUDCMP_CRASH_AT": crash} if crash else {}
    job = warmth().start(words, {**sky.environ, **more}, sky.folder, SHORT)
    code = job.wait()
    return Said(code, job.said(), "")


def test_a_study_resizes_a_machine_from_plan_to_report(sky: Sky) -> None:
    file, out = sky.folder / "grow.yaml", sky.folder / "grow"
    file.write_text(PRICED)
    planned = typed(sky, "plan", file)
    assert planned.code == 0, planned.out
    assert "no timer runs in between" in " ".join(planned.out.split())
    ran = typed(sky, "run", file, "--out", out)
    assert ran.code == 0, ran.out
    changed = [call.params for call in sky.cloud.calls("ModifyInstanceAttribute")]
    assert [one["InstanceType.Value"] for one in changed] == ["t3.small"]
    with StudyStore.open(out, write=False) as store:
        (attempt,) = store.attempts()
        assert (attempt.outcome, attempt.why) == (Outcome.OK, "")
        (intent,) = [one for one in store.lease_rows() if one.event is LeaseEvent.INTENT and one.kind == INSTANCE]
        assert sum(LeaseNote.STARTED_AGAIN in one.notes for one in store.lease_rows()) == 1
        prices = {row.price_per_hour for row in store.lease_rows() if row.price_per_hour is not None}
    assert min(prices) >= Decimal("0.0208")  # the dearer one, all the time
    told = base64.b64decode(sky.cloud.calls("RunInstances")[-1].params["UserData"]).decode()
    (ttl_s,) = set(re.findall(r'arm \\"\$end\\" (\d+)', told))
    # A restart begins a period of billing anew, a minute: it is counted, and no machine lives for it.
    assert intent.ttl_s == int(ttl_s) + 60
    assert "resize_latency_s" in (out / "report.html").read_text()
    assert sky.left() == []


def test_a_study_that_does_not_say_the_price_is_refused_before_anything_is_made(sky: Sky) -> None:
    file, before = sky.folder / "dear.yaml", len(sky.cloud.calls("RunInstances"))
    file.write_text(STUDY % "")
    said = typed(sky, "run", file, "--out", sky.folder / "dear")
    assert said.code == 2
    assert "no price in USD is known for t3.small, which resize makes of aws/us-east-1/t3.micro" in said.out
    assert "write resize_price: 0.20 USD/h in that candidate" in said.out
    assert len(sky.cloud.calls("RunInstances")) == before


DEATHS = [
    ("cloud.before_resize", "cleanup"),
    ("cloud.while_stopped", "cleanup"),
    ("cloud.while_stopped", "resume"),
    ("cloud.after_resize", "cleanup"),
]


def test_every_named_moment_of_a_resize_is_died_at() -> None:
    assert {point for point, _ in DEATHS} == set(RESIZE_CRASH_POINTS)


@long
@pytest.mark.parametrize(("point", "mend"), some(DEATHS, 1, 1))
def test_p01_a_controller_that_dies_while_a_machine_is_resized_leaves_nothing(sky: Sky, point: str, mend: str) -> None:
    file, out = sky.folder / f"{point}-{mend}.yaml", sky.folder / f"out-{point}-{mend}"
    file.write_text(PRICED)
    assert typed(sky, "run", file, "--out", out, crash=f"{point}:1").code == -9
    (machine,) = [one for one in sky.left() if one.startswith("aws instance")]
    if point == "cloud.while_stopped":  # what nothing but cleanup, resume or a sweep ends
        assert sky.cloud.state.lives.state(machine.split()[-1]) == "stopped"
    mended = typed(sky, "cleanup", out) if mend == "cleanup" else typed(sky, "run", "--resume", out)
    assert mended.code == 0, mended.out
    assert sky.left() == []
