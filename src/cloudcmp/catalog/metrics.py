"""The table of metrics: every quantity that cloudcmp compares, with its unit and direction.

`typical` is a plausible magnitude, used only to draw what a simulated study does not plant.
"""

from cloudcmp.model.metric import Better, Group, Metric, Reduce

_UP, _DOWN = Better.HIGHER, Better.LOWER
_MEDIAN, _TOTAL, _PERCENTILE = Reduce.MEDIAN, Reduce.TOTAL, Reduce.PERCENTILE
_DISK = ("block_bytes", "depth", "durability", "op", "pattern", "threads")
_DISK_PERCENTILE = ("block_bytes", "depth", "durability", "op", "pattern", "percentile", "threads")
_UDP = ("path", "rate_bytes_per_s", "size_bytes")


def _compute(
    name: str,
    unit: str,
    better: Better,
    reduce: Reduce,
    params: tuple[str, ...],
    typical: float,
    doc: str,
    excludes: str,
) -> Metric:
    return Metric(name, unit, better, Group.COMPUTE, reduce, params, doc, excludes, typical)


_COMPUTE = (
    _compute("fma_flop_per_s", "flop/s", _UP, _TOTAL, ("precision", "threads"), 5e10,
             "Peak floating-point rate of independent fused multiply-adds; one of them counts as two operations.",
             "Memory, dependent chains, and what a compiler makes of ordinary code."),
    _compute("int_op_per_s", "op/s", _UP, _TOTAL, ("threads",), 5e10,
             "Peak rate of independent 64-bit integer operations; one lane's operation counts as one.",
             "Branches, division and memory."),
    _compute("lu_flop_per_s", "flop/s", _UP, _MEDIAN, ("n", "threads"), 2e10,
             "Rate of solving a dense system by LU with partial pivoting, (2n^3/3 + 2n^2) operations in a solve.",
             "Systems larger than memory and sparse ones."),
    _compute("triad_bytes_per_s", "B/s", _UP, _TOTAL, ("store", "threads"), 1.5e10,
             "STREAM triad a = b + q*c on arrays beyond the cache, 24 bytes counted for an element.",
             "Random access, and the write-allocate traffic of plain stores."),
    _compute("chase_latency_s", "s", _DOWN, _MEDIAN, ("pages", "size_bytes"), 8e-8,
             "Time of one dependent load in a random cycle through a working set of the given size and page size.",
             "Bandwidth and prefetching."),
    _compute("disk_op_per_s", "op/s", _UP, _TOTAL, _DISK, 1e4,
             "Completed input/output operations a second on a file of a fresh launch.",
             "The page cache, unless durability is `cached`; metadata operations."),
    _compute("disk_bytes_per_s", "B/s", _UP, _TOTAL, _DISK, 2e8,
             "Payload read or written a second on a file of a fresh launch.",
             "The page cache, unless durability is `cached`; metadata operations."),
    _compute("disk_latency_s", "s", _DOWN, _PERCENTILE, _DISK_PERCENTILE, 5e-4,
             "Time from issuing an input/output operation to its completion, at a percentile.",
             "Queueing before the operation is issued."),
    _compute("task_time_s", "s", _DOWN, _MEDIAN, ("task", "threads"), 8.0,
             "Finishing time of one benchmark task; with N threads at once, the amortised time of one.",
             "Start-up of the machine and of the agent."),
    _compute("unixbench_index", "index", _UP, _MEDIAN, ("copies",), 900.0,
             "Geometric mean of the twelve UnixBench tests, each against its published baseline, times ten.",
             "Graphics; results of other versions or compilers are not comparable."),
    _compute("dbench_bytes_per_s", "B/s", _UP, _MEDIAN, ("clients", "mode"), 1e8,
             "Bytes read and written a second by N clients that replay a file server's load.",
             "The disk itself where the mode is not synchronous."),
    _compute("iozone_bytes_per_s", "B/s", _UP, _MEDIAN, ("durability", "file_bytes", "op", "record_bytes", "threads"), 6e7,
             "Bytes moved a second by one file operation, each thread on a file of its own.",
             "The disk itself where the page cache serves the reads."),
    _compute("npb_op_per_s", "op/s", _UP, _MEDIAN, ("benchmark", "class", "threads"), 1e9,
             "Rate of a NAS parallel benchmark by its own operation count, verified by its own norms.",
             "More than one machine."),
    _compute("twolf_time_s", "s", _DOWN, _MEDIAN, ("threads",), 300.0,
             "Time of a standard-cell placement by simulated annealing, a task like SPEC's twolf, not SPEC's.",
             "Anything that SPEC publishes."),
    _compute("n_index", "index", _UP, _MEDIAN, ("iterations", "loops"), 100.0,
             "Computing power as Rodamilans' N: floating-point loops timed and set against the processor's clock.",
             "Memory, threads and vector instructions."),
    _compute("pi_time_s", "s", _DOWN, _MEDIAN, ("digits",), 1.0,
             "Time to compute decimal digits of pi on one processor.", "Memory beyond the cache, threads."),
    _compute("postmark_op_per_s", "op/s", _UP, _MEDIAN, ("files", "size_bytes", "transactions"), 3e3,
             "Transactions a second of a mail server's load on many small files.",
             "The disk itself where the files fit into memory."),
)  # fmt: skip

_MACHINES = ("count", "os")
_ELASTIC = (
    _compute("scaling_latency_s", "s", _DOWN, _MEDIAN, _MACHINES, 60.0,
             "Time from just before `count` machines are asked for until the last of them can be used: its agent answers, "
             "or, on Windows, its remote desktop or remote management port takes a connection.",
             "What the application itself needs to start."),
    _compute("provisioning_latency_s", "s", _DOWN, _MEDIAN, _MACHINES, 35.0,
             "The part of the scaling latency before the guest was powered on: all but the guest's own uptime when it "
             "became usable, of the last of `count` machines.",
             "What the provider does to a machine after its kernel has started."),
    _compute("booting_latency_s", "s", _DOWN, _MEDIAN, _MACHINES, 25.0,
             "The part of the scaling latency after power-on: the guest's own uptime when it became usable, of the last of "
             "`count` machines.",
             "Firmware and boot loader, which run before the kernel counts its uptime."),
    _compute("api_latency_s", "s", _DOWN, _MEDIAN, _MACHINES, 1.5,
             "Time from just before `count` machines are asked for until the last request was answered.",
             "Anything that happens to a machine: most providers answer before they begin."),
    _compute("running_latency_s", "s", _DOWN, _MEDIAN, _MACHINES, 30.0,
             "Time from just before `count` machines are asked for until the provider calls the last of them running.",
             "Whether anything in it runs yet."),
    _compute("reachable_latency_s", "s", _DOWN, _MEDIAN, _MACHINES, 50.0,
             "Time from just before `count` machines are asked for until the last of them answers over TCP.",
             "Signing in, and copying the agent."),
    _compute("scale_in_latency_s", "s", _DOWN, _MEDIAN, ("count",), 30.0,
             "Time from just before `count` machines are asked to be destroyed until the last of them is seen gone.",
             "When billing ends, which is the provider's to say."),
    _compute("resize_latency_s", "s", _DOWN, _MEDIAN, ("to",), 90.0,
             "Time from asking that a machine become another type until it can be used again: stop, change, start.",
             "What the application itself needs to stop and start."),
    _compute("recovery_latency_s", "s", _DOWN, _MEDIAN, (), 40.0,
             "Time from telling a guest to kill itself until its agent answers after another boot.",
             "Faults of the host, and data that was not yet on the disk."),
)  # fmt: skip

_STORAGE = (
    Metric("table_latency_s", "s", _DOWN, Group.STORAGE, _PERCENTILE, ("concurrency", "entries", "op", "percentile"),
           "Response time of a table operation (get, put, query) on a kept-alive connection, at a percentile.",
           "Connecting and signing in.", 2e-2),
    Metric("table_op_per_s", "op/s", _UP, Group.STORAGE, _TOTAL, ("concurrency", "entries", "op"),
           "Table operations completed a second.", "Operations that failed, which are counted apart.", 4e2),
    Metric("blob_latency_s", "s", _DOWN, Group.STORAGE, _PERCENTILE, ("concurrency", "op", "percentile", "size_bytes"),
           "Response time of a blob download or upload to its last byte, at a percentile.",
           "Connecting and signing in.", 5e-2),
    Metric("blob_bytes_per_s", "B/s", _UP, Group.STORAGE, _TOTAL, ("concurrency", "op", "size_bytes"),
           "Payload of blobs moved a second.", "Headers and retries.", 8e7),
    Metric("queue_latency_s", "s", _DOWN, Group.STORAGE, _PERCENTILE, ("concurrency", "op", "percentile", "size_bytes"),
           "Response time of sending or receiving a message, at a percentile.", "Connecting and signing in.", 3e-2),
    Metric("queue_propagation_s", "s", _DOWN, Group.STORAGE, _PERCENTILE, ("percentile", "size_bytes"),
           "Time from sending a message to an empty queue until it can be received, at a percentile.",
           "Queues that already hold messages.", 8e-2),
    Metric("consistency_time_s", "s", _DOWN, Group.STORAGE, _MEDIAN, ("service",),
           "Time from a write until all reads return it, seen from the same data centre.",
           "Readers in other data centres.", 6e-2, signed=True),
    Metric("stale_read_ratio", "ratio", _DOWN, Group.STORAGE, _MEDIAN, ("service",),
           "Share of reads right after a write that do not return it.", "Later reads.", 5e-2, signed=True),
)  # fmt: skip

_NETWORK = (
    Metric("tcp_bytes_per_s", "B/s", _UP, Group.NETWORK, _TOTAL, ("path", "size_bytes", "streams"),
           "Payload received a second over TCP between two agents; `path` says where they were.",
           "On path=loopback: any network at all.", 6e8),
    Metric("udp_bytes_per_s", "B/s", _UP, Group.NETWORK, _TOTAL, _UDP,
           "Payload received a second over UDP, without what was lost.",
           "On path=loopback: any network at all.", 3e8),
    Metric("udp_loss_ratio", "ratio", _DOWN, Group.NETWORK, _MEDIAN, _UDP,
           "Share of the sent datagrams of a whole trial that were not received.",
           "Datagrams that the sender itself could not send.", 1e-2, signed=True),
    Metric("udp_jitter_s", "s", _DOWN, Group.NETWORK, _MEDIAN, _UDP,
           "Interarrival jitter of RFC 3550, section 6.4.1.",
           "One-way delay itself; datagrams below 20 B, which carry no time.", 2e-5, signed=True),
    Metric("rtt_s", "s", _DOWN, Group.NETWORK, _PERCENTILE, ("path", "percentile", "protocol", "size_bytes"),
           "Round-trip time of a small message to an agent that echoes it, one in flight, at a percentile.",
           "Connecting; on path=loopback: any network at all.", 2e-4),
)  # fmt: skip

_WAN = (
    Metric("wan_rtt_s", "s", _DOWN, Group.WAN, _PERCENTILE, ("percentile", "vantage"),
           "Round-trip time from a vantage point to the candidate's data centre, at a percentile.",
           "The last mile of users elsewhere.", 9e-2),
    Metric("wan_optimal_rtt_s", "s", _DOWN, Group.WAN, _PERCENTILE, ("percentile", "vantages"),
           "Lowest round-trip time from each vantage point to any data centre of the provider, at a percentile of them.",
           "How well the provider itself maps users to data centres.", 6e-2),
    Metric("wan_bytes_per_s", "B/s", _UP, Group.WAN, _TOTAL, ("direction", "vantage"),
           "Payload received a second over TCP between a vantage point and the data centre.",
           "More than one stream.", 1e7),
)  # fmt: skip

METRICS: dict[str, Metric] = {metric.name: metric for metric in (*_COMPUTE, *_ELASTIC, *_STORAGE, *_NETWORK, *_WAN)}
PERCENTILES = ("50", "95", "99")
