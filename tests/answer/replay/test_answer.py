"""The cheapest policy and machine, what would change it, and owned machines, against counting by hand."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.answer.replay.test_target import traces

from cloudcmp.answer.replay.answer import scaled
from cloudcmp.answer.replay.owned import Places, owned_base, places_of
from cloudcmp.answer.replay.policies import Replayed, Server, by_money, outcome_of, replayed
from cloudcmp.answer.replay.sentences import with_sentences
from cloudcmp.errors import UserMistake
from cloudcmp.model.market import OfferKey
from cloudcmp.model.offering import Billing
from cloudcmp.model.replay import LaunchTimes, Load, MachineType, Policy, PolicyOutcome, Range, Rules, ScaleAnswer
from cloudcmp.model.result import Bounds

BY_SECOND = Billing(0.0, 0.0)
MONTH_H = 730
LIMITS = (0.2, 0.05, 0.01, 0.001)


def server(price: float | None = 0.1, capacity: float = 100.0, billing: Billing = BY_SECOND) -> Server:
    return Server(capacity, LaunchTimes(np.array([40.0, 60.0, 90.0]), np.array([10.0, 20.0, 30.0])), price, billing)


def machine(name: str, capacity: float = 100.0, price: float | None = 0.1) -> MachineType:
    return MachineType(OfferKey("cloud", "here", name), Range(capacity), price, 3, 0, (40, 60, 90), False, 0.0, 0.0)


def bursts(days: int = 2) -> Load:
    """100 requests/s, and 1,000 in one hour of each day."""
    hours = np.arange(days * 24)
    return Load(hours * 3600.0, np.where(hours % 24 == 12, 1000.0, 100.0), days * 86_400.0)


def outcomes(load: Load, rules: Rules, one: Server) -> dict[Policy, PolicyOutcome]:
    return {each.policy: outcome_of(load, one, rules, each) for each in replayed(load, one, rules, 1)}


def test_fixed_policies_cost_their_machines_all_the_time() -> None:
    found = outcomes(bursts(), Rules(over=0.001), server())
    peak, mean = found[Policy.PEAK], found[Policy.MEAN]
    assert (peak.most, peak.idle, peak.over.value) == (10, 0, 0.0)
    assert peak.money == Range(pytest.approx(10 * 0.1 * MONTH_H))
    # The mean load is (23 x 100 + 1000) / 24 = 137.5: two machines, which leave 800 of 1000 requests/s in an hour.
    assert mean.alone.value == pytest.approx(800 / 3300)
    assert (mean.idle, mean.most) == (8, 10)


def test_the_reactive_policy_is_over_while_its_machines_are_late_and_pays_what_runs() -> None:
    rules = Rules(utilisation=1.0, watch_s=60.0, cool_down_s=300.0, over=0.001)
    launch = LaunchTimes(np.array([90.0]), np.array([30.0]), fixed=True)
    found = outcomes(bursts(), rules, Server(100.0, launch, 0.1, BY_SECOND))[Policy.REACTIVE]
    requests = 2 * (23 * 100 + 1000) * 3600
    assert found.alone == Range(pytest.approx(2 * 900 * 150 / requests))
    # With k idle ones 9 - k machines are late: 2 x 100 x (9 - k) x 150 s at most 0.1 % of 23.76 million requests.
    assert found.idle == 9  # one missing machine is 30,000 requests, above 23,760
    hours = 48 + 2 * 9 * (3600 + 300) / 3600
    assert found.machine_hours == pytest.approx((hours + 9 * 48) * MONTH_H / 48)
    assert found.money == Range(pytest.approx(0.1 * (hours - 2 * 9 * 30 / 3600 + 9 * 48) * MONTH_H / 48))
    assert found.launches == pytest.approx(18 * MONTH_H / 48)


def test_the_schedule_knows_the_second_day_and_not_the_first() -> None:
    found = outcomes(bursts(), Rules(utilisation=1.0, watch_s=60.0), server())
    reactive, schedule = found[Policy.REACTIVE], found[Policy.SCHEDULED]
    assert schedule.alone.value == pytest.approx(reactive.alone.value / 2, rel=0.1)


@settings(max_examples=40, deadline=None)
@given(traces())
def test_a_stricter_limit_never_takes_fewer_idle_machines_or_less_money(load: Load) -> None:
    if not load.rates.any():
        return
    one = Server(20.0, LaunchTimes(np.array([3.0, 9.0])), 0.1, BY_SECOND)
    rules = [Rules(watch_s=2.0, cool_down_s=3.0, over=limit) for limit in LIMITS]
    for policy in replayed(load, one, rules[0], 1, 20):
        each = [outcome_of(load, one, rule, policy) for rule in rules]
        assert all(a.idle <= b.idle for a, b in itertools.pairwise(each))
        money = [found.money.value for found in each if found.money]
        assert all(a <= b + 1e-9 for a, b in itertools.pairwise(money))
        assert all(found.over.value <= rule.over for found, rule in zip(each, rules, strict=True))


def test_the_limit_holds_in_95_of_100_draws() -> None:
    one = Server(100.0, LaunchTimes(np.array([30.0] * 9 + [600.0])), 0.1, BY_SECOND)
    rules = Rules(utilisation=1.0, over=0.005)
    found = next(each for each in replayed(bursts(), one, rules, 1) if each.policy is Policy.REACTIVE)
    limit = rules.over * bursts().requests
    idle = found.idle_for(limit)
    assert (found.over_with(idle) <= limit).mean() >= 0.95
    assert (found.over_with(idle - 1) <= limit).mean() < 0.95


def answer(
    load: Load, *kinds: tuple[MachineType, Server], rules: Rules | None = None, cost: float | None = None
) -> ScaleAnswer:
    found = scaled(load, kinds, (), rules or Rules(), seed=1, launch_time="drawn", currency="USD", owned_cost=cost)
    return with_sentences(found, load)


def test_the_cheapest_machine_comes_first_and_one_without_a_price_last() -> None:
    found = answer(
        bursts(),
        (machine("unknown", price=None), server(None)),
        (machine("dear"), server(0.2)),
        (machine("cheap"), server(0.1)),
    )
    assert [one.machine.key.name for one in found.choices] == ["cheap", "dear", "unknown"]
    assert found.choices[2].outcomes[0].money is None
    best = found.best.outcomes
    assert best == by_money(best)
    assert "Machines for the peak, 10 all the time, cost 730 USD a month" in found.reason[0]


def test_the_same_seed_gives_the_same_answer_and_another_one_other_draws() -> None:
    kind = (machine("m"), server())
    first, again = answer(bursts(3), kind), answer(bursts(3), kind)
    assert first == again
    other = scaled(bursts(3), [kind], (), Rules(), seed=2, launch_time="drawn", currency="USD")
    reactive = [next(one for one in each.best.outcomes if one.policy is Policy.REACTIVE) for each in (first, other)]
    assert reactive[0].alone != reactive[1].alone
    assert reactive[0].alone.bounds is not None
    assert reactive[0].alone.bounds.low < reactive[1].alone.value < reactive[0].alone.bounds.high


def test_what_would_change_it_moves_with_the_load_and_the_capacity() -> None:
    found = answer(bursts(), (machine("m"), server()))
    money = {one.what: one.money for one in found.variants}
    best = found.best.outcomes[0].money
    assert best is not None
    assert money["load -20 %"] < best.value < money["load +20 %"]
    assert money["capacity +10 %"] <= best.value <= money["capacity -10 %"]
    assert money["limit 1 %"] <= best.value <= money["limit 0.01 %"]


def test_a_load_of_too_many_machines_is_refused() -> None:
    with pytest.raises(UserMistake, match="machines of this load"):
        answer(bursts(), (machine("m", 0.001), server(capacity=0.001)))


def test_a_trace_of_hours_says_that_a_month_is_taken_to_be_like_it() -> None:
    hours = Load(np.arange(3) * 3600.0, np.array([1.0, 2.0, 1.0]), 10_800.0)
    found = answer(hours, (machine("m"), server()))
    assert any("the trace has 3 h 00 min" in one for one in found.cautions)
    assert any("more than a day" in one for one in found.cautions)


# Owned machines


def cheapest_by_hand(load: Load, cost: float) -> tuple[int, float]:
    """The best number of owned machines: each hour pays cloud machines for what the owned ones leave, by the second."""
    needed = np.ceil(load.rates / 100.0)
    totals = [
        owned * cost + 0.1 * MONTH_H / (load.seconds / 3600) * np.maximum(needed - owned, 0).sum()
        for owned in range(int(needed.max()) + 1)
    ]
    return int(np.argmin(totals)), min(totals)


@pytest.mark.parametrize("cost", [1.0, 10.0, 36.5, 50.0, 72.9, 73.1, 200.0])
def test_the_number_of_owned_machines_is_the_best_of_all(cost: float) -> None:
    # Machines come at once and are watched without delay: the cloud follows the load exactly.
    rng = np.random.default_rng(3)
    load = Load(np.arange(168) * 3600.0, rng.integers(1, 12, 168) * 100.0, 168 * 3600.0)
    rules = Rules(utilisation=1.0, watch_s=0.0, cool_down_s=0.0)
    one = Server(100.0, LaunchTimes(np.array([0.0]), fixed=True), 0.1, BY_SECOND)
    found = answer(load, (machine("m"), one), rules=rules, cost=cost).owned
    assert found is not None
    owned, total = cheapest_by_hand(load, cost)
    assert (found.owned, found.total) == (owned, pytest.approx(total))
    assert found.cloud_only == pytest.approx(cheapest_by_hand(load, 1e9)[1])


def test_the_costs_at_which_the_number_changes_change_it() -> None:
    places = Places(Policy.REACTIVE, np.array([73.0, 70.0, 40.0, 45.0, 5.0]))
    found = owned_base(42.0, [places], [])
    assert found.owned == 4  # the third and fourth place cost 85 together
    assert (found.own_below, found.own_above) == (5.0, 42.5)
    assert owned_base(42.6, [places], []).owned == 2
    assert owned_base(42.4, [places], []).owned == 4
    assert owned_base(4.9, [places], []).owned == 5
    assert owned_base(80.0, [places], []).owned == 0


@given(st.lists(st.floats(0.1, 100), min_size=1, max_size=12), st.floats(0.1, 120))
def test_the_turning_costs_are_those_of_trying_every_number(money: list[float], cost: float) -> None:
    places = Places(Policy.REACTIVE, np.array(money))
    totals = [owned * cost + sum(money[owned:]) for owned in range(len(money) + 1)]
    assert places.total(places.best(cost), cost) == pytest.approx(min(totals))
    below, above = places.turning(places.best(cost))
    assert below is None or below <= cost * (1 + 1e-6)
    assert above is None or above >= cost * (1 - 1e-6)


def test_owned_machines_need_a_price_to_compare() -> None:
    with pytest.raises(UserMistake, match="no price"):
        answer(bursts(), (machine("m", price=None), server(None)), cost=10.0)


def test_idle_machines_are_wanted_all_the_time() -> None:
    load, one = bursts(), server()
    found: Replayed = next(each for each in replayed(load, one, Rules(), 1) if each.policy is Policy.REACTIVE)
    money = places_of(load, one, found, idle=2).money
    assert money[:3].tolist() == pytest.approx([73.0] * 3)
    assert (np.diff(money) <= 1e-9).all()


def test_more_launches_than_can_be_replayed_are_refused() -> None:
    rates = np.where(np.arange(20_000) % 2, 50_000.0, 1.0)
    load = Load(np.arange(20_000) * 60.0, rates, 1.2e6)
    with pytest.raises(UserMistake, match="launches are too many to replay"):
        answer(load, (machine("m"), server()), rules=Rules(cool_down_s=0.0))


def test_a_capacity_that_would_need_too_many_machines_is_no_variant() -> None:
    load = Load(np.arange(3) * 60.0, np.array([1.0, 30_000.0, 1.0]), 180.0)
    wide = MachineType(
        OfferKey("cloud", "here", "m"), Range(1.0, Bounds(0.01, 100.0)), 0.1, 3, 0, (40, 60, 90), False, 0.0, 0.0
    )
    found = answer(load, (wide, server(capacity=1.0)))
    assert [one.what for one in found.variants if one.what.startswith("capacity")] == [
        "capacity 100/s (an end of its interval)"
    ]
