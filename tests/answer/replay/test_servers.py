"""Which machines of a market can be replayed, with what launch times and capacity."""

import math

import numpy as np
import pytest

from cloudcmp.answer.replay.policies import Server
from cloudcmp.answer.replay.servers import LaunchRule, parsed_rule, servers_of
from cloudcmp.errors import UserMistake
from cloudcmp.model.market import COST, Market, Numbers, OfferKey
from cloudcmp.model.metric import Better
from cloudcmp.model.offering import Billing
from cloudcmp.model.replay import Lack, MachineType

NAN = math.nan
ONE, FOUR = "scaling_latency_s count=1;os=linux", "scaling_latency_s count=4;os=linux"
RUNNING = "running_latency_s count=1;os=linux"
BY_SECOND = Billing(60.0, 1.0)
DRAWN = LaunchRule()
Found = tuple[list[tuple[MachineType, Server]], list[tuple[OfferKey, Lack]]]


def measured(name: str, rows: list[list[float]], unit: str = "s", better: Better = Better.LOWER) -> Numbers:
    launches = np.array(rows, float)
    value = [np.exp(np.log(row[np.isfinite(row)]).mean()) if np.isfinite(row).any() else NAN for row in launches]
    return Numbers(name, np.array(value), unit, better, launches, is_measured=True)


def market(*columns: Numbers, count: int = 2) -> Market:
    keys = tuple(OfferKey("cloud", "here", f"m{at}") for at in range(count))
    price = Numbers(COST, np.array([0.1, NAN, 0.3, 0.4][:count]), "1/h")
    return Market(keys, {one.name: one for one in (price, *columns)}, "USD")


def servers(of: Market, capacity: float | str = 100.0, rule: LaunchRule = DRAWN, **failed: list[float]) -> Found:
    failures = {OfferKey("cloud", "here", name): one for name, one in failed.items()}
    return servers_of(of, capacity, rule, failures, lambda _: BY_SECOND)


def test_launches_are_those_of_a_machine_alone_with_the_running_times_of_the_same_launches() -> None:
    of = market(
        measured(ONE, [[50, NAN, 70], [NAN, NAN, NAN]]),
        measured(FOUR, [[90, 91, 92], [80, 81, 82]]),
        measured(RUNNING, [[20, 99, 30], [NAN, NAN, NAN]]),
    )
    ((machine, server),), left = servers(of, m0=[600.0])
    assert server.launches.usable.tolist() == [50, 70]
    assert server.launches.running is not None
    assert server.launches.running.tolist() == [20, 30]
    assert server.launches.failed is not None
    assert server.launches.failed.tolist() == [600.0]
    assert (machine.launches, machine.failed, machine.price, machine.paid_from_request) == (3, 1, 0.1, False)
    assert machine.usable[1] == 60
    assert left == [(OfferKey("cloud", "here", "m1"), Lack.SINGLE)]


def test_a_machine_is_paid_from_its_request_if_a_launch_lacks_the_other_time() -> None:
    of = market(measured(ONE, [[50, 60], [70, 80]]), measured(RUNNING, [[20, NAN], [30, 30]]))
    (first, _), (second, _) = servers(of)[0]
    assert (first.paid_from_request, second.paid_from_request) == (True, False)
    assert second.price is None


def test_the_capacity_of_a_column_has_the_interval_of_its_launches() -> None:
    of = market(
        measured(ONE, [[50, 60, 70], [50, 60, 70]]),
        measured("served", [[100, 110, 121], [NAN, NAN, NAN]], "op/s", Better.HIGHER),
    )
    ((machine, server),), left = servers(of, "served")
    assert server.capacity == pytest.approx(110)
    bounds = machine.capacity.bounds
    assert bounds is not None
    # t(0.975; 2) = 4.3027, and the logarithms have a standard deviation of ln 1.1.
    assert bounds.high / 110 == pytest.approx(1.1 ** (4.302653 / math.sqrt(3)), rel=1e-5)
    assert left == [(OfferKey("cloud", "here", "m1"), Lack.CAPACITY)]


def test_a_rule_makes_all_launches_alike() -> None:
    of = market(measured(ONE, [list(range(1, 102))], "s"), count=1)
    ((_, server),), _ = servers(of, rule=parsed_rule("p95"), m0=[600.0])
    assert (server.launches.usable.tolist(), server.launches.fixed, server.launches.failures) == ([96.0], True, 0)
    found, _ = servers(market(count=2), rule=parsed_rule("90 s"))
    assert [one.launches.usable.tolist() for _, one in found] == [[90.0], [90.0]]
    assert parsed_rule("drawn") == LaunchRule()


@pytest.mark.parametrize("text", ["p101", "p", "p-5", "soon", "-3 s", "90"])
def test_no_rule_is_refused(text: str) -> None:
    with pytest.raises(UserMistake, match="--launch-time"):
        parsed_rule(text)


def test_what_cannot_be_replayed_is_refused_in_one_line() -> None:
    alone = measured(ONE, [[50, 60], [70, 80]])
    speed = measured("speed", [[1, 2], [3, 4]], "flop/s", Better.HIGHER)
    nobody = measured("served", [[NAN, NAN], [NAN, NAN]], "op/s", Better.HIGHER)
    with pytest.raises(UserMistake, match="no source measured how long machines take to come"):
        servers(market())
    with pytest.raises(UserMistake, match="only launches of several machines at once"):
        servers(market(measured(FOUR, [[90, 91], [80, 81]])))
    with pytest.raises(UserMistake, match="no source has a column 'visits'"):
        servers(market(alone), "visits")
    with pytest.raises(UserMistake, match="'speed' is in flop/s"):
        servers(market(alone, speed), "speed")
    with pytest.raises(UserMistake, match="no machine with measured launches has 'served'"):
        servers(market(alone, nobody), "served")
    with pytest.raises(UserMistake, match="is no number of requests"):
        servers(market(alone), ONE)
