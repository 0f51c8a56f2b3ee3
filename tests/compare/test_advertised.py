"""Delivered over advertised: a planted share is recovered, a cap is named, and what is unknown gives no row."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.analysis.planted import plan_of, values_of

from cloudcmp.analysis import estimate
from cloudcmp.catalog import METRICS
from cloudcmp.compare import delivered_of
from cloudcmp.compare.advertised import PAYLOAD_LEAST
from cloudcmp.model.cast import Service, ServiceKind
from cloudcmp.model.offering import Volume
from cloudcmp.model.plan import Candidate, Plan
from cloudcmp.model.promise import Delivered, Delivery, Promise, Promised
from cloudcmp.model.result import Estimate

GBIT = 1e9 / 8
DAY = date(2026, 11, 1)


def tcp(streams: int, path: str = "zone", more: str = "") -> str:
    return f"tcp_bytes_per_s {more}path={path};size_bytes=131072;streams={streams}"


def disk(metric: str, op: str = "read", pattern: str = "random", block: int = 4096, durability: str = "direct") -> str:
    return f"{metric} block_bytes={block};depth=32;durability={durability};op={op};pattern={pattern};threads=one"


def network(baseline: float | None, up_to: float | None) -> Promise:
    return Promise(Promised.NETWORK, baseline and baseline * GBIT, up_to and up_to * GBIT, "a list", DAY)


def study_of(
    promises: Sequence[Promise], means: dict[str, float], *, seed: int = 1, rounds: int = 8, spread: float = 0.005,
    change: dict[str, object] | None = None,
) -> tuple[Plan, tuple[Estimate, ...]]:  # fmt: skip
    """A study of one candidate with these promises, whose cells have these means in their launches."""
    made = plan_of(candidates=1, rounds=rounds, cells=list(means))
    (one,) = made.candidates
    candidate: Candidate = replace(one, offering=replace(one.offering, promises=tuple(promises)), **(change or {}))  # type: ignore[arg-type]
    plan = replace(made, candidates=(candidate,))
    random = np.random.default_rng(seed)
    level = {(launch.index, cell): random.normal(1.0, spread) for launch in plan.launches for cell in means}
    values, histograms = values_of(plan, lambda cell, launch, _: float(means[cell] * level[launch.index, cell]))
    return plan, estimate(plan, values, histograms, METRICS)


def found(promises: Sequence[Promise], means: dict[str, float], **more: object) -> tuple[Delivered, ...]:
    return delivered_of(*study_of(promises, means, **more))  # type: ignore[arg-type]


@pytest.mark.parametrize("share", [0.3, 0.62, 0.95, 1.4])
def test_a_planted_share_lies_in_its_interval_as_often_as_it_says(share: float) -> None:
    inside = 0
    for seed in range(100):
        (one,) = found([network(5.0, 10.0)], {tcp(1): share * 10 * GBIT}, seed=seed, spread=0.03)
        assert one.of_up_to_bounds is not None
        assert one.of_baseline_bounds is not None
        inside += one.of_up_to_bounds.low <= share <= one.of_up_to_bounds.high
        assert one.of_baseline_bounds.low == pytest.approx(2 * one.of_up_to_bounds.low)
    assert inside >= 90  # an interval of order statistics of 8 launches covers 99 %


@pytest.mark.parametrize(
    ("promise", "gbit", "delivery"),
    [
        (network(None, 10.0), 9.41, Delivery.AT_CAP),
        (network(None, 10.0), 9.93, Delivery.AT_CAP),
        (network(10.0, None), 9.5, Delivery.AT_CAP),
        (network(10.0, 10.0), 9.5, Delivery.AT_CAP),
        (network(0.781, 12.5), 0.75, Delivery.AT_BASELINE),
        (network(0.781, 12.5), 4.7, Delivery.UNDER_CAP),
        (network(None, 12.5), 4.7, Delivery.UNDER_CAP),
        (network(5.0, 12.5), 4.1, Delivery.BELOW),
        (network(5.0, None), 4.1, Delivery.BELOW),
        (network(None, 10.0), 11.0, Delivery.ABOVE),
    ],
)
def test_where_the_interval_lies_is_named(promise: Promise, gbit: float, delivery: Delivery) -> None:
    (one,) = found([promise], {tcp(1): gbit * GBIT})
    assert (one.delivery, one.n) == (delivery, 8)


@given(share=st.floats(0.2, 2.0), cap=st.floats(0.1, 400.0))
def test_a_cap_is_named_only_where_a_full_line_could_give_the_payload(share: float, cap: float) -> None:
    (one,) = found([network(None, cap)], {tcp(1): share * cap * GBIT}, spread=0.001)
    if one.delivery is Delivery.AT_CAP:
        assert PAYLOAD_LEAST / 1.035 <= share <= 1.035
    elif PAYLOAD_LEAST / 1.02 <= share <= 1.02:
        pytest.fail(f"{share} of the cap is not named")


def test_the_headers_of_a_network_excuse_nothing_on_a_disk() -> None:
    promise = Promise(Promised.VOLUME_THROUGHPUT, 1e9, None, "a list")
    shares = {0.945: Delivery.BELOW, 0.99: Delivery.AT_CAP, 1.02: Delivery.AT_CAP, 1.06: Delivery.ABOVE}
    for share, delivery in shares.items():
        (one,) = found([promise], {disk("disk_bytes_per_s", block=1 << 20): share * 1e9}, spread=0.001)
        assert one.delivery is delivery


def test_the_fastest_setting_of_each_path_counts_and_those_at_the_same_level_are_counted() -> None:
    means = {tcp(1): 4.0, tcp(50): 9.48, tcp(128): 9.45, tcp(50, "region"): 3.0, tcp(1, "loopback"): 40.0}
    some = found([network(5.0, 10.0)], {cell: gbit * GBIT for cell, gbit in means.items()}, spread=0.0001)
    assert [(one.cell, one.delivery, one.settings, one.alike) for one in some] == [
        (tcp(50), Delivery.AT_CAP, 3, 1), (tcp(50, "region"), Delivery.BELOW, 1, 0),
    ]  # fmt: skip


def test_each_direction_of_a_disk_has_a_row_and_only_small_random_operations_past_the_cache_count() -> None:
    promises = [Promise(Promised.VOLUME_IOPS, 3000.0, None, "a list")]
    means = {
        disk("disk_op_per_s"): 2990.0, disk("disk_op_per_s", "write"): 2000.0,
        disk("disk_op_per_s", durability="cached"): 1e6, disk("disk_op_per_s", pattern="sequential"): 9e3,
        disk("disk_op_per_s", block=1 << 20): 5e3, disk("disk_bytes_per_s"): 1e9,
    }  # fmt: skip
    some = found(promises, means, spread=0.001)
    assert [(one.cell, one.delivery) for one in some] == [
        (disk("disk_op_per_s"), Delivery.AT_CAP), (disk("disk_op_per_s", "write"), Delivery.BELOW),
    ]  # fmt: skip
    throughput = [Promise(Promised.VOLUME_THROUGHPUT, 1e9, None, "a list")]
    assert found(throughput, means) == ()
    sequential = disk("disk_bytes_per_s", pattern="sequential")
    assert [one.cell for one in found(throughput, {**means, sequential: 1e9})] == [sequential]
    only_write = replace(promises[0], op="write")
    assert [one.cell for one in found([only_write], means)] == [disk("disk_op_per_s", "write")]


def test_an_unknown_promise_and_one_without_a_measurement_have_no_row() -> None:
    assert found([], {tcp(1): GBIT}) == ()
    assert found([network(None, None)], {tcp(1): GBIT}) == ()
    assert found([network(5.0, 10.0)], {tcp(1, "loopback"): GBIT, disk("disk_bytes_per_s"): 1e9}) == ()
    beside = tcp(1, more="intensity=1;neighbour=memory;")
    assert found([network(5.0, 10.0)], {beside: GBIT}) == ()


def test_few_launches_and_a_wide_interval_say_why_no_level_is_named() -> None:
    (few,) = found([network(None, 10.0)], {tcp(1): 9.5 * GBIT}, rounds=4)
    assert (few.delivery, few.bounds, few.reason) == (Delivery.UNDECIDED, None, "4 of at least 6 launches")
    (wide,) = found([network(None, 10.0)], {tcp(1): 9.5 * GBIT}, spread=0.2)
    assert (wide.delivery, wide.reason) == (Delivery.UNDECIDED, "the interval is too wide")


def test_a_volume_is_held_to_its_order_and_not_to_the_machines_own_disk() -> None:
    own = [Promise(Promised.DISK_IOPS, 500.0, None, "quotas of the flavor")]
    means, ordered = {disk("disk_op_per_s"): 3000.0}, {"volume": Volume("ssd", iops=3000)}
    assert [one.promise.baseline for one in found(own, means)] == [500.0]
    (one,) = found(own, means, change=ordered)
    assert (one.delivery, one.promise.source) == (Delivery.AT_CAP, "the volume as ordered: ssd 3000 IOPS")


def test_the_machine_that_measures_a_service_is_held_to_nothing() -> None:
    service = {"service": Service(ServiceKind.BLOB, "simulated", "nimbus")}
    assert found([network(5.0, 10.0)], {tcp(1): GBIT}, change=service) == ()
