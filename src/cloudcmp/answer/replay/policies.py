"""What each policy takes to serve a load on one machine type: idle machines, requests over target, hours, money."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from cloudcmp.answer.replay.lives import Lives, billed_seconds, lives_of
from cloudcmp.answer.replay.service import Replay, drawn_launches
from cloudcmp.answer.replay.target import HOUR_S, Floats, Steps, fixed, machines_for, reactive, scheduled
from cloudcmp.model.offering import Billing
from cloudcmp.model.price import MONTH_HOURS
from cloudcmp.model.replay import LaunchTimes, Load, Policy, PolicyOutcome, Range, Rules
from cloudcmp.model.result import Bounds

MONTH_S = MONTH_HOURS * HOUR_S
_LEAD = 0.95
_TAIL = 0.025
_SURE = 0.95
_WORK = 2_000_000
_FEWEST, MOST_DRAWS = 40, 200
"""Draws: few of a long trace, whose many launches level out, many of a short one."""


@dataclass(frozen=True, slots=True, eq=False)
class Server:
    """A machine type as a replay needs it: its capacity in requests/s, launch times, price an hour, and billing."""

    capacity: float
    launches: LaunchTimes
    price: float | None
    billing: Billing


@dataclass(frozen=True, slots=True, eq=False)
class Replayed:
    """A policy with all draws: requests over target by number of idle machines, and seconds paid without idle ones.

    `over` has one array for each draw, of the requests with 0, 1, 2, ... idle machines; beyond its end there are none.
    """

    policy: Policy
    steps: Steps
    lives: Lives
    over: tuple[Floats, ...]
    paid_s: Floats

    def over_with(self, idle: int) -> Floats:
        """The requests over target in each draw with so many idle machines."""
        return np.array([one[idle] if idle < len(one) else 0.0 for one in self.over])

    def idle_for(self, most: float) -> int:
        """The fewest idle machines with at most so many requests over target in 95 % of the draws."""
        needed = [int(np.argmax(np.append(one, 0.0) <= most)) for one in self.over]
        return sorted(needed)[math.ceil(_SURE * len(needed)) - 1]


def replayed(load: Load, server: Server, rules: Rules, seed: int, most_draws: int = MOST_DRAWS) -> Iterator[Replayed]:
    """Yield every policy that the trace allows, in the order from the simplest one."""
    mean, capacity = load.requests / load.seconds, server.capacity
    lead_s = float(np.quantile(server.launches.usable, _LEAD))
    follow = reactive(load, capacity, rules)
    wanted: dict[Policy, Steps | None] = {
        Policy.PEAK: fixed(load, int(machines_for(load.rates, capacity).max())),
        Policy.MEAN: fixed(load, int(machines_for(np.array([mean]), capacity)[0])),
        Policy.REACTIVE: follow,
        Policy.SCHEDULED: scheduled(load, capacity, rules, lead_s, follow),
    }
    for policy, steps in wanted.items():
        if steps is not None:
            yield _replayed(load, server, policy, steps, seed, most_draws)


def _replayed(load: Load, server: Server, policy: Policy, steps: Steps, seed: int, most_draws: int) -> Replayed:
    lives = lives_of(steps)
    is_drawn = not lives.there.all() and len(server.launches.usable) + server.launches.failures > 1
    draws = _draws(lives, most_draws) if is_drawn else 1
    latest_s = max(float(usable.max()) for usable, _ in _each_draw(server.launches, lives, seed, draws))
    replay = Replay.of(load, server.capacity, lives, latest_s)
    over, paid = [], []
    for usable, unpaid in _each_draw(server.launches, lives, seed, draws):
        over.append(replay.over(usable))
        paid.append(float(billed_seconds(lives, unpaid, server.billing).sum()))
    return Replayed(policy, steps, lives, tuple(over), np.array(paid))


def _each_draw(launches: LaunchTimes, lives: Lives, seed: int, draws: int) -> Iterator[tuple[Floats, Floats]]:
    """Yield the launch times of every life in each draw: the same for the same seed."""
    generator = np.random.default_rng(seed)
    for _ in range(draws):
        yield drawn_launches(launches, len(lives.start), generator, resampled=not launches.fixed)


def _draws(lives: Lives, most: int) -> int:
    """The number of draws: few of many launches, which level out."""
    return max(min(_FEWEST, most), min(most, _WORK // len(lives.start)))


def outcome_of(load: Load, server: Server, rules: Rules, one: Replayed) -> PolicyOutcome:
    """The outcome of a policy with the fewest idle machines that keep the limit."""
    idle = one.idle_for(rules.over * load.requests)
    a_month = MONTH_S / load.seconds
    over = one.over_with(idle)
    hours = (one.paid_s + idle * load.seconds) / HOUR_S * a_month
    lived = float((one.lives.end - one.lives.start).sum()) + idle * load.seconds
    return PolicyOutcome(
        policy=one.policy,
        alone=_range(one.over_with(0) / load.requests),
        idle=idle,
        over=_range(over / load.requests),
        requests_over=float(over.mean()),
        machines=one.steps.mean + idle,
        most=one.steps.most + idle,
        machine_hours=lived / HOUR_S * a_month,
        launches=float((~one.lives.there).sum()) * a_month,
        money=None if server.price is None else _range(hours * server.price),
    )


def by_money(outcomes: Sequence[PolicyOutcome]) -> tuple[PolicyOutcome, ...]:
    """The outcomes, cheapest first; by machine hours without a price. Of equal ones the simpler policy is first."""
    return tuple(sorted(outcomes, key=lambda one: one.machine_hours if one.money is None else one.money.value))


def _range(values: Floats) -> Range:
    value = float(values.mean())
    if len(values) < 2:
        return Range(value)
    low, high = np.quantile(values, (_TAIL, 1 - _TAIL))
    return Range(value, Bounds(float(low), float(high)))
