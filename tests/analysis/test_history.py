"""Series over time: pandas as witness of the points, planted changes, and what changed with them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.late import Late

from cloudcmp.analysis.history import facts_apart, tracks_of
from cloudcmp.catalog import METRICS
from cloudcmp.model.history import By, FactChange, Facts, Readings, Track

pd = Late("pandas")

FMA, CHASE, LOSS = "fma_flop_per_s threads=one", "chase_latency_s", "udp_loss_ratio"
DAY = 86400.0
NOW = 1e10


def readings(rows: list[tuple[int, float, float]], cell: str = FMA, facts: tuple[Facts, ...] = ()) -> Readings:
    """Rows of (launch, time, value) of one candidate."""
    launch, time, value = (np.array(column) for column in zip(*rows, strict=True))
    series = np.zeros(len(rows), np.int32)
    return Readings((("a", cell),), series, launch.astype(np.int32), time.astype(float), value.astype(float), facts)


def tracks(*sources: Readings, by: By = By.DAY, as_of: float = NOW) -> tuple[Track, ...]:
    return tracks_of(sources, {"a": "aws", "b": "aws"}, METRICS, by, as_of)


rows_of = st.lists(
    st.tuples(st.integers(0, 9), st.integers(0, 6), st.integers(0, 23), st.floats(1.0, 10.0)), min_size=1, max_size=60
)


@given(rows=rows_of)
def test_a_day_is_the_median_of_its_launches_and_a_launch_that_of_its_values(
    rows: list[tuple[int, int, int, float]],
) -> None:
    (one,) = tracks(readings([(launch, day * DAY + hour * 3600.0, value) for launch, day, hour, value in rows]))
    frame = pd.DataFrame(rows, columns=["launch", "day", "hour", "value"])
    by_launch = frame.groupby(["day", "launch"]).value.median().reset_index()
    assert list(one.values) == pytest.approx(by_launch.groupby("day").value.median().tolist())
    assert list(one.counts) == by_launch.groupby("day").size().tolist()
    first = frame.groupby("day").hour.min()
    assert list(one.times) == [day * DAY + hour * 3600.0 for day, hour in first.items()]
    assert one.level.launches == frame.launch.nunique()
    assert one.level.value == pytest.approx(float(np.median(one.values)))


@given(rows=rows_of)
def test_by_launch_each_launch_is_a_point_in_the_order_of_time(rows: list[tuple[int, int, int, float]]) -> None:
    (one,) = tracks(readings([(launch, day * DAY + hour, value) for launch, day, hour, value in rows]), by=By.LAUNCH)
    frame = pd.DataFrame([(launch, day * DAY + hour, value) for launch, day, hour, value in rows],
                         columns=["launch", "time", "value"])  # fmt: skip
    groups = frame.groupby("launch").agg({"time": "min", "value": "median"}).sort_values("time", kind="stable")
    assert sorted(one.times) == list(one.times)
    assert sorted(zip(one.times, one.values, strict=True)) == sorted(zip(groups.time, groups.value, strict=True))


def two_levels(cell: str, ratio: float, facts: tuple[Facts, ...] = ()) -> Readings:
    noise = np.random.default_rng(1).normal(0, 0.01, 60)
    values = np.exp(noise) * np.repeat([100.0, 100.0 * ratio], 30)
    return readings([(at, at * DAY, value) for at, value in enumerate(values)], cell, facts)


@pytest.mark.parametrize(("cell", "ratio", "better"), [(FMA, 1.1, True), (FMA, 0.9, False), (CHASE, 0.9, True)])
def test_a_change_has_its_day_its_size_and_its_direction(cell: str, ratio: float, better: bool) -> None:
    (one,) = tracks(two_levels(cell, ratio))
    (change,) = one.changes
    assert (change.at, change.since) == (30 * DAY, 29 * DAY)
    assert change.better is better
    assert change.change == pytest.approx(ratio - 1.0, abs=0.01)
    assert change.bounds.low < ratio - 1.0 < change.bounds.high
    assert (change.after, change.before) == pytest.approx((100.0 * ratio, 100.0), rel=0.01)
    assert one.level.points == 30
    assert one.level.first == 30 * DAY
    assert one.level.age_s == NOW - 59 * DAY


def test_a_change_below_one_percent_is_none() -> None:
    (one,) = tracks(two_levels(FMA, 1.004))
    assert one.changes == ()


def test_a_metric_that_can_be_zero_is_compared_by_differences() -> None:
    values = np.repeat([0.02, 0.05], 20) + np.tile([0.0, 0.001], 20)
    (one,) = tracks(readings([(at, at * DAY, value) for at, value in enumerate(values)], LOSS))
    (change,) = one.changes
    assert change.by_difference
    assert change.change == pytest.approx(0.03)
    assert not change.better


def test_two_sources_of_one_candidate_are_one_series() -> None:
    first = readings([(at, at * DAY, 100.0 + at % 2) for at in range(20)])
    second = readings([(at, (20 + at) * DAY, 110.0 + at % 2) for at in range(20)])
    (one,) = tracks(second, first)
    assert len(one.values) == 40
    assert [change.at for change in one.changes] == [20 * DAY]
    assert one.sources == (1,) * 20 + (0,) * 20
    (early,) = tracks(second, first, as_of=19.5 * DAY)
    assert len(early.values) == 20
    assert early.changes == ()


def test_facts_that_changed_with_a_level_are_named() -> None:
    old, new = (("cpu", "8171M"), ("kernel", "6.1")), (("cpu", "8370C"), ("kernel", "6.1"))
    (one,) = tracks(two_levels(FMA, 1.2, (old,) * 30 + (new,) * 30))
    assert one.changes[0].facts == (FactChange("cpu", "8171M", "8370C"),)


def test_a_fact_that_only_some_launches_share_goes_with_nothing() -> None:
    a, b = (("cpu", "a"),), (("cpu", "b"),)
    assert list(facts_apart([a] * 7 + [b] * 3, [b] * 10)) == []
    assert list(facts_apart([a] * 9 + [b], [b] * 10)) == [FactChange("cpu", "a", "b")]
    assert list(facts_apart([()] * 5, [b] * 5)) == []
