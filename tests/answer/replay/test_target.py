"""How many machines each policy wants, against one second after the other."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.answer.replay import second_by_second as slow

from cloudcmp.answer.replay.target import Steps, machines_for, reactive, scheduled
from cloudcmp.model.replay import Load, Rules


@st.composite
def traces(draw: st.DrawFn) -> Load:
    """Short traces of whole seconds, with steps that differ."""
    steps = draw(st.lists(st.integers(1, 9), min_size=2, max_size=12))
    rates = draw(st.lists(st.integers(0, 90), min_size=len(steps), max_size=len(steps)))
    times = np.cumsum([draw(st.integers(0, 50)), *steps]).astype(float)
    return Load(times[:-1], np.array(rates, float), float(times[-1]))


def each_second(steps: Steps) -> list[int]:
    """The count of each second."""
    seconds = np.arange(steps.times[0], steps.end)
    return [int(one) for one in steps.counts[np.searchsorted(steps.times, seconds, side="right") - 1]]


@settings(max_examples=200, deadline=None)
@given(traces(), st.integers(0, 12), st.integers(0, 12))
def test_the_reactive_policy_is_the_slow_one(load: Load, watch_s: int, cool_down_s: int) -> None:
    rules = Rules(utilisation=0.5, watch_s=float(watch_s), cool_down_s=float(cool_down_s))
    times = [int(one) for one in load.times]
    expected = slow.reactive(times, load.rates.tolist(), int(load.end), 10.0, watch_s, cool_down_s)
    found = reactive(load, 20.0, rules)
    assert each_second(found) == expected
    assert (np.diff(found.counts) != 0).all()


def test_a_longer_cool_down_never_wants_fewer() -> None:
    rng = np.random.default_rng(2)
    load = Load(np.arange(200) * 60.0, rng.uniform(0, 900, 200), 12_000.0)
    counts = [each_second(reactive(load, 50.0, Rules(cool_down_s=down))) for down in (0.0, 120.0, 600.0)]
    assert all(a <= b <= c for a, b, c in zip(*counts, strict=True))


def test_a_whole_number_of_machines_needs_no_further_one() -> None:
    assert machines_for(np.array([0.0, 70.0, 70.1, 0.1 + 0.2]), 70.0).tolist() == [1, 1, 2, 1]
    assert machines_for(np.array([0.3]), 0.1).tolist() == [3]


def by_schedule(load: Load, capacity: float, rules: Rules, lead_s: float) -> Steps | None:
    return scheduled(load, capacity, rules, lead_s, reactive(load, capacity, rules))


def day_by_day(days: int, offset_s: float = 0.0) -> Load:
    """Loads by the hour: 100 times the hour of the day, ten times that on the first day's hour 5."""
    hours = np.arange(days * 24)
    rates = (hours % 24) * 100.0
    rates[5] = 5000.0
    return Load(hours * 3600.0 + offset_s, rates, days * 86_400.0 + offset_s)


def test_the_schedule_has_what_the_same_hour_of_the_day_before_needed() -> None:
    found = by_schedule(day_by_day(3), 100.0, Rules(utilisation=1.0), lead_s=0.0)
    assert found is not None
    at = {
        hour: int(found.counts[np.searchsorted(found.times, hour * 3600.0, side="right") - 1]) for hour in range(24, 72)
    }
    assert at[24 + 5] == 50  # the first day's surprise
    assert at[48 + 5] == 5
    assert [at[24 + hour] for hour in (0, 1, 7, 23)] == [1, 1, 7, 23]


def test_the_schedule_asks_ahead_of_the_hour_even_by_more_than_one() -> None:
    found = by_schedule(day_by_day(2), 100.0, Rules(utilisation=1.0), lead_s=2 * 3600.0)
    assert found is not None
    second = (24 + 3) * 3600.0
    assert int(found.counts[np.searchsorted(found.times, second, side="right") - 1]) == 50  # two hours before hour 5
    assert int(found.counts[np.searchsorted(found.times, second - 1, side="right") - 1]) == 4


def test_the_first_day_of_a_schedule_is_reactive() -> None:
    load, rules = day_by_day(2), Rules(utilisation=1.0, watch_s=60.0)
    found, follow = by_schedule(load, 100.0, rules, lead_s=60.0), reactive(load, 100.0, rules)
    assert found is not None
    before = 86_400 - 61
    assert each_second(found)[:before] == each_second(follow)[:before]


@pytest.mark.parametrize("hours", [2, 24])
def test_a_day_or_less_has_no_schedule(hours: int) -> None:
    load = Load(np.arange(hours) * 3600.0, np.ones(hours), hours * 3600.0)
    assert by_schedule(load, 1.0, Rules(), 60.0) is None


def test_a_trace_that_begins_within_an_hour_waits_for_whole_hours_of_the_day_before() -> None:
    load = day_by_day(2, offset_s=1800.0)
    found = by_schedule(load, 100.0, Rules(utilisation=1.0), lead_s=0.0)
    assert found is not None
    assert int(found.counts[np.searchsorted(found.times, 25 * 3600.0, side="right") - 1]) == 1
    # Clock hour 29 of the second day had parts of hours 4 and 5 the day before: 400 and 5000 requests/s.
    assert int(found.counts[np.searchsorted(found.times, 29 * 3600.0 + 1, side="right") - 1]) == 50
