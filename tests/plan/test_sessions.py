"""Time windows keep the hours of the clocks on the wall."""

from datetime import UTC, datetime
from itertools import islice
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.plan.clouds import DAY, HOUR, MONDAY

from cloudcmp.model.study import Session
from cloudcmp.plan import next_opening
from cloudcmp.plan.schedule import windows

ALL = tuple(range(7))
PEAK = Session("peak", (0, 1, 2, 3, 4), 9 * 3600, 17 * 3600, "Europe/Stockholm")
NIGHT = Session("night", (5, 6), 22 * 3600, 30 * 3600, "UTC")


def unix(text: str, zone: str = "UTC") -> float:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp()


def test_a_week_of_windows() -> None:
    found = list(islice(windows(PEAK, MONDAY), 6))
    assert found[0] == (unix("2026-01-05 08:00"), unix("2026-01-05 16:00"))
    assert found[5][0] - found[4][0] == 3 * DAY


def test_a_window_past_midnight_is_open_on_the_next_day() -> None:
    sunday_early = unix("2026-01-11 03:00")
    assert next(windows(NIGHT, sunday_early)) == (unix("2026-01-10 22:00"), unix("2026-01-11 06:00"))
    monday_early = unix("2026-01-12 05:59")
    assert next(windows(NIGHT, monday_early))[1] == unix("2026-01-12 06:00")
    assert next(windows(NIGHT, unix("2026-01-12 06:00")))[0] == unix("2026-01-17 22:00")


@pytest.mark.parametrize(
    ("day", "hours"),
    [("2026-03-28", 8), ("2026-03-29", 7), ("2026-10-24", 8), ("2026-10-25", 9)],
)
def test_summer_time_changes_the_length_of_a_night_but_not_its_hours(day: str, hours: int) -> None:
    # Clocks in Stockholm go forward on 29 March 2026 at 02:00 and back on 25 October 2026 at 03:00.
    night = Session("night", ALL, 0, 8 * 3600, "Europe/Stockholm")
    opens, closes = next(windows(night, unix(f"{day} 00:00", "Europe/Stockholm")))
    assert closes - opens == hours * HOUR
    assert datetime.fromtimestamp(closes, ZoneInfo("Europe/Stockholm")).hour == 8


def test_a_window_inside_the_hour_that_is_left_out_is_passed_over() -> None:
    never = Session("never", ALL, 2 * 3600, 2 * 3600 + 1800, "Europe/Stockholm")
    opens, closes = next(windows(never, unix("2026-03-29 00:00", "Europe/Stockholm")))
    assert closes > opens
    assert closes - opens <= 1800


def test_the_next_opening() -> None:
    saturday = unix("2026-01-10 12:00")
    assert next_opening([PEAK, NIGHT], saturday) == (NIGHT, unix("2026-01-10 22:00"))
    assert next_opening([PEAK], saturday) == (PEAK, unix("2026-01-12 08:00"))
    assert next_opening([PEAK, NIGHT], unix("2026-01-10 23:30")) == (NIGHT, unix("2026-01-10 23:30"))
    assert next_opening([], saturday) is None


ZONES = st.sampled_from(
    ["UTC", "Europe/Stockholm", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "Pacific/Apia"]
)


@given(
    ZONES, st.sets(st.integers(0, 6), min_size=1), st.integers(0, 86399), st.integers(60, 86400), st.integers(0, 2**31)
)
def test_windows_are_in_order_apart_and_open_at_their_hours(
    zone: str, days: set[int], opens_s: int, length_s: int, after: int
) -> None:
    session = Session("any", tuple(sorted(days)), opens_s, opens_s + length_s, zone)
    found = list(islice(windows(session, float(after)), 5))
    assert found[0][1] > after
    for opens, closes in found:
        assert opens < closes
        local = datetime.fromtimestamp(opens, ZoneInfo(zone))
        assert local.astimezone(UTC).timestamp() == opens
    assert [one[0] for one in found] == sorted(one[0] for one in found)
