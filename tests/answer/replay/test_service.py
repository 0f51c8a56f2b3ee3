"""Requests over target: closed forms, one second after the other, and what must never grow."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.answer.replay import second_by_second as slow
from tests.answer.replay.test_target import each_second, traces

from cloudcmp.answer.replay.lives import Lives, billed_seconds, lives_of, paid_seconds
from cloudcmp.answer.replay.service import Replay, drawn_launches
from cloudcmp.answer.replay.target import Steps, fixed, reactive
from cloudcmp.model.offering import Billing
from cloudcmp.model.replay import LaunchTimes, Load, Rules


def replay(load: Load, steps: Steps, capacity: float, launch_s: float) -> np.ndarray:
    lives = lives_of(steps)
    return Replay.of(load, capacity, lives, launch_s).over(np.full(len(lives.start), launch_s))


def test_a_step_of_load_is_over_until_it_is_seen_and_its_machines_have_come() -> None:
    load = Load(np.array([0.0, 600.0]), np.array([100.0, 500.0]), 1200.0)
    rules = Rules(utilisation=1.0, watch_s=60.0)
    over = replay(load, reactive(load, 100.0, rules), 100.0, launch_s=90.0)
    # Four machines are missing for 60 + 90 s; each idle one carries 100 requests/s of that.
    assert over[:5].tolist() == pytest.approx([400 * 150, 300 * 150, 200 * 150, 100 * 150, 0])


def test_a_ramp_is_over_by_each_machine_while_it_is_late() -> None:
    # One more machine is needed every 100 s, and comes 30 + 100 s late.
    load = Load(np.arange(10) * 100.0, np.arange(1, 11) * 50.0, 1000.0)
    over = replay(load, reactive(load, 50.0, Rules(utilisation=1.0, watch_s=30.0)), 50.0, launch_s=100.0)
    late = sum(50 * min(130, 1000 - at) for at in range(100, 1000, 100))
    assert over[0] == pytest.approx(late)


def test_a_fixed_number_of_machines_is_over_by_what_exceeds_it() -> None:
    load = Load(np.array([0.0, 10.0, 30.0]), np.array([120.0, 380.0, 50.0]), 40.0)
    over = replay(load, fixed(load, 1), 100.0, launch_s=1e9)
    assert over.tolist() == pytest.approx([20 * 10 + 280 * 20, 180 * 20, 80 * 20, 0])


@settings(max_examples=150, deadline=None)
@given(traces(), st.integers(0, 6), st.integers(0, 6), st.data())
def test_the_replay_is_the_slow_one(load: Load, watch_s: int, cool_down_s: int, data: st.DataObject) -> None:
    steps = reactive(load, 20.0, Rules(utilisation=0.5, watch_s=watch_s, cool_down_s=cool_down_s))
    lives = lives_of(steps)
    # The slow one takes launch times in the order of requests; of one moment, the lower place first.
    order = np.lexsort([lives.place, lives.start])
    late = order[~lives.there[order]]
    each = data.draw(st.lists(st.integers(0, 15), min_size=len(late), max_size=len(late)))
    launch_s = np.zeros(len(lives.start))
    launch_s[late] = each
    found = Replay.of(load, 20.0, lives, 15.0).over(launch_s)
    begin, end = int(load.times[0]), int(load.end)
    every = slow.machines(each_second(steps), begin, each)
    times = [int(one) for one in load.times]
    for idle in range(len(found) + 2):
        expected = slow.over(every, times, load.rates.tolist(), end, 20.0, idle)
        assert (found[idle] if idle < len(found) else 0.0) == pytest.approx(expected, abs=1e-6)
    ages = sorted((one.gone or end) - one.asked for one in every)
    assert sorted((lives.end - lives.start).tolist()) == ages


@settings(max_examples=100, deadline=None)
@given(traces(), st.integers(0, 30))
def test_more_idle_machines_never_leave_more_over(load: Load, launch_s: int) -> None:
    over = replay(load, reactive(load, 20.0, Rules(watch_s=2.0, cool_down_s=3.0)), 20.0, float(launch_s))
    assert (np.diff(over) <= 1e-9).all()
    assert over[-1] == pytest.approx(0.0, abs=1e-6)


@settings(max_examples=100, deadline=None)
@given(traces(), st.integers(0, 20), st.integers(0, 20))
def test_slower_launches_never_leave_fewer_over(load: Load, launch_s: int, more: int) -> None:
    steps = reactive(load, 20.0, Rules(watch_s=1.0, cool_down_s=2.0))
    fast, late = replay(load, steps, 20.0, launch_s), replay(load, steps, 20.0, launch_s + more)
    assert late[0] >= fast[0] - 1e-6


@settings(max_examples=100, deadline=None)
@given(traces())
def test_lives_are_as_many_at_each_second_as_are_wanted(load: Load) -> None:
    steps = reactive(load, 7.0, Rules(watch_s=0.0, cool_down_s=2.0))
    lives = lives_of(steps)
    counts = [int(((lives.start <= now) & (now < lives.end)).sum()) for now in range(int(load.times[0]), int(load.end))]
    assert counts == each_second(steps)
    assert int(lives.place.max()) == steps.most
    assert lives.there.sum() == steps.counts[0]
    assert lives.open.sum() == steps.counts[-1]


@given(st.floats(0, 1e6), st.sampled_from([(0.0, 0.0), (60.0, 1.0), (3600.0, 3600.0), (300.0, 1.0), (60.0, 0.0)]))
def test_paid_seconds_are_those_of_the_billing(seconds: float, rule: tuple[float, float]) -> None:
    billing = Billing(*rule)
    assert paid_seconds(np.array([seconds]), billing)[0] == billing.paid_s(seconds)


def test_a_machine_is_paid_from_when_it_runs_by_the_hour_begun_and_what_goes_on_is_not_rounded() -> None:
    lives = Lives(
        place=np.array([1, 2, 3, 4], np.uint16),
        start=np.array([0.0, 100.0, 100.0, 100.0]),
        end=np.array([9000.0, 3730.0, 3731.0, 110.0]),
        there=np.array([True, False, False, False]),
        open=np.array([True, False, False, False]),
    )
    paid = billed_seconds(lives, np.full(4, 30.0), Billing(3600.0, 3600.0))
    assert paid.tolist() == [9000.0, 3600.0, 7200.0, 3600.0]


def test_a_failed_launch_is_given_up_and_asked_for_again() -> None:
    measured = LaunchTimes(np.array([10.0, 20.0, 30.0]), np.array([1.0, 2.0, 3.0]), failed=np.array([100.0]))
    usable, unpaid = drawn_launches(measured, 40_000, np.random.default_rng(1), resampled=False)
    # A quarter fails each time: 20 s and a third of 100 s on average.
    assert usable.mean() == pytest.approx(20 + 100 / 3, abs=1.0)
    assert (usable - unpaid).min() == 9.0
    assert ((usable % 100 // 10) == (unpaid % 100)).all()


def test_resampled_launches_scatter_as_the_mean_of_other_launches_would() -> None:
    measured = LaunchTimes(np.exp(np.linspace(3.9, 4.3, 20)))
    generator = np.random.default_rng(1)
    drawn = [drawn_launches(measured, 2000, generator, resampled=True)[0] for _ in range(4000)]
    means = np.array([np.log(one).mean() for one in drawn])
    logs = np.log(measured.usable)
    scores = (means - logs.mean()) / (logs.std(ddof=1) / np.sqrt(20))
    # Student's t with 19 degrees of freedom: a variance of 19/17, and 2.093 at 97.5 %.
    assert scores.var() == pytest.approx(19 / 17, rel=0.08)
    assert np.quantile(np.abs(scores), 0.95) == pytest.approx(2.093, rel=0.06)
    plain = [np.log(drawn_launches(measured, 2000, generator, resampled=False)[0]).mean() for _ in range(50)]
    assert np.std(plain) < 0.1 * means.std()


def test_machines_that_are_never_short_are_not_looked_at() -> None:
    load = Load(np.arange(1000) * 60.0, np.where(np.arange(1000) == 500, 900.0, 100.0), 60_000.0)
    steps = reactive(load, 100.0, Rules(utilisation=1.0))
    assert Replay.of(load, 100.0, lives_of(steps), 90.0).hot.sum() == 1
