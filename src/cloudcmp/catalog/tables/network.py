"""Bulk transfer, datagrams and round trips between two agents; a barrier of several."""

from cloudcmp.catalog.tables.base import INTERVAL, PEERS, choice, duration, size, suite
from cloudcmp.model.cast import DIRECTION, INBOUND, Role
from cloudcmp.model.metric import Better, Group, Metric, Param, ParamKind, Probe, Reduce

_UDP = (DIRECTION, "path", "rate_bytes_per_s", "size_bytes")
_DIRECTION = Param(
    DIRECTION, ParamKind.CHOICE, "out", "which way it goes, seen from the first machine", ("out", INBOUND), implied=True
)
_THROTTLE = ("path", "streams")
_PATH = Param(
    "path",
    ParamKind.TEXT,
    "loopback",
    "where the agents are: loopback, zone (in one), zones (in two), region (in any of its zones), regions (in two), or a word of your own",
)

METRICS = (
    Metric("tcp_bytes_per_s", "B/s", Better.HIGHER, Group.NETWORK, Reduce.TOTAL,
           (DIRECTION, "path", "size_bytes", "streams", "window_bytes"),
           "Payload received a second over TCP between two agents; `path` says where they were.",
           "On path=loopback: any network at all.", 6e8),
    Metric("udp_bytes_per_s", "B/s", Better.HIGHER, Group.NETWORK, Reduce.TOTAL, _UDP,
           "Payload received a second over UDP, without what was lost.",
           "On path=loopback: any network at all.", 3e8),
    Metric("udp_loss_ratio", "ratio", Better.LOWER, Group.NETWORK, Reduce.MEDIAN, _UDP,
           "Share of the sent datagrams of a whole trial that were not received.",
           "Datagrams that the sender itself could not send.", 1e-2, signed=True),
    Metric("udp_jitter_s", "s", Better.LOWER, Group.NETWORK, Reduce.MEDIAN, _UDP,
           "Interarrival jitter of RFC 3550, section 6.4.1.",
           "One-way delay itself; datagrams below 20 B, which carry no time.", 2e-5, signed=True),
    Metric("udp_reordered_ratio", "ratio", Better.LOWER, Group.NETWORK, Reduce.MEDIAN, _UDP,
           "Share of the received datagrams of a whole trial that came after one sent later (RFC 4737, section 3.3).",
           "How far they were displaced; datagrams below 20 B, which carry no number.", 1e-3, signed=True),
    Metric("rtt_s", "s", Better.LOWER, Group.NETWORK, Reduce.PERCENTILE, ("path", "percentile", "protocol", "size_bytes"),
           "Round-trip time of a small message to an agent that echoes it, one in flight, at a percentile.",
           "Connecting; on path=loopback: any network at all.", 2e-4),
    Metric("connect_op_per_s", "op/s", Better.HIGHER, Group.NETWORK, Reduce.TOTAL, ("path",),
           "TCP connections set up a second, one after the other.",
           "TLS, names, several at once; on path=loopback: any network at all.", 5e3),
    Metric("connect_s", "s", Better.LOWER, Group.NETWORK, Reduce.PERCENTILE, ("path", "percentile"),
           "Time from the call until a TCP connection is established, at a percentile.",
           "TLS, names; on path=loopback: any network at all.", 2e-4),
    Metric("burst_bytes_per_s", "B/s", Better.HIGHER, Group.NETWORK, Reduce.MEDIAN, _THROTTLE,
           "Payload received a second over TCP until a token bucket on the path is empty, or in the whole trial if none is seen.",
           "How long it lasts: that is the bucket's size; on path=loopback: any network at all.", 1.2e9),
    Metric("bucket_bytes", "B", Better.HIGHER, Group.NETWORK, Reduce.MEDIAN, _THROTTLE,
           "Size of a token bucket on the path, (burst - sustained) x time of the burst (RFC 2697); no value if none is seen.",
           "A bucket that was not full when the trial began; on path=loopback: any network at all.", 1e10, sparse=True),
    Metric("sustained_bytes_per_s", "B/s", Better.HIGHER, Group.NETWORK, Reduce.MEDIAN, _THROTTLE,
           "Payload received a second over TCP after a token bucket on the path is empty; no value if none is seen.",
           "Why the rate fell; on path=loopback: any network at all.", 1.2e8, sparse=True),
    Metric("start_skew_s", "s", Better.LOWER, Group.NETWORK, Reduce.MEDIAN, ("path", "peers"),
           "Time from the first to the last start of the machines of a group that leave one barrier together.",
           "The time that a barrier takes; skews below the note clock_error_s; on path=loopback: any network at all.", 1e-4),
)  # fmt: skip

PROBES = (
    Probe("tcp", ("tcp_bytes_per_s",),
          (Param("streams", ParamKind.COUNT, "1", "connections at once"), duration(), INTERVAL,
           Param("warmup_s", ParamKind.SECONDS, "0.1", "not measured, first"), _PATH, size("131072", "bytes of one write"),
           Param("window_bytes", ParamKind.BYTES, "default", "buffers of both ends, which bound TCP's window; default: the system's", ("default",),
                 implied=True), _DIRECTION),
          "Bulk transfer from the client agent to the server agent.", "On loopback: any network at all.", 1.0, PEERS),
    Probe("udp", ("udp_bytes_per_s", "udp_loss_ratio", "udp_jitter_s", "udp_reordered_ratio"),
          (size("1448", "payload of a datagram"), duration(), INTERVAL,
           Param("rate_bytes_per_s", ParamKind.RATE, "max", "sending rate; max: as fast as it goes", ("max",)), _PATH, _DIRECTION),
          "Datagrams from the client agent to the server agent, counted at both ends; those below 20 B give no jitter and no order.",
          "On loopback: any network at all.", 1.0, PEERS),
    Probe("rtt", ("rtt_s",),
          (choice("protocol", "tcp udp", "transport"), size("64"),
           Param("interval_s", ParamKind.SECONDS, "0", "time between messages; 0: each follows the last"), duration(), _PATH),
          "Echo of a small message, one in flight.", "Connecting; on loopback: any network at all.", 1.0, PEERS),
    Probe("connect", ("connect_op_per_s", "connect_s"), (duration(), INTERVAL, _PATH),
          "TCP connections to a port that accepts and never answers, one after the other, each reset at once.",
          "TLS, names; on loopback: any network at all.", 1.0, PEERS,
          no_peer="common tools set up connections to send something over them"),
    Probe("throttle", ("burst_bytes_per_s", "bucket_bytes", "sustained_bytes_per_s"),
          (Param("streams", ParamKind.COUNT, "1", "connections at once"),
           Param("duration_s", ParamKind.SECONDS, "60", "longest time; a trial that knows the sustained rate ends sooner"),
           Param("interval_s", ParamKind.SECONDS, "0.05", "bytes are counted in intervals of this length"),
           Param("hold_s", ParamKind.SECONDS, "2", "time for which a lower rate must last to be the sustained one"),
           Param("limit_bytes", ParamKind.BYTES, "none", "the most that is sent", ("none",)), _PATH),
          "Bulk transfer that finds a token bucket: how fast the network is at first, for how many bytes, and then.",
          "Why a rate falls and stays low; on loopback: any network at all.", 60.0, PEERS,
          no_peer="common tools show a rate for each interval, and find no bucket in them"),
    Probe("barrier", ("start_skew_s",),
          (Param("peers", ParamKind.COUNT, "4", "machines of the group, 2 to 64"), _PATH,
           Param("rounds", ParamKind.COUNT, "100", "barriers, one after the other", short="20")),
          "A group that meets at a barrier: one peer waits for all others, then releases them one after the other.",
          "The time that a barrier takes; on loopback: any network at all.", 1.0, (Role.PEER,),
          no_peer="no common tool tells how far apart machines start"),
)  # fmt: skip

SUITES = (
    suite("loopback", "TCP, UDP and round trips inside one machine: says nothing of a network.",
           ("tcp", {}), ("udp", {}), ("rtt", {"protocol": "tcp udp"})),
    suite("network", "TCP, UDP and round trips between two machines of one zone.",
           ("tcp", {"path": "zone"}), ("udp", {"path": "zone"}), ("rtt", {"path": "zone"})),
)  # fmt: skip
