"""Queues: departures against a second computation, and means against theory."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.answer.world.worlds import queue

from cloudcmp.answer.world.queues import Floats, in_order, shared_queue, sharing
from cloudcmp.answer.world.summary import simulate
from cloudcmp.model.scenario import Balancing, Discipline, Mode, Scenario

TIMES = st.lists(st.tuples(st.integers(0, 40), st.integers(1, 8)), min_size=1, max_size=30)


def _arrays(jobs: list[tuple[int, int]]) -> tuple[Floats, Floats]:
    ordered = sorted(jobs, key=lambda one: one[0])
    return np.array([one[0] for one in ordered]) / 4, np.array([one[1] for one in ordered]) / 3


def shared_by_steps(arrive: Floats, size: Floats) -> list[float]:
    """Processor sharing by the remaining work of each task, from event to event."""
    left, here, leaves = size.copy(), list[int](), [0.0] * len(size)
    now, coming = 0.0, 0
    while coming < len(size) or here:
        arrival = arrive[coming] if coming < len(size) else math.inf
        leaving = now + min(left[here]) * len(here) if here else math.inf
        moment = min(arrival, leaving)
        if here:
            left[here] -= (moment - now) / len(here)
        now = moment
        if leaving <= arrival:
            gone = here.pop(int(np.argmin(left[here])))
            leaves[gone] = now
        else:
            here.append(coming)
            coming += 1
    return leaves


@given(TIMES, st.booleans())
def test_sharing_is_what_a_second_way_computes(jobs: list[tuple[int, int]], equal: bool) -> None:
    arrive, size = _arrays(jobs)
    size = np.full_like(size, size[0]) if equal else size
    assert sharing(arrive, size, np.array([0])) == pytest.approx(shared_by_steps(arrive, size), abs=1e-9)


@given(TIMES, TIMES)
def test_servers_share_nothing_with_each_other(jobs: list[tuple[int, int]], others: list[tuple[int, int]]) -> None:
    (a, b), (c, d) = _arrays(jobs), _arrays(others)
    whole = sharing(np.concatenate([a, c]), np.concatenate([b, d]), np.array([0, len(a)]))
    assert whole.tolist() == [*sharing(a, b, np.array([0])), *sharing(c, d, np.array([0]))]


@given(TIMES, st.integers(1, 5), st.booleans())
def test_a_shared_queue_is_what_a_second_way_computes(jobs: list[tuple[int, int]], servers: int, equal: bool) -> None:
    arrive, size = _arrays(jobs)
    size = np.full_like(size, size[0]) if equal else size
    free = [0.0] * servers
    for at, (moment, needs, leaves) in enumerate(
        zip(arrive, size, shared_queue(arrive, size, np.full(servers, -np.inf)), strict=True)
    ):  # fmt: skip
        first = int(np.argmin(free))
        free[first] = max(free[first], moment) + needs
        assert leaves == pytest.approx(free[first]), at


def test_an_empty_queue_has_no_departures() -> None:
    nothing = np.zeros(0)
    assert len(sharing(nothing, nothing, np.array([0]))) == len(in_order(nothing, nothing)) == 0


def mm1(load: float, _: int) -> float:
    """The mean response time of M/M/1, first come first served and processor sharing alike (Kleinrock, 1975)."""
    return 1 / (1 - load)


def mmc(load: float, servers: int) -> float:
    """The mean response time of M/M/c: Erlang's C formula (1917)."""
    offered = load * servers
    all_busy = offered**servers / math.factorial(servers) / (1 - load)
    waits = all_busy / (sum(offered**k / math.factorial(k) for k in range(servers)) + all_busy)
    return 1 + waits / (servers - offered)


SYSTEMS: dict[str, tuple[Callable[[float, int], float], int, dict[str, Any]]] = {
    "M/M/1": (mm1, 1, {"discipline": Discipline.IN_ORDER}),
    "M/M/1-PS": (mm1, 1, {}),
    "M/M/4": (mmc, 4, {"balancing": Balancing.THROTTLED}),
}
TWO_WAYS = 0.020


def covered(kind: str, load: float, seeds: range, hours: float) -> int:
    """How many intervals of simulations hold the mean that theory gives."""
    theory, machines, more = SYSTEMS[kind]
    known = theory(load, machines) + TWO_WAYS
    return sum(_holds(queue(load, machines, mode=Mode.REQUESTS, duration_s=hours * 3600, seed=seed, **more), known)
               for seed in seeds)  # fmt: skip


def _holds(scenario: Scenario, known: float) -> bool:
    mean = simulate(scenario, scenario.deployments[0]).overall
    assert mean.low is not None
    assert mean.high is not None
    assert mean.high - mean.low < 0.5 * known
    return mean.low <= known <= mean.high


@pytest.mark.parametrize("kind", SYSTEMS)
def test_intervals_hold_the_mean_of_theory(kind: str) -> None:
    """9 of 10 or more: with a chance of 95 % each, fewer than 8 have one of 1 %."""
    assert covered(kind, 0.7, range(10), 1.5) >= 8


def test_equally_spread_tasks_wait_less_than_those_in_turn() -> None:
    one = queue(0.7, 4, mode=Mode.REQUESTS, duration_s=3600.0, runs=2)
    in_turn = simulate(one, one.deployments[0]).overall.value
    spread = replace(one, balancing=Balancing.EQUALLY_SPREAD)
    # Better than turns, and worse than one queue for all (M/M/4).
    assert mmc(0.7, 4) * 0.95 < simulate(spread, one.deployments[0]).overall.value < in_turn * 0.9
