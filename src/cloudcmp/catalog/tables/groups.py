"""Groups of machines: exchanges of data behind a barrier, and senders that share a receiver."""

from collections.abc import Mapping

from cloudcmp.catalog.tables.base import choice, duration, size
from cloudcmp.model.cast import Role
from cloudcmp.model.metric import Better, Group, Metric, Param, ParamKind, Probe, Reduce

_EXCHANGE = ("op", "path", "peers", "size_bytes")
_SHARE = ("path", "peers", "size_bytes")
_PATH = Param(
    "path",
    ParamKind.TEXT,
    "loopback",
    "where the agents are: loopback, zone (in one), zones (in two), region (in any of its zones), regions (in two), or a word of your own",
)
_LOOPBACK = "On path=loopback: any network at all."
_TICK_BYTES = 8  # a peer arrives at a barrier, and is released
_WARMUP = 1  # rounds that are not reported
_NUMBER_BYTES = 4
_BYTES_PER_S, _ROUND_S = 1e8, 1e-3  # the assumed speed of a peer's network in each direction, and of a barrier


def exchange_bytes(params: Mapping[str, str]) -> int:
    """The bytes that all peers of an `exchange` together send in a trial, from its filled parameters."""
    peers, vector = int(params["peers"]), int(params["size_bytes"])
    vectors = 2 * (peers - 1) if params["op"] == "allreduce" else peers * (peers - 1)
    return (int(params["rounds"]) + _WARMUP) * (vectors * vector + 2 * _TICK_BYTES * (peers - 1))


def _exchange_s(params: Mapping[str, str]) -> float:
    rounds, peers = int(params["rounds"]) + _WARMUP, int(params["peers"])
    return rounds * _ROUND_S + exchange_bytes(params) / peers / _BYTES_PER_S


def _exchange_refusal(params: Mapping[str, str]) -> tuple[str, str]:
    if params["op"] == "allreduce" and int(params["size_bytes"]) % _NUMBER_BYTES:
        what = f"a vector of {params['size_bytes']} B is not one of numbers of {_NUMBER_BYTES} B"
        return what, f"give a size_bytes that is a multiple of {_NUMBER_BYTES}"
    return "", ""


METRICS = (
    Metric("exchange_bytes_per_s", "B/s", Better.HIGHER, Group.NETWORK, Reduce.MEDIAN, _EXCHANGE,
           "Algorithm bandwidth of a round of a group's exchange, as nccl-tests define it: peers * size_bytes (alltoall) "
           "or size_bytes (allreduce) over the time of the slowest peer. Their bus bandwidth is this times (n - 1) / n "
           "or 2 (n - 1) / n.",
           f"The barrier before it; more than one thread a peer. {_LOOPBACK}", 4e8),
    Metric("exchange_s", "s", Better.LOWER, Group.NETWORK, Reduce.PERCENTILE, ("op", "path", "peers", "percentile", "size_bytes"),
           "Time of a round of a group's exchange, that of its slowest peer, at a percentile of rounds.",
           f"The barrier before it, and how far apart the peers start. {_LOOPBACK}", 1e-2),
    Metric("straggler_ratio", "ratio", Better.LOWER, Group.NETWORK, Reduce.MEDIAN, _EXCHANGE,
           "Straggler factor: the slowest peer's time over the median of all peers' times, of one round.",
           f"Which peer it was. {_LOOPBACK}", 1.1),
    Metric("fairness_ratio", "ratio", Better.HIGHER, Group.NETWORK, Reduce.MEDIAN, _SHARE,
           "Jain's fairness index of the rates of senders that send to one receiver at once: (sum x)^2 / (n sum x^2), "
           "1 if all are equal, 1/n if one has everything.",
           f"What they share: the receiver, or the network before it. {_LOOPBACK}", 0.95),
    Metric("sender_bytes_per_s", "B/s", Better.HIGHER, Group.NETWORK, Reduce.MEDIAN, ("path", "peers", "sender", "size_bytes"),
           "Payload received a second from one of several senders at once: from the one whose first byte came first, or last.",
           f"The time before all of them send. {_LOOPBACK}", 3e8, free=(("sender", ("first", "last")),)),
)  # fmt: skip

PROBES = (
    Probe("exchange", ("exchange_bytes_per_s", "exchange_s", "straggler_ratio"),
          (choice("op", "alltoall allreduce", "what is exchanged: other bytes with each peer, or the sum of a vector by a ring"),
           Param("peers", ParamKind.COUNT, "4", "machines of the group, 2 to 64"), _PATH,
           Param("rounds", ParamKind.COUNT, "20", "exchanges, each behind a barrier", short="5"),
           size("1048576", "bytes for each other peer, or of the vector (numbers of 4 bytes)")),
          "A group that exchanges data round after round, every peer with every other or around a ring; all that comes is verified.",
          "The barriers; on loopback: any network at all.", 1.0, (Role.PEER,), expected_s=_exchange_s,
          refusal=_exchange_refusal, no_peer="the common tools need MPI on every machine"),
    Probe("share", ("fairness_ratio", "sender_bytes_per_s"),
          (Param("peers", ParamKind.COUNT, "3", "the receiver and its senders, 3 to 64"), duration(),
           Param("warmup_s", ParamKind.SECONDS, "0.1", "not measured, after the last sender's first byte"), _PATH,
           size("131072", "bytes of one write")),
          "Senders that send to one receiver at once, over one TCP connection each.",
          "Senders that start far apart; on loopback: any network at all.", 1.0, (Role.PEER,),
          no_peer="no common tool starts several machines at once and counts the same seconds of each"),
)  # fmt: skip

SUITES = ()
