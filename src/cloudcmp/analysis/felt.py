"""Estimates what the clients of a server felt, from what its kernel accounts for their connections.

The model of Olshefski, Nieh and Agrawal, "Using Certes to infer client response time at the web server", ACM TOCS
22(1), 2004: a client feels the set-up of the connection, the time until its answer is complete, and the waits for
handshakes that were dropped or lost, which its kernel repeats after 1, 3, 7, ... seconds (RFC 6298; 3 s in the paper).
Certes counts SYNs in the kernel; here the kernel's own accounts of each connection (TCP_INFO) take their place.
"""

import math
from collections.abc import Sequence

from cloudcmp.model.passive import ConnectionInfo, FeltTimes, Figure, ServerWatch, Unseen
from cloudcmp.model.result import Bounds
from cloudcmp.stats.describe import mean, quantile_interval, quantiles, share_interval, t_interval

HANDSHAKE_S = 1.0
"""The first wait for the answer to a handshake (RFC 6298, section 2.1)."""
REPEATS = 6
"""How often a handshake or a request is repeated: `tcp_syn_retries` of Linux."""


def felt_times(seen: ServerWatch) -> FeltTimes:
    """The estimate for the connections of a server.

    Losses on the way to the server cannot be seen from it, and are taken to be as many as on the way back. Intervals
    are those of independent connections; the ends of waits are those of the losses.
    """
    used = [(one, answer) for one in seen.connections if (answer := answer_s(one)) is not None]
    connects, answers = [one.min_rtt_s for one, _ in used], [answer for _, answer in used]
    visible = [connect + answer for connect, answer in zip(connects, answers, strict=True)]
    tick = seen.tick_s
    loss, refused = _loss(seen.connections), _refused(seen)
    waited = _waited(loss, refused)
    rto_s = mean([one.rto_s for one, _ in used]) if used else 0.0
    handshake = None if waited is None or loss is None else _handshake_wait(waited, loss, refused, rto_s)
    request = None if loss is None or not used else _wait(loss, rto_s)
    queue = [waiting for waiting, _ in seen.queue]
    accepted = seen.counters.accepted
    depth = mean(queue) if queue else None
    return FeltTimes(
        port=seen.port, seconds=seen.seconds, tick_s=tick, n=len(used),
        mean=_total(_to_a_tick(_mean(visible), tick), handshake, request),
        median=_to_a_tick(_quantile(visible, 0.5), tick), p95=_to_a_tick(_quantile(visible, 0.95), tick),
        connect=_mean(connects), answer=_to_a_tick(_mean(answers), tick),
        handshake_wait=handshake, request_wait=request, loss=loss, refused_share=refused, waited_share=waited,
        queue_mean=depth, queue_most=max(queue, default=None),
        queue_limit=max((most for _, most in seen.queue), default=None),
        accept_wait_s=None if depth is None or not accepted else depth * seen.seconds / accepted,
        unused=len(seen.connections) - len(used),
        unseen=None if accepted is None else max(0, accepted - len(seen.connections)),
        cannot_see=tuple(_unseen(seen)),
    )  # fmt: skip


def answer_s(one: ConnectionInfo) -> float | None:
    """The time from the last request of a connection until its answer had arrived; None if its accounts do not tell.

    Two bounds from above, of which the smaller is returned: from the last data that came to the last acknowledgement,
    which is later if the client kept the connection open; and from there to the last data that was sent, plus the time
    in which data was under way, which counts a long answer twice. Where more than one segment came, the latter is
    replaced by a round trip, because earlier answers were under way too. Not the time of a client that reads slowly.
    """
    until_sent = one.last_received_s - one.last_sent_s
    until_acked = one.last_received_s - one.last_acked_s
    if not one.data_received or not one.data_sent or until_sent < 0 or one.last_acked_s > one.last_sent_s:
        return None
    if one.data_received == 1:
        return min(until_acked, until_sent + one.busy_s)
    return min(until_acked, until_sent + one.rtt_s) if not one.retransmits else None


def _loss(connections: Sequence[ConnectionInfo]) -> Figure | None:
    """The share of data towards the clients that was lost: what was sent again with need, in segments.

    Counted by bytes, because what else is sent again (handshakes, ends) is so for losses in the other direction too.
    """
    segments, again = 0, 0.0
    for one in connections:
        if one.data_sent and one.bytes_sent:
            segments += one.data_sent
            again += max(0.0, one.bytes_again / one.bytes_sent * one.data_sent - one.needless_retransmits)
    return _share(min(round(again), segments), segments)


def _refused(seen: ServerWatch) -> Figure | None:
    """The share of handshakes that the server dropped, because too many connections waited."""
    dropped, accepted = seen.counters.listen_drops, seen.counters.accepted
    return None if dropped is None or accepted is None else _share(dropped, dropped + accepted)


def _waited(loss: Figure | None, refused: Figure | None) -> Figure | None:
    """The share of attempts to connect after which a client waits: SYN or answer lost, or dropped by the server."""
    if loss is None:
        return None

    def share(lost: float, dropped: float) -> float:
        return 1 - (1 - lost) ** 2 * (1 - dropped)

    here = Figure(0.0, Bounds(0.0, 0.0), 0) if refused is None else refused
    bounds = None
    if loss.bounds is not None and here.bounds is not None:
        bounds = Bounds(share(loss.bounds.low, here.bounds.low), share(loss.bounds.high, here.bounds.high))
    return Figure(share(loss.value, here.value), bounds, loss.n)


def _handshake_wait(waited: Figure, loss: Figure, refused: Figure | None, rto_s: float) -> Figure:
    """The expected wait for handshakes: as if each that was dropped or lost were repeated after 1 s, 2 s, 4 s, ...

    The kernel also counts as dropped what it drops at the end of a handshake. The client then sends its request again
    after a retransmission timeout: the lower end of the interval takes all drops to be such ones.
    """
    whole = _wait(waited, HANDSHAKE_S)
    if whole.bounds is None or refused is None or not refused.value:
        return whole
    shares = [_wait(_waited(loss, None) or loss, HANDSHAKE_S), _wait(refused, rto_s)]
    low = math.fsum(one.value if one.bounds is None else one.bounds.low for one in shares)
    return Figure(whole.value, Bounds(min(low, whole.bounds.low), whole.bounds.high), whole.n)


def _wait(lost: Figure, first_s: float) -> Figure:
    """The expected wait for what is lost with a probability each time, and repeated after times that double.

    A client that gives up after `REPEATS` repeats is not counted, so a share near 1 gives too small a wait.
    """

    def expected(p: float) -> float:
        return math.fsum(p**k * (1 - p) * first_s * (2**k - 1) for k in range(1, REPEATS + 1))

    bounds = None if lost.bounds is None else Bounds(expected(lost.bounds.low), expected(lost.bounds.high))
    return Figure(expected(lost.value), bounds, lost.n)


def _total(visible: Figure | None, *waits: Figure | None) -> Figure | None:
    """The sum of means; its ends are the sums of their ends, so that it covers at least as often as they do."""
    if visible is None:
        return None
    known = [one for one in waits if one is not None]
    value = visible.value + sum(one.value for one in known)
    if visible.bounds is None:
        return Figure(value, None, visible.n)
    low = visible.bounds.low + sum(one.value if one.bounds is None else one.bounds.low for one in known)
    high = visible.bounds.high + sum(one.value if one.bounds is None else one.bounds.high for one in known)
    return Figure(value, Bounds(low, high), visible.n)


def _mean(values: Sequence[float]) -> Figure | None:
    if not values:
        return None
    found = t_interval(values)
    # No mean of times is below zero, which a symmetric interval of few does not know.
    return Figure(mean(values), None if found is None else Bounds(max(0.0, found.low), found.high), len(values))


def _quantile(values: Sequence[float], p: float) -> Figure | None:
    if not values:
        return None
    found = quantile_interval(values, p)
    return Figure(quantiles(values, [p])[0], None if found is None else Bounds(found.low, found.high), len(values))


def _to_a_tick(found: Figure | None, tick_s: float) -> Figure | None:
    """A figure of answer times, with its interval a tick wider on both sides: each time is known to a tick."""
    if found is None or found.bounds is None:
        return found
    bounds = Bounds(max(0.0, found.bounds.low - tick_s), found.bounds.high + tick_s)
    return Figure(found.value, bounds, found.n)


def _share(k: int, n: int) -> Figure | None:
    if not n:
        return None
    found = share_interval(k, n)
    return Figure(k / n, Bounds(found.low, found.high), n)


def _unseen(seen: ServerWatch) -> list[Unseen]:
    found = [Unseen.WAY_IN, Unseen.NAMES_AND_TLS, Unseen.EARLIER_REQUESTS]
    if not seen.every_end:
        found.append(Unseen.SHORT_CONNECTIONS)
    if seen.counters.listen_drops:
        found.append(Unseen.DROPPED_STAGE)
    if seen.lost:
        found.append(Unseen.LOST_REPORTS)
    found.append(Unseen.NO_COUNTERS if seen.counters.accepted is None else Unseen.OTHER_PORTS)
    return found
