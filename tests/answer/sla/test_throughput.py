"""Throughput of a watch: bytes a second of each answer, held against claims."""

from pathlib import Path

import numpy as np
import pytest
from tests.answer.sla.watches import MAY
from tests.evidence import TERMS
from tests.execute.watched_week import Acknowledged, Service, VirtualClock, watch_once

from cloudcmp.answer.sla.claims import is_of_watch, of_watch, parse_claim
from cloudcmp.answer.sla.prove import prove_watch
from cloudcmp.answer.sla.timeline import Timeline, timeline, values_of
from cloudcmp.app.evidence import evidence_in
from cloudcmp.errors import UserMistake
from cloudcmp.model.service_level import ClaimFinding, Quantity, Standing
from cloudcmp.model.watch import Watched, WatchSample

MEGABYTE = 1e6


def downloads(
    n: int, *, seconds: float = 0.5, slow: int = 0, failed: int = 0, size: float | None = MEGABYTE
) -> Timeline:
    """A megabyte each minute in so many seconds; first some failed requests, then slow ones, which take 4 s."""
    samples = []
    for at in range(n):
        took = None if at < failed else 4.0 if at < failed + slow else seconds
        samples.append(WatchSample(MAY + 60.0 * at, at >= failed, took, "", None if at < failed else size))
    return timeline(Watched("shop", 60.0, tuple(samples)))


def proved(text: str, line: Timeline) -> ClaimFinding:
    return prove_watch(of_watch(parse_claim(text)), line)


@pytest.mark.parametrize(
    ("slow", "failed", "standing"),
    [
        (0, 0, Standing.MET),
        (20, 20, Standing.MET),
        (120, 0, Standing.BROKEN),
        (0, 120, Standing.BROKEN),  # what never came was not fast enough
        (70, 0, Standing.CANNOT_TELL),  # 4.9 % of a day of samples
    ],
)
def test_five_percent_may_be_slower_than_the_fifth_percentile(slow: int, failed: int, standing: Standing) -> None:
    found = proved("throughput p5 >= 1 MB/s over 1 day", downloads(1440, slow=slow, failed=failed))
    (window,) = found.windows
    assert (found.standing, window.misses, window.n, found.unit) == (standing, slow + failed, 1440, "B/s")


def test_the_figure_is_the_body_over_the_whole_time_and_a_failed_request_carried_nothing() -> None:
    line = downloads(1440, slow=60, failed=30)
    values = values_of(line, Quantity.THROUGHPUT)
    assert sorted(set(values.tolist())) == [0.0, MEGABYTE / 4.0, MEGABYTE / 0.5]
    mean = proved("mean throughput >= 1 MB/s over 1 day", line)
    assert mean.value == pytest.approx((60 * MEGABYTE / 4.0 + 1350 * MEGABYTE / 0.5) / 1440)
    assert mean.standing is Standing.MET
    assert proved("p5 throughput >= 1 MB/s", line).figure == float(np.quantile(values, 0.05, method="inverted_cdf"))
    assert proved("min throughput >= 1 MB/s", line).figure == 0.0


def test_a_watch_keeps_the_sizes_of_answers_in_its_evidence(tmp_path: Path) -> None:
    clock = VirtualClock()
    service = Service(clock, down=((600.0, 900.0),))
    assert watch_once(tmp_path / "w", clock, service, Acknowledged(), 3600.0, TERMS) == "finished"
    values = values_of(timeline(evidence_in(tmp_path / "w").signed), Quantity.THROUGHPUT)
    assert values.tolist() == [pytest.approx(10 / 0.02)] * 10 + [0.0] * 5 + [pytest.approx(10 / 0.02)] * 45


@pytest.mark.parametrize(("size", "told"), [(None, "has no size"), (0.0, "no answer has a body")])
def test_answers_without_a_size_or_a_body_have_no_throughput(size: float | None, told: str) -> None:
    with pytest.raises(UserMistake, match=told):
        proved("p5 throughput >= 1 MB/s", downloads(20, size=size))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("p5 throughput >= 1", "needs a unit of rate"),
        ("p5 throughput >= 0 B/s", "has no throughput above zero"),
        ("p95 throughput <= 1 MB/s", "asks for slow answers"),
        ("max throughput >= 1 MB/s", "asks for slow answers"),
    ],
)
def test_a_throughput_that_nothing_breaks_or_without_a_unit_is_refused(text: str, told: str) -> None:
    with pytest.raises(UserMistake, match=told):
        of_watch(parse_claim(text))


def test_a_study_may_have_a_throughput_in_another_unit() -> None:
    claim = parse_claim("mean throughput >= 5 jobs/s")
    assert (claim.quantity, claim.name, is_of_watch(claim)) == (Quantity.MEASURED, "throughput", True)
    assert not is_of_watch(parse_claim("mean tool_op_per_s >= 5"))
