"""What samples stand for, the windows of the calendar, and clocks that jump."""

from datetime import UTC, datetime
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.answer.sla.watches import DAY, MAY, watch

from cloudcmp.answer.sla.timeline import timeline, windows_of
from cloudcmp.errors import UserMistake
from cloudcmp.model.service_level import Calendar, Clusters, Window
from cloudcmp.model.watch import Watched, WatchSample


def test_a_sample_stands_for_its_interval_and_a_gap_for_nothing() -> None:
    line = watch(100, unseen=range(40, 60))
    assert line.seen_s(MAY, MAY + 6000) == 80 * 60
    assert line.seen_s(MAY + 2340, MAY + 2460) == 60  # of sample 39, and then nobody looked
    assert (line.start, line.end) == (MAY, MAY + 6000)


def test_a_late_sample_leaves_no_gap() -> None:
    samples = tuple(WatchSample(at, True, 0.1) for at in (0.0, 60.0, 145.0, 180.0))
    line = timeline(Watched("shop", 60.0, samples))
    assert line.seen_s(0, 240) == 240


@pytest.mark.parametrize(("days", "kind"), [(7.0, Clusters.DAY), (2.0, Clusters.HOUR), (0.1, Clusters.HOUR)])
def test_blocks_are_days_if_there_are_six_and_else_hours(days: float, kind: Clusters) -> None:
    found, block = watch(int(days * 1440)).blocks()
    assert found is kind
    assert len(set(block.tolist())) >= (6 if days > 1 else 2)


def _at(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("window", "first", "second"),
    [
        (Window(1, Calendar.MONTH), "2026-02-01", "2026-03-01"),
        (Window(3, Calendar.MONTH), "2026-01-01", "2026-04-01"),
        (Window(5, Calendar.MONTH), "2026-01-01", "2026-06-01"),
        (Window(1, Calendar.YEAR), "2026-01-01", "2027-01-01"),
        (Window(1, Calendar.WEEK), "2026-02-09", "2026-02-16"),
        (Window(1, Calendar.DAY), "2026-02-14", "2026-02-15"),
        (Window(6, Calendar.HOUR), "2026-02-14T12:00", "2026-02-14T18:00"),
    ],
)
def test_windows_begin_where_the_calendar_does(window: Window, first: str, second: str) -> None:
    at = _at("2026-02-14T15:30")
    assert next(iter(windows_of(window, at, at + 1))) == (_at(first), _at(second))


@settings(deadline=None, derandomize=True, max_examples=60)
@given(st.integers(1, 12), st.floats(0, 4e9), st.floats(1, 1e8))
def test_windows_cover_a_time_without_overlap(count: int, start: float, length: float) -> None:
    found = list(windows_of(Window(count, Calendar.MONTH), start, start + length))
    assert found[0][0] <= start
    assert found[-1][1] >= start + length
    assert all(before[1] == after[0] for before, after in pairwise(found))


@pytest.mark.parametrize(
    ("samples", "told"),
    [
        ([], "holds no sample"),
        ([(10.0, 0.1), (10.0, 0.1)], "sample 2 at 1970-01-01 00:00:10 UTC is not after the one before it"),
        ([(70.0, 0.1), (10.0, 0.1)], "is not after the one before it: the clock jumped"),
        ([(10.0, 90.0), (70.0, 0.1)], "sample 2 at 1970-01-01 00:01:10 UTC begins before the one before it was"),
        ([(-5.0, 0.1), (70.0, 0.1)], "sample 1 has a negative time"),
        ([(5.0, -0.1), (70.0, 0.1)], "sample 1 took -0.1 s"),
    ],
)  # fmt: skip
def test_a_clock_that_jumps_is_refused(samples: list[tuple[float, float]], told: str) -> None:
    with pytest.raises(UserMistake) as caught:
        timeline(Watched("shop", 60.0, tuple(WatchSample(at, True, took) for at, took in samples)))
    assert told in caught.value.faults[0].what


def test_a_day_has_its_own_samples() -> None:
    line = watch(3 * 1440)
    inside = line.within(MAY + DAY, MAY + 2 * DAY)
    assert (inside.start, inside.stop) == (1440, 2880)
