"""What clients felt, from accounts of connections: each part against its own arithmetic and a simulation."""

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloudcmp.analysis.felt import REPEATS, answer_s, felt_times
from cloudcmp.model.passive import ConnectionInfo, Counters, ServerWatch, Unseen

# A request came 100 ms ago, was answered after 60 ms, and the answer was acknowledged 10 ms ago.
ONE = ConnectionInfo(
    port=80, rtt_s=0.03, min_rtt_s=0.03, rto_s=0.23, last_received_s=0.1, last_sent_s=0.04, last_acked_s=0.01,
    busy_s=0.03, bytes_received=100, bytes_sent=2000, bytes_again=0, data_received=1, data_sent=2, retransmits=0,
    needless_retransmits=0, ended=True,
)  # fmt: skip
NO_COUNTERS = Counters(None, None, None, None)


def seen(
    *connections: ConnectionInfo, counters: Counters = NO_COUNTERS, every_end: bool = True, tick_s: float = 0.0
) -> ServerWatch:
    return ServerWatch(80, 10.0, connections, counters, ((0, 128), (4, 128)), every_end, False, tick_s)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, 0.09),
        ({"last_acked_s": 0.0, "busy_s": 0.02}, 0.08),  # the client closed later than it had its answer
        ({"last_sent_s": 0.01, "busy_s": 0.09}, 0.09),  # a long answer, of which only the last part went late
        ({"data_received": 2, "busy_s": 5.0, "last_acked_s": 0.0}, 0.09),  # earlier requests: a round trip
        ({"data_received": 2, "retransmits": 1}, None),
        ({"last_received_s": 0.02}, None),  # something came after the last answer: it is not answered yet
        ({"last_acked_s": 0.05}, None),  # the answer is not acknowledged yet
        ({"data_sent": 0}, None),
        ({"data_received": 0}, None),
    ],
)
def test_the_answer_time_is_the_smaller_of_two_bounds(change: dict[str, float], expected: float | None) -> None:
    found = answer_s(replace(ONE, **change))
    assert found is None if expected is None else found == pytest.approx(expected)


def test_without_losses_the_mean_is_connect_and_answer() -> None:
    found = felt_times(seen(*[replace(ONE, rtt_s=0.03 + at / 1e4) for at in range(20)], replace(ONE, data_sent=0)))
    assert found.mean is not None
    assert found.mean.value == pytest.approx(0.03 + 0.09)
    assert (found.n, found.unused, found.unseen) == (20, 1, None)
    assert (found.queue_mean, found.queue_most, found.queue_limit) == (2.0, 4, 128)
    assert Unseen.NO_COUNTERS in found.cannot_see
    assert found.handshake_wait is not None
    assert found.handshake_wait.value == 0.0
    assert found.handshake_wait.bounds is not None
    assert found.handshake_wait.bounds.high > 0.05  # of 40 segments, none lost: up to 9 % may be


def test_no_interval_of_a_time_begins_below_zero() -> None:
    found = felt_times(seen(*[ONE] * 15, replace(ONE, last_received_s=9.0, last_sent_s=0.04, last_acked_s=0.01)))
    for one in (found.mean, found.answer, found.connect):
        assert one is not None
        assert one.bounds is not None
        assert 0 <= one.bounds.low <= one.value


def test_needless_repeats_are_no_losses() -> None:
    lossy = [replace(ONE, bytes_again=1000)] * 10 + [ONE] * 90
    found = felt_times(seen(*lossy))
    assert found.loss is not None
    assert (found.loss.value, found.loss.n) == (10 / 200, 200)
    needless = felt_times(seen(*[replace(one, needless_retransmits=1) if one.bytes_again else one for one in lossy]))
    assert needless.loss is not None
    assert needless.loss.value == 0.0


@pytest.mark.parametrize("share", [0.0, 0.02, 0.2])
def test_the_wait_for_handshakes_is_that_of_a_simulation(share: float) -> None:
    """A client whose SYN or its answer is lost tries again after 1, 2, 4, ... seconds."""
    lost = round(share * 1000)
    lossy = [replace(ONE, data_sent=1, bytes_again=2000)] * lost + [replace(ONE, data_sent=1)] * (1000 - lost)
    found = felt_times(seen(*lossy)).handshake_wait
    draw, total, n = random.Random(3), 0.0, 40_000
    for _ in range(n):
        waits = 0.0
        for repeat in range(REPEATS + 1):
            if draw.random() >= share and draw.random() >= share:
                total += waits
                break
            waits += 2.0**repeat
    assert found is not None
    assert found.value == pytest.approx(total / n, rel=0.05, abs=1e-9)


def test_drops_of_the_server_widen_the_interval_to_both_kinds() -> None:
    counters = Counters(accepted=100, listen_drops=50, listen_overflows=50, handshake_retransmits=0)
    found = felt_times(seen(*[ONE] * 100, counters=counters))
    assert found.refused_share is not None
    assert found.refused_share.value == pytest.approx(1 / 3)
    assert found.handshake_wait is not None
    assert found.handshake_wait.bounds is not None
    early = sum((1 / 3) ** k * (2 / 3) * 0.23 * (2**k - 1) for k in range(1, REPEATS + 1))
    assert found.handshake_wait.bounds.low < early < found.handshake_wait.value < found.handshake_wait.bounds.high
    assert {Unseen.DROPPED_STAGE, Unseen.OTHER_PORTS} <= set(found.cannot_see)
    assert found.accept_wait_s == pytest.approx(2.0 * 10 / 100)


def test_a_server_without_requests_gives_nothing() -> None:
    found = felt_times(replace(seen(every_end=False), queue=()))
    assert (found.n, found.mean, found.loss, found.queue_mean) == (0, None, None, None)
    assert Unseen.SHORT_CONNECTIONS in found.cannot_see


@given(
    st.lists(
        st.builds(
            ConnectionInfo, st.just(80), *[st.floats(0, 100)] * 7, st.integers(0, 10**9), st.integers(0, 10**9),
            st.integers(0, 10**9), *[st.integers(0, 10**6)] * 4, st.booleans(),
        ),
        max_size=6,
    )
)  # fmt: skip
def test_any_accounts_give_figures_that_are_possible(connections: list[ConnectionInfo]) -> None:
    found = felt_times(seen(*connections))
    assert found.n + found.unused == len(connections)
    for one in (found.loss, found.waited_share):
        assert one is None or 0 <= one.value <= 1
    for one in (found.mean, found.answer, found.handshake_wait, found.request_wait):
        assert one is None or one.value >= 0


def test_intervals_of_answer_times_are_no_narrower_than_a_tick_of_the_kernel() -> None:
    exact, found = (felt_times(seen(*[ONE] * 50, tick_s=tick)) for tick in (0.0, 0.004))
    for name in ("mean", "median", "p95", "answer"):
        before, after = getattr(exact, name), getattr(found, name)
        if before.bounds is not None:
            assert after.bounds.low == pytest.approx(before.bounds.low - 0.004), name
            assert after.bounds.high == pytest.approx(before.bounds.high + 0.004), name
        assert after.value == before.value
    assert found.median is not None
    assert found.median.bounds is not None
    assert (found.connect, found.loss, found.tick_s) == (exact.connect, exact.loss, 0.004)
