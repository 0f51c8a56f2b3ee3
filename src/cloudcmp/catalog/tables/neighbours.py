"""The loads of a neighbour, which work beside another probe's measurement."""

from collections.abc import Mapping

from cloudcmp.catalog.tables.base import INTERVAL, PEERS, choice, duration, size, threads
from cloudcmp.model.cast import FULL_RATE, NETWORK_LOADS, Role
from cloudcmp.model.metric import Better, Group, Metric, Param, ParamKind, Probe, Reduce, Suite

_OF_MACHINES = {
    "cpu": "arithmetic in registers",
    "memory": "the triad over arrays that no cache holds",
    "disk_read": "sequential reads of 1 MiB, past the page cache",
    "disk_write": "sequential writes of 1 MiB, past the page cache",
    "disk_mixed": "50 MiB written and flushed, then 50 MiB read, neither kept in the page cache",
    "small_files": "files of 1 to 20 KiB: created, flushed, read, removed",
}
LOADS: Mapping[str, str] = _OF_MACHINES | NETWORK_LOADS
"""What each load does. The data of a neighbour is random, and not that of the measured machine."""

LOAD_START_S = 0.6
"""The time in which a neighbour makes its arrays and files."""

# A load that stands still for an interval is judged by how long it does: a rate of 0 is no fault of its stream.
METRICS: tuple[Metric, ...] = (
    Metric("neighbour_op_per_s", "op/s", Better.HIGHER, Group.COMPUTE, Reduce.TOTAL, ("load", "threads"),
           "Steps of a neighbour's load a second: they show that it worked.",
           "Anything comparable: a step is another one for each load.", 1e3, signed=True),
    Metric("traffic_bytes_per_s", "B/s", Better.HIGHER, Group.NETWORK, Reduce.TOTAL,
           ("path", "rate_bytes_per_s", "size_bytes"),
           "Payload that a neighbour's datagrams brought a second: it shows that the load worked.",
           "What the network can carry: udp does.", 1e8, signed=True),
)  # fmt: skip

PROBES = (
    Probe("neighbour", ("neighbour_op_per_s",),
          (choice("load", " ".join(_OF_MACHINES), "what it does"), threads(), duration(), INTERVAL),
          "A load beside a measurement; a study asks for it under `isolation`.",
          "The measured machine, whose probe runs beside it.", 1.0, (Role.NEIGHBOUR,),
          no_peer="it measures nothing by itself"),
    Probe("traffic", ("traffic_bytes_per_s",),
          (size("1448", "payload of a datagram"), duration(), INTERVAL,
           Param("rate_bytes_per_s", ParamKind.RATE, FULL_RATE, "sending rate; max: as fast as it goes", (FULL_RATE,)),
           Param("path", ParamKind.TEXT, "loopback", "where the agents are: loopback, zone (in one), zones (in two), region (in any of its zones), regions (in two), or a word of your own")),
          "A load on the network beside a measurement; a study asks for it under `isolation`.",
          "The measured machine, whose probe runs beside it.", 1.0, PEERS,
          no_peer="it measures nothing by itself"),
)  # fmt: skip

SUITES: tuple[Suite, ...] = ()
