"""Whose clock a sweep goes by: the earlier of this machine's and the cloud's, and no one's where they disagree."""

from dataclasses import dataclass

import pytest

from cloudcmp.errors import Throttled
from cloudcmp.model.leftover import Fate
from cloudcmp.report.leftovers import faults, summary_lines
from tests.app.test_sweep import FUTURE, NOW, Cloud, resource, swept


@dataclass
class Dated(Cloud):
    """A cloud with a clock of its own, so many seconds behind this machine's; None where it cannot be told."""

    behind_s: float | None = 0.0

    async def date(self) -> float | None:
        return None if self.behind_s is None else NOW - self.behind_s


@pytest.mark.parametrize("behind_s", [86_400.0, 61.0, -61.0, None])
def test_p7_a_clock_that_is_not_the_clouds_ends_nothing_but_a_named_study(behind_s: float | None) -> None:
    cloud = Dated.of(resource(1), resource(2, expires=FUTURE), behind_s=behind_s)
    found = swept(cloud, delete=True)
    assert cloud.ordered == []
    assert not found.complete
    assert [one.fate for one in found.leftovers] == [Fate.KEPT] * 2
    (line,) = faults(found)
    assert line.startswith("cloud: its clock" if behind_s is None else "cloud: this machine's clock is ")
    assert {-61.0: "61 s behind", 61.0: "61 s ahead of", 86_400.0: "86400 s ahead of", None: ""}[behind_s] in line
    dry = swept(cloud)
    assert dry.complete
    assert line in summary_lines(dry, delete=False)
    named = swept(cloud, study="study-2", delete=True)
    assert named.complete
    assert set(cloud.holds) == {"i-00001"}


def test_p7_the_earlier_of_two_clocks_decides() -> None:
    cloud = Dated.of(resource(1), resource(2, expires="2025-11-20T23:59:29Z"), behind_s=30.0)
    assert swept(cloud, delete=True).complete
    assert set(cloud.holds) == {"i-00001"}
    cloud.behind_s = -30.0
    cloud.holds = {"i-00003": resource(3), "i-00004": resource(4, expires=FUTURE)}
    assert swept(cloud, delete=True).complete
    assert set(cloud.holds) == {"i-00004"}


def test_p7_a_clock_that_cannot_be_asked_for_ends_nothing() -> None:
    cloud = Dated.of(resource(1))

    async def date() -> float | None:
        raise Throttled.at("cloud", "RequestLimitExceeded", "")

    cloud.date = date  # type: ignore[method-assign]
    found = swept(cloud, delete=True)
    assert cloud.ordered == []
    assert "RequestLimitExceeded" in faults(found)[0]
