"""The table of probes: what can be run, with which parameters. A test holds the agent's own table against it.

`built=False` marks those that only the simulated provider answers so far.
"""

from cloudcmp.model.metric import CONTROLLER, Param, ParamKind, Probe, When

_K = ParamKind
_PEERS = ("server", "client")


def _threads(default: str = "one") -> Param:
    return Param("threads", _K.THREADS, default, "one, all (every processor given), or a number", ("one", "all"))


def _duration(default: str = "1") -> Param:
    return Param("duration_s", _K.SECONDS, default, "length of the measured phase")


_INTERVAL = Param("interval_s", _K.SECONDS, "1", "one value is shown for each such interval")
_PATH = Param("path", _K.TEXT, "loopback", "where the two agents are: loopback, zone, region, ...")
_CONCURRENCY = Param("concurrency", _K.COUNT, "1", "operations in flight")


def _size(default: str, doc: str = "payload of one message or blob") -> Param:
    return Param("size_bytes", _K.BYTES, default, doc)


def _choice(name: str, words: str, doc: str) -> Param:
    choices = tuple(words.split())
    return Param(name, _K.CHOICE, choices[0], doc, choices)


def _give_up(default: str) -> Param:
    return Param("give_up_s", _K.SECONDS, default, "what is not there by then is a timeout")


_BUILT = (
    Probe("fma", ("fma_flop_per_s",), (_threads(), _duration(), _INTERVAL, _choice("precision", "f64 f32", "operand width")),
          "Independent fused multiply-adds in registers, with the widest instructions that the processor has.",
          "Memory, and what a compiler makes of ordinary code.", 1.0),
    Probe("int", ("int_op_per_s",), (_threads(), _duration(), _INTERVAL),
          "Independent 64-bit integer operations in registers, with the widest instructions that the processor has.",
          "Branches, division and memory.", 1.0),
    Probe("lu", ("lu_flop_per_s",), (Param("n", _K.COUNT, "1000", "order of the system"), _threads(), _duration()),
          "Solves dense systems by LU with partial pivoting; the scaled residual must stay below 16.",
          "Sparse systems.", 1.0),
    Probe("stream", ("triad_bytes_per_s",),
          (_threads(), _duration(), _INTERVAL, _choice("store", "nontemporal plain", "kind of store instructions"),
           Param("array_bytes", _K.BYTES, "auto", "size of each array; auto: min(4 x last-level cache, 10 % of memory, 512 MiB)", ("auto",)),
           _choice("kernel", "triad", "the STREAM kernel")),
          "STREAM triad; the result is checked after the run.", "Random access.", 1.0),
    Probe("chase", ("chase_latency_s",),
          (_size("16384", "working set"), _choice("pages", "base huge", "page size asked for"), _duration("0.5")),
          "Follows a random cycle of pointers, one load waiting for the last.", "Bandwidth.", 0.5),
    Probe("disk", ("disk_op_per_s", "disk_bytes_per_s", "disk_latency_s"),
          (_choice("op", "read write", "direction"), _choice("pattern", "random sequential", "order of the blocks"),
           Param("block_bytes", _K.BYTES, "4096", "size of one operation"),
           Param("depth", _K.COUNT, "1", "operations in flight for each thread"), _threads(),
           _choice("durability", "direct osync fsync cached",
                   "direct: past the page cache; osync, fsync: writes reach the device, reads as direct; cached: within it"),
           Param("file_bytes", _K.BYTES, "auto", "size of the file; auto: min(256 MiB, 10 % of free space)", ("auto",)),
           _duration(), _INTERVAL, _choice("engine", "auto io_uring preadv2", "how operations are issued")),
          "Reads or writes blocks of a file that it made itself and always removes.", "Metadata operations.", 1.0),
    Probe("tcp", ("tcp_bytes_per_s",),
          (Param("streams", _K.COUNT, "1", "connections at once"), _duration(), _INTERVAL,
           Param("warmup_s", _K.SECONDS, "0.1", "not measured, first"), _PATH, _size("131072", "bytes of one write")),
          "Bulk transfer from the client agent to the server agent.", "On loopback: any network at all.", 1.0, _PEERS),
    Probe("udp", ("udp_bytes_per_s", "udp_loss_ratio", "udp_jitter_s"),
          (_size("1448", "payload of a datagram"), _duration(), _INTERVAL,
           Param("rate_bytes_per_s", _K.RATE, "max", "sending rate; max: as fast as it goes", ("max",)), _PATH),
          "Datagrams from the client agent to the server agent, counted at both ends; those below 20 B give no jitter.",
          "On loopback: any network at all.", 1.0, _PEERS),
    Probe("rtt", ("rtt_s",),
          (_choice("protocol", "tcp udp", "transport"), _size("64"),
           Param("interval_s", _K.SECONDS, "0", "time between messages; 0: each follows the last"), _duration(), _PATH),
          "Echo of a small message, one in flight.", "Connecting; on loopback: any network at all.", 1.0, _PEERS),
)  # fmt: skip

# By the controller, once a launch: what the cloud does to machines can not be seen from within one.
_BY_CONTROLLER = (
    Probe("scaling",
          ("scaling_latency_s", "provisioning_latency_s", "booting_latency_s", "api_latency_s", "running_latency_s",
           "reachable_latency_s"),
          (_choice("os", "linux windows", "guest system of the candidates that are meant"),
           Param("count", _K.COUNT, "1", "machines asked for at once, by the candidates of that count"),
           Param("within_s", _K.SECONDS, "300", "a deadline of your own: which share of launches is usable within it"),
           _give_up("1200")),
          "Asks for a launch's machines and times each step until all can be used; the guest's uptime splits it.",
          "The application's own start.", 90.0, (CONTROLLER,), when=When.ARRIVAL),
    Probe("recovery", ("recovery_latency_s",), (_give_up("600"),),
          "Has the guest kill itself, then waits until its agent answers after another boot; one of the launch's last.",
          "Faults of the host.", 60.0, (CONTROLLER,), when=When.LAST),
    Probe("resize", ("resize_latency_s",),
          (Param("to", _K.TEXT, "next", "another offering of the region; next: the cheapest larger one, whose price the study or its provider must tell", ("next",)),
           _give_up("1200")),
          "Makes a machine another type and waits until it can be used again; one of the launch's last.",
          "The application's own stop and start.", 120.0, (CONTROLLER,), when=When.LAST),
    Probe("scale_in", ("scale_in_latency_s",),
          (Param("count", _K.COUNT, "1", "machines given back at once, by the candidates of that count"), _give_up("600")),
          "Destroys the launch's machines at its end and waits until all are seen gone.",
          "When billing ends.", 30.0, (CONTROLLER,), when=When.RELEASE),
)  # fmt: skip

_PLANNED = (
    Probe("task", ("task_time_s",),
          (_choice("task", "cpu memory disk aes hash sign compress fft lu sor sparse monte_carlo serialise", "which task"), _threads()),
          "One single-threaded benchmark task of under 30 s, alone or in N threads at once.", "Start-up.", 8.0, built=False),
    Probe("unixbench", ("unixbench_index",), (Param("copies", _K.COUNT, "1", "copies at once"),),
          "The twelve tests of UnixBench and their index.", "Graphics.", 1700.0, built=False),
    Probe("dbench", ("dbench_bytes_per_s",),
          (Param("clients", _K.COUNT, "1", "clients at once"), _choice("mode", "async sync fsync", "synchronous or not"), _duration("600")),
          "Replays a file server's load.", "The disk itself where the mode is async.", 600.0, built=False),
    Probe("iozone", ("iozone_bytes_per_s",),
          (_choice("op", "write rewrite read reread random_read random_write backward_read stride_read record_rewrite mixed", "file operation"),
           Param("file_bytes", _K.BYTES, "1073741824", "size of each file"),
           Param("record_bytes", _K.BYTES, "65536", "size of one record"),
           _choice("durability", "osync fsync cached direct", "what bypasses or flushes the page cache"), _threads()),
          "One file operation of IOzone, each thread on a file of its own.", "Metadata operations.", 60.0, built=False),
    Probe("npb", ("npb_op_per_s",),
          (_choice("benchmark", "bt ep cg mg ft is", "which benchmark"), _choice("class", "B S W A", "problem size"), _threads()),
          "A NAS parallel benchmark with its own verification.", "More than one machine.", 300.0, built=False),
    Probe("twolf", ("twolf_time_s",), (_threads(),),
          "Standard-cell placement by simulated annealing.", "SPEC's own program.", 300.0, built=False),
    Probe("loop", ("n_index",),
          (Param("iterations", _K.COUNT, "200", "iterations in a loop"), Param("loops", _K.COUNT, "10", "loops that are timed")),
          "Times loops of one floating-point calculation.", "Threads.", 1.0, built=False),
    Probe("pi", ("pi_time_s",), (Param("digits", _K.COUNT, "524288", "decimal digits"),),
          "Computes digits of pi.", "Threads.", 2.0, built=False),
    Probe("postmark", ("postmark_op_per_s",),
          (Param("files", _K.COUNT, "3000", "files kept"), Param("size_bytes", _K.TEXT, "1024-20480", "range of file sizes"),
           Param("transactions", _K.COUNT, "15000", "transactions")),
          "A mail server's load on many small files.", "Large files.", 30.0, built=False),
    Probe("table", ("table_latency_s", "table_op_per_s"),
          (_choice("op", "get put query", "operation"), Param("entries", _K.COUNT, "1000", "rows in the table"), _CONCURRENCY, _duration("10")),
          "Operations on a table service over kept-alive connections.", "Connecting.", 10.0, built=False),
    Probe("blob", ("blob_latency_s", "blob_bytes_per_s"),
          (_choice("op", "download upload", "operation"), _size("1024"), _CONCURRENCY, _duration("10")),
          "Operations on a blob service; bodies are streamed and dropped.", "Connecting.", 10.0, built=False),
    Probe("queue", ("queue_latency_s",), (_choice("op", "send receive", "operation"), _size("50"), _CONCURRENCY, _duration("10")),
          "Operations on a queue service.", "Connecting.", 10.0, built=False),
    Probe("propagation", ("queue_propagation_s",), (_size("50"), _duration("10")),
          "Sends to an empty queue and polls until the message is there.", "Queues that hold messages.", 10.0, built=False),
    Probe("consistency", ("consistency_time_s", "stale_read_ratio"), (_choice("service", "table blob queue", "which service"), _duration("10")),
          "Writes, then reads until the write is seen everywhere.", "Readers in other data centres.", 10.0, built=False),
    Probe("wan", ("wan_rtt_s", "wan_bytes_per_s"),
          (Param("vantage", _K.TEXT, "europe", "where the measuring end is"), _choice("direction", "down up", "from or to the cloud"), _duration("10")),
          "Round trips and one TCP stream between a vantage point and the data centre.", "The last mile.", 10.0, built=False),
    Probe("optimal", ("wan_optimal_rtt_s",), (Param("vantages", _K.COUNT, "260", "vantage points"),),
          "The lowest round-trip time from each vantage point to any data centre.", "The provider's own mapping.", 30.0, built=False),
)  # fmt: skip

PROBES: dict[str, Probe] = {probe.name: probe for probe in (*_BUILT, *_BY_CONTROLLER, *_PLANNED)}
