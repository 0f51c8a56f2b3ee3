"""The estimate of a server's kernel beside what clients outside measured, with planted delay and loss."""

import pytest

from cloudcmp.stats.describe import median, t_interval
from tests.emulated.lossy_link import missing

from .felt_outside import felt


@pytest.mark.skipif(bool(missing()), reason=missing())
def test_a_passive_watch_agrees_with_a_prober_outside() -> None:
    delay_s, loss = 0.015, 0.03
    both = felt(160, delay_s=delay_s, loss=loss)
    found = both.felt
    assert (found["n"], found["unused"], found["unseen"]) == (160, 0, 0)
    # What was planted: two ways of delay, and the share of packets that the link lost.
    assert found["connect"]["value"] >= 2 * delay_s
    assert found["loss"]["bounds"]["low"] <= both.lost_share <= found["loss"]["bounds"]["high"]
    # What was felt: the intervals of both means overlap, and the usual request is the same within two ticks.
    outside = t_interval(both.times, 0.99)
    assert outside is not None
    assert found["mean"]["bounds"]["low"] <= outside.high
    assert outside.low <= found["mean"]["bounds"]["high"]
    assert found["median"]["value"] == pytest.approx(median(both.times), rel=0.1, abs=0.02)
