"""Histograms of latencies: added, never averaged."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.analysis.planted import FMA, RTT50, RTT95, RTT99, plan_of

from cloudcmp.analysis import cdfs
from cloudcmp.analysis.latencies import latencies_of
from cloudcmp.errors import CorruptStore
from cloudcmp.model.cell import Cell
from cloudcmp.model.values import HistogramRow
from cloudcmp.stats.histogram import encode

PARAMS = "path=loopback;protocol=tcp;size_bytes=64"
PLAN = plan_of(candidates=2, rounds=3, runs=2, cells=(RTT50, RTT95, RTT99, FMA))


def row(launch: int, values_s: np.ndarray, trial: int = 0) -> HistogramRow:
    return HistogramRow(launch, trial, "rtt_s", PARAMS, encode(values_s * 1e9))


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 400), st.integers(1, 400))
def test_a_launchs_percentile_is_that_of_all_its_operations(seed: int, n: int, m: int) -> None:
    rng = np.random.default_rng(seed)
    first, second = rng.lognormal(-9.0, 0.5, n), rng.lognormal(-8.0, 0.5, m)
    shares = {Cell.parse(cell): share for cell, share in ((RTT50, 0.50), (RTT95, 0.95), (RTT99, 0.99))}
    latencies = latencies_of([row(1, first), row(4, first, 2), row(1, second, 1)], shares)
    for cell, share in shares.items():
        alone = [float(np.quantile(some, share, method="inverted_cdf")) for some in (first, second)]
        expected = float(np.quantile(np.concatenate((first, second)), share, method="inverted_cdf"))
        found = latencies[cell]
        assert found.launches == {1: pytest.approx(expected, rel=1.1e-3), 4: pytest.approx(alone[0], rel=1.1e-3)}
        assert list(found.trials[1]) == [pytest.approx(value, rel=1.1e-3) for value in alone]
        assert list(found.trials[4]) == [found.launches[4]]


def test_a_latency_that_nobody_recorded_has_no_launches() -> None:
    assert latencies_of([], [Cell.parse(RTT50)])[Cell.parse(RTT50)].launches == {}


def test_the_bad_one_of_many_histograms_is_named() -> None:
    good = row(0, np.array([1e-4]))
    with pytest.raises(CorruptStore, match=r"trial 7.*rtt_s cannot be read .*cut off in its header"):
        latencies_of([good, HistogramRow(1, 7, "rtt_s", PARAMS, ""), good], [Cell.parse(RTT50)])


def test_a_cdf_adds_all_launches_of_a_candidate() -> None:
    rng = np.random.default_rng(1)
    values = [rng.lognormal(-9.0, 0.3, 5_000) for _ in range(3)]
    # Launches 0, 2, 4 are the first candidate's; the second recorded nothing.
    (one,) = cdfs(PLAN, [row(2 * at, some) for at, some in enumerate(values)])
    assert (one.candidate, one.metric, one.params) == (0, "rtt_s", PARAMS)
    assert len(one.x_s) == len(one.share) <= 401
    assert one.share[-1] == 1.0
    assert np.all(np.diff(one.x_s) > 0)
    assert np.all(np.diff(one.share) > 0)
    whole = np.sort(np.concatenate(values))
    truth = np.searchsorted(whole, np.array(one.x_s), "right") / whole.size
    assert np.allclose(one.share, truth, atol=2e-3)
    assert one.x_s[-1] == pytest.approx(whole[-1], rel=1.1e-3)


def test_cdfs_come_in_a_fixed_order() -> None:
    rows = [row(at, np.array([1e-4])) for at in (3, 0)]
    assert [one.candidate for one in cdfs(PLAN, rows)] == [0, 1]
    assert cdfs(PLAN, rows) == cdfs(PLAN, rows[::-1])
    assert cdfs(PLAN, []) == ()
