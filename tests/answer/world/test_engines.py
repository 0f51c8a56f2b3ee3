"""Traffic, and the two engines: the one that draws whole days at once and the one that goes event by event."""

from dataclasses import fields, replace

import numpy as np
import pytest
from tests.answer.world.worlds import queue, twitter

from cloudcmp.answer.world.feedback import serve_by_events
from cloudcmp.answer.world.serve import serve
from cloudcmp.answer.world.stream import serve_stream
from cloudcmp.answer.world.summary import simulate
from cloudcmp.answer.world.traffic import Traffic, in_peak, traffic, windows
from cloudcmp.model.scenario import DAY_S, Arrivals, Balancing, Broker, Discipline, Mode, Scenario

BOTH = {
    "sharing": {},
    "in order": {"discipline": Discipline.IN_ORDER},
    "throttled": {"balancing": Balancing.THROTTLED},
    "together": {"arrivals": Arrivals.TOGETHER},
    "requests": {"mode": Mode.REQUESTS, "grouping": (1, 1), "duration_s": 120.0},
}


@pytest.mark.parametrize("kind", BOTH)
def test_both_engines_give_the_same_times(kind: str) -> None:
    scenario = twitter(**BOTH[kind])
    sent = traffic(scenario, np.random.default_rng(1))
    whole = serve(scenario, scenario.deployments[0], sent, np.random.default_rng(2))
    events = serve_by_events(scenario, scenario.deployments[0], sent, np.random.default_rng(2))
    assert len(sent.sent) > 300
    assert whole.centre.tolist() == events.centre.tolist()
    assert whole.done == pytest.approx(events.done, abs=1e-9)
    assert whole.returned == pytest.approx(events.returned, abs=1e-9)


def test_both_engines_agree_on_cloudanalyst_but_for_replies_that_meet_requests() -> None:
    scenario = twitter(arrivals=Arrivals.TOGETHER, cloudanalyst=True)
    sent = traffic(scenario, np.random.default_rng(1))
    whole = serve(scenario, scenario.deployments[0], sent, np.random.default_rng(2))
    events = serve_by_events(scenario, scenario.deployments[0], sent, np.random.default_rng(2))
    assert np.abs(whole.returned - events.returned).max() < 1e-3
    assert whole.done.mean() == pytest.approx(events.done.mean(), abs=1e-5)


STREAMS = {
    "sharing": {},
    "in order": {"discipline": Discipline.IN_ORDER},
    "throttled": {"balancing": Balancing.THROTTLED},
    "together": {"arrivals": Arrivals.TOGETHER},
    "narrow": {"bandwidth": replace(twitter().bandwidth, values=((2e4,) * 6,) * 6)},
    "busy": {"service": replace(twitter().service, seconds=0.05)},
}


@pytest.mark.parametrize("kind", STREAMS)
def test_stretches_of_time_give_what_the_whole_gives(kind: str) -> None:
    count = 7
    scenario = twitter(mode=Mode.REQUESTS, grouping=(1, 1), duration_s=130.0, **STREAMS[kind])
    parts = list(windows(scenario, np.random.default_rng(1), count))
    sent = Traffic(*(np.concatenate([getattr(part, one.name) for part in parts]) for one in fields(Traffic)))
    whole = serve(scenario, scenario.deployments[0], sent, np.random.default_rng(2))
    stream = list(serve_stream(scenario, scenario.deployments[0], np.random.default_rng(1), np.random.default_rng(2),
                               count))  # fmt: skip
    assert len(stream) == count
    for of_whole, of_parts in (
        (sent.sent, [one.sent for one, _ in stream]), (whole.arrived, [one.arrived for _, one in stream]),
        (whole.done, [one.done for _, one in stream]), (whole.returned, [one.returned for _, one in stream]),
    ):  # fmt: skip
        assert np.sort(np.concatenate(of_parts)) == pytest.approx(np.sort(of_whole), abs=1e-7)


def test_messages_and_requests_have_the_same_means() -> None:
    """Where a message is as small as the service allows: groups of 10 requests, one task each."""
    messages = twitter(arrivals=Arrivals.TOGETHER, grouping=(10, 10), duration_s=900.0, runs=3)
    requests = replace(messages, mode=Mode.REQUESTS, grouping=(1, 1))
    one, other = (simulate(each, each.deployments[0]) for each in (messages, requests))
    assert one.overall.value == pytest.approx(other.overall.value, rel=0.01)
    for a, b in zip(one.bases, other.bases, strict=True):
        assert a.mean.value == pytest.approx(b.mean.value, rel=0.015)


def test_messages_hold_all_requests_of_a_tick() -> None:
    scenario = twitter(arrivals=Arrivals.TOGETHER)
    sent = traffic(scenario, np.random.default_rng(3))
    for tick in np.unique(sent.sent[sent.base == 0])[:20]:
        sizes = sent.requests[(sent.sent == tick) & (sent.base == 0)].tolist()
        assert all(size == 250 for size in sizes[:-1])
        assert 0 < sizes[-1] <= 250
    assert np.all(np.diff(sent.sent) >= 0)


@pytest.mark.parametrize("arrivals", list(Arrivals))
def test_as_many_requests_come_as_users_send(arrivals: Arrivals) -> None:
    scenario = twitter(arrivals=arrivals, mode=Mode.REQUESTS, grouping=(1, 1))
    sent = traffic(scenario, np.random.default_rng(4))
    wanted = (4200 * 1200 + 2100 * 2400) / 60
    assert (sent.base == 0).sum() == pytest.approx(wanted, rel=0.05)
    assert np.mean(sent.out) == pytest.approx(1.0, abs=0.001)
    assert np.std(sent.out) == pytest.approx(0.1, abs=0.001)


def test_a_peak_over_midnight_comes_each_day_and_cloudanalyst_has_the_first_day_alone() -> None:
    base = replace(twitter().bases[0], peak=(23 * 3600.0, 2 * 3600.0))
    hours = np.arange(48) * 3600.0 + 1800
    assert np.flatnonzero(in_peak(base, hours, False)).tolist() == [0, 1, 23, 24, 25, 47]
    day = replace(base, peak=(14 * 3600.0, 16 * 3600.0))
    assert np.flatnonzero(in_peak(day, hours, False)).tolist() == [14, 15, 38, 39]
    assert np.flatnonzero(in_peak(day, hours, True)).tolist() == [14, 15]
    assert not in_peak(day, np.array([14 * 3600.0]), True)[0]


def test_a_busy_centre_loses_requests_to_a_further_one_that_answers_sooner() -> None:
    scenario = twitter(duration_s=1800.0, runs=1)
    slow = replace(scenario, deployments=(replace(scenario.deployments[0], machines=(("US", 1), ("EU", 30))),))
    slow = replace(slow, service=replace(slow.service, seconds=2e-2), bases=scenario.bases[:1])
    closest = simulate(slow, slow.deployments[0])
    best = simulate(replace(slow, broker=Broker.BEST), slow.deployments[0])
    assert closest.centres[1].requests == 0
    assert best.centres[1].requests > 0
    assert best.overall.value < closest.overall.value


def test_a_centre_that_is_too_small_grows() -> None:
    scenario = replace(queue(1.5, 1, duration_s=1800.0, runs=1), broker=Broker.RECONFIGURE)
    grown = simulate(scenario, scenario.deployments[0])
    assert grown.centres[0].machine_hours > 0.5 * 2
    fixed = replace(scenario, broker=Broker.CLOSEST)
    assert grown.overall.value < simulate(fixed, fixed.deployments[0]).overall.value / 3


def test_equal_seeds_give_equal_numbers_and_others_do_not() -> None:
    def mean(scenario: Scenario) -> float:
        return simulate(scenario, scenario.deployments[0]).overall.value

    assert mean(twitter(runs=1)) == mean(twitter(runs=1)) != mean(twitter(runs=1, seed=2))


def test_two_centres_in_one_place_share_its_users() -> None:
    scenario = twitter(runs=1)
    twin = replace(scenario.centres[0], name="US 2")
    scenario = replace(
        scenario, centres=(*scenario.centres, twin),
        deployments=(replace(scenario.deployments[0], machines=(("US", 2), ("US 2", 2))),),
    )  # fmt: skip
    first, second = simulate(scenario, scenario.deployments[0]).centres
    assert first.requests == pytest.approx(second.requests, rel=0.2)


def test_hours_are_those_of_the_day() -> None:
    scenario = twitter(runs=1, duration_s=DAY_S + 7200, service=replace(twitter().service, seconds=1e-6))
    hours = simulate(scenario, scenario.deployments[0]).bases[0].hours
    assert len(hours) == 24
    assert all(one is not None for one in hours)
