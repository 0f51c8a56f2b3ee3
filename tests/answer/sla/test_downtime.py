"""Outages in three readings."""

import pytest
from tests.answer.sla.watches import MAY, watch

from cloudcmp.answer.sla.downtime import downtime_of


def test_an_outage_begins_and_ends_between_two_samples() -> None:
    found = downtime_of(watch(100, down=range(10, 15)))
    assert found.least == ((MAY + 600, MAY + 840),)
    assert found.likely == ((MAY + 600, MAY + 900),)
    assert found.most == ((MAY + 540, MAY + 900),)
    assert found.watched == ((MAY, MAY + 6000),)


def test_a_gap_ends_an_outage_and_is_down_in_the_worst_reading() -> None:
    found = downtime_of(watch(100, down=[10, 11, 20, 21], unseen=range(12, 20)))
    assert found.least == ((MAY + 600, MAY + 660), (MAY + 1200, MAY + 1260))
    assert found.likely == ((MAY + 600, MAY + 720), (MAY + 1200, MAY + 1320))
    assert found.most == ((MAY + 540, MAY + 1320),)
    assert found.watched == ((MAY, MAY + 720), (MAY + 1200, MAY + 6000))


@pytest.mark.parametrize("down", [[0], [99], [0, 1, 50, 99], range(100)])
def test_the_readings_contain_each_other(down: list[int]) -> None:
    found = downtime_of(watch(100, down=down))
    least, likely, most = (sum(b - a for a, b in spans) for spans in (found.least, found.likely, found.most))
    assert least <= likely <= most
    assert likely == 60 * len(down)


def test_a_good_service_was_never_down() -> None:
    found = downtime_of(watch(50))
    assert (found.least, found.likely, found.most) == ((), (), ())
