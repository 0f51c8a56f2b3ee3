"""Signs of co-location: the launches with a planted one are found, and no others."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.analysis.planted import values_of
from tests.compare.test_advertised import GBIT, network, study_of, tcp

from cloudcmp.analysis import estimate
from cloudcmp.catalog import METRICS
from cloudcmp.compare import co_location_of
from cloudcmp.model.cast import Service, ServiceKind
from cloudcmp.model.co_location import CoLocation, Sign
from cloudcmp.model.promise import Promise

RTT = "rtt_s path=%s;percentile=50;protocol=tcp;size_bytes=64"


def found(
    planted: dict[str, dict[int, float]], usual: dict[str, float], *promises: Promise, rounds: int = 8,
    change: dict[str, object] | None = None,
) -> tuple[CoLocation, ...]:  # fmt: skip
    """The signs in a study whose cells have their usual values, and in some rounds the planted ones."""
    plan, _ = study_of(promises, usual, rounds=rounds, change=change)
    random = np.random.default_rng(4)
    values, histograms = values_of(
        plan,
        lambda cell, launch, _: float(planted.get(cell, {}).get(launch.round, usual[cell]) * random.normal(1.0, 0.002)),
    )
    return co_location_of(plan, estimate(plan, values, histograms, METRICS))


def test_launches_faster_than_promised_are_marked_with_their_fastest_setting() -> None:
    usual = {tcp(1): 5 * GBIT, tcp(8): 9.4 * GBIT}
    one, two = found({tcp(8): {2: 14 * GBIT, 5: 20 * GBIT}}, usual, network(5.0, 10.0))
    assert [(mark.round, mark.cell, mark.sign) for mark in (one, two)] == [
        (2, tcp(8), Sign.RATE),
        (5, tcp(8), Sign.RATE),
    ]
    assert one.value == pytest.approx(14 * GBIT, rel=0.01)
    assert (one.limit, one.n) == (10 * GBIT, 8)


@pytest.mark.parametrize("gbit", [9.41, 10.0, 10.25])
def test_a_full_line_is_not_marked(gbit: float) -> None:
    assert found({}, {tcp(1): gbit * GBIT}, network(None, 10.0)) == ()


@pytest.mark.parametrize("path", ["zones", "regions", "loopback"])
def test_a_pair_that_cannot_be_on_one_host_is_not_marked(path: str) -> None:
    assert found({}, {tcp(1, path): 90 * GBIT}, network(None, 10.0)) == ()


def test_the_far_end_of_an_isolated_victim_is_another_machine() -> None:
    assert found({}, {tcp(1, more="neighbour=none;"): 90 * GBIT}, network(None, 10.0)) == ()


@pytest.mark.parametrize(
    "change",
    [
        {"runner": "netns"},
        {"service": Service(ServiceKind.BLOB, "aws", "eu")},
    ],
)
def test_known_hosts_and_services_have_no_marks(change: dict[str, object]) -> None:
    assert found({}, {tcp(1): 90 * GBIT}, network(None, 10.0), change=change) == ()


def test_without_a_promise_nothing_is_marked() -> None:
    assert found({}, {tcp(1): 90 * GBIT}) == ()


def test_a_round_trip_far_below_the_others_is_a_sign_of_its_own() -> None:
    cell = RTT % "zone"
    (one,) = found({cell: {3: 4e-5}}, {cell: 1e-4})
    assert (one.round, one.sign, one.n) == (3, Sign.ROUND_TRIP, 8)
    assert one.limit == pytest.approx(5e-5, rel=0.1)
    assert found({cell: {3: 6e-5}}, {cell: 1e-4}) == ()
    assert found({cell: {3: 4e-5}}, {cell: 1e-4}, rounds=5) == ()
    anywhere = RTT % "region"
    assert found({anywhere: {3: 4e-5}}, {anywhere: 1e-4}) == ()


@given(st.sets(st.integers(0, 7)), st.floats(1.05, 50.0))
def test_exactly_the_planted_launches_are_marked(rounds: set[int], factor: float) -> None:
    planted = dict.fromkeys(rounds, factor * 10 * GBIT)
    marks = found({tcp(1): planted}, {tcp(1): 9 * GBIT}, network(None, 10.0))
    assert {one.round for one in marks} == rounds
