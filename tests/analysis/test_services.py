"""What a study finds of its services beyond estimates, from planted notes and samples."""

import json
import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloudcmp.analysis import services
from cloudcmp.model.offering import Offering
from cloudcmp.model.plan import Candidate, Launch, Plan, PlannedTrial, Quote
from cloudcmp.model.result import Estimate
from cloudcmp.model.services import Limiter, Services
from cloudcmp.model.trial import Attempt, Outcome
from cloudcmp.model.values import Series

RATE = "blob_bytes_per_s client=native;concurrency=8;op=download;size_bytes=1000"
DELAY = "consistency_time_s change=write;read=eventual;service=table"
LATENCY = "blob_latency_s client={};concurrency=1;op=download;percentile=50;size_bytes=1000"


def plan_of(cells: tuple[str, ...], attributes: tuple[tuple[str, str], ...] = (), launches: int = 1) -> Plan:
    offering = Offering("c", "r", "m", attributes=attributes)
    one = Candidate(0, "c/r/blob from m", offering, "c")
    params = (("op", "download"), ("size_bytes", "1000"))
    probe = "consistency" if DELAY in cells else "blob"
    params = (("service", "table"),) if DELAY in cells else params
    trials = tuple(PlannedTrial(at, at, probe, params, cells, 0, 0.0, 1.0, 20.0, 0) for at in range(launches))
    quote = Quote(1, 1.0, None, None, (), 0.02)
    rounds = tuple(Launch(at, 0, at, None, 0.0, 0) for at in range(launches))
    return Plan("s", "?", (one,), rounds, trials, (), (), launches, 1, 1, 0.0, quote)


def attempts_of(*notes: dict[str, object]) -> tuple[Attempt, ...]:
    return tuple(Attempt(at, 1, Outcome.OK, 0.0, 1.0, facts=json.dumps({"notes": one})) for at, one in enumerate(notes))


def estimate(cell: str, *values: float, rounds: tuple[int | None, ...] | None = None) -> Estimate:
    some = sorted(values)
    middle = some[len(some) // 2]
    return Estimate(0, cell, n_started=len(some), n_ok=len(some), n=len(some), values=values, median=middle,
                    rounds=rounds or tuple(range(len(some))), sessions=(None,) * len(some))  # fmt: skip


def found_in(notes: dict[str, object], bytes_per_s: float = 1e8, network: str = "") -> Services:
    attributes = (("network_bytes_per_s", network),) if network else ()
    return services(plan_of((RATE,), attributes), [estimate(RATE, bytes_per_s)], attempts_of(notes), ())


@pytest.mark.parametrize(
    ("notes", "network", "limiter"),
    [
        ({"client_cpu_ratio": 0.51, "operations": 1000, "throttled": 400}, "", Limiter.CLIENT),
        ({"client_cpu_ratio": 0.5, "operations": 1000, "throttled": 11}, "1e8", Limiter.THROTTLE),
        ({"client_cpu_ratio": 0.2, "operations": 1000, "throttled": 10}, "110000000", Limiter.NETWORK),
        ({"client_cpu_ratio": 0.2, "operations": 1000, "throttled": 10}, "120000000", Limiter.UNKNOWN),
        ({}, "", Limiter.UNKNOWN),
        ({"client_cpu_ratio": True, "operations": "many", "throttled": -5}, "", Limiter.UNKNOWN),
    ],
)
def test_a_limiter_follows_from_its_evidence(notes: dict[str, object], network: str, limiter: Limiter) -> None:
    (limit,) = found_in(notes, network=network).limits
    assert limit.limiter is limiter
    if not notes:
        assert (limit.cpu_ratio, limit.operations) == (None, 0)


def test_a_transfer_between_two_such_machines_counts_before_what_is_advertised() -> None:
    tcp = estimate("tcp_bytes_per_s path=zone;size_bytes=1;streams=1", 1.05e8)
    plan = plan_of((RATE,), (("network_bytes_per_s", "900000000"),))
    (limit,) = services(plan, [estimate(RATE, 1e8), tcp], attempts_of({}), ()).limits
    assert (limit.limiter, limit.network_bytes_per_s) == (Limiter.NETWORK, 1.05e8)
    assert "between two" in limit.network_from


def test_failures_are_counted_apart_over_all_trials() -> None:
    plan = plan_of((RATE,), launches=3)
    of_one = {
        "operations": 100,
        "throttled": 3,
        "server_errors": 2,
        "timeouts": 1,
        "wrong_bodies": 1,
        "client_errors": 4,
    }
    (counts,) = services(plan, [], attempts_of(of_one, of_one | {"dropped_starts": 7}, {}), ()).counts
    assert counts.operation == "blob download"
    assert (counts.trials, counts.counted, counts.operations) == (3, 2, 200)
    kinds = (counts.throttled, counts.server_errors, counts.client_errors, counts.timeouts, counts.wrong_bodies)
    assert kinds == (6, 4, 8, 2, 2)
    assert counts.dropped_starts == 7


def delays_of(values: list[float], notes: dict[str, object]) -> Services:
    series = Series(0, 0, DELAY, tuple(float(at) for at in range(len(values))), tuple(values))
    return services(plan_of((DELAY,)), [], attempts_of(notes), (series,))


def test_a_curve_of_delays_ends_where_the_reader_stopped_to_wait() -> None:
    values = [0.0] * 6 + [0.05, 0.08, 5.0, 5.0]
    (found,) = delays_of(values, {"changes": 10, "censored": 2, "wait_s": 5.0}).delays
    assert (found.n, found.unseen, found.wait_s) == (10, 2, 5.0)
    assert dict(zip(found.x_s, found.share, strict=True)) == {0.0: 0.6, 0.05: 0.7, 0.08: 0.8}
    (whole,) = delays_of(values, {"changes": 10, "censored": 0, "wait_s": 5.0}).delays
    assert (whole.unseen, whole.wait_s, whole.share[-1]) == (0, None, 1.0)


@given(st.lists(st.floats(0, 4), min_size=1, max_size=60), st.floats(0.1, 5))
def test_every_point_of_the_curve_is_the_share_seen_by_then(values: list[float], wait_s: float) -> None:
    cut = [min(value, wait_s) for value in values]
    (found,) = delays_of(cut, {"censored": sum(one >= wait_s for one in cut), "wait_s": wait_s}).delays
    for x_s, share in zip(found.x_s, found.share, strict=True):
        assert share == pytest.approx(sum(value <= x_s for value in values) / len(values))
    assert found.unseen == sum(value >= wait_s for value in values)


def test_a_planted_factor_of_a_client_is_within_its_interval() -> None:
    rng = random.Random(4)
    hits = 0
    for _ in range(400):
        rounds = [0.03 * math.exp(rng.gauss(0, 0.3)) for _ in range(8)]
        sdk = [value * 2.5 * math.exp(rng.gauss(0, 0.05)) for value in rounds]
        some = [estimate(LATENCY.format("native"), *rounds), estimate(LATENCY.format("sdk-python"), *sdk)]
        (one,) = services(plan_of((RATE,)), some, (), ()).clients
        assert one.bounds is not None
        assert one.n == 8
        assert one.bounds.high / one.bounds.low < 1.3  # by rounds, whose own spread is left out
        hits += one.bounds.low <= 2.5 <= one.bounds.high
    assert 0.92 <= hits / 400 <= 0.98


def test_a_table_without_rounds_gives_a_factor_without_an_interval() -> None:
    none = (None, None, None)
    some = [
        estimate(LATENCY.format("native"), 0.01, 0.02, 0.03, rounds=none),
        estimate(LATENCY.format("cli"), 0.3, 0.4, 0.5, rounds=none),
    ]
    (one,) = services(plan_of((RATE,)), some, (), ()).clients
    assert (one.factor, one.bounds, one.n) == (20.0, None, 0)
