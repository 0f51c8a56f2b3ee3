"""Peak performance of processor, memory and disk: peaks, a solve, bandwidth, latency, blocks of a file."""

from collections.abc import Mapping

from cloudcmp.catalog.tables.base import INTERVAL, choice, compute, duration, size, suite, threads
from cloudcmp.model.metric import Better, Group, Metric, Param, ParamKind, Probe, Reduce

_DISK = ("block_bytes", "depth", "durability", "op", "pattern", "threads")
_DISK_PERCENTILE = ("block_bytes", "depth", "durability", "op", "pattern", "percentile", "threads")

_SMALL_N = 2000  # the largest order that takes a moment on any core
_FILLED_S = 3600.0  # a system that fills the memory, whose size is unknown


def _dense_s(filled: Mapping[str, str], flop: float) -> float:
    """Seconds of a trial: the requested duration, and two passes of the work on a usual core (a slow one for large n)."""
    flop_per_s = 1e10 if int(filled["n"]) <= _SMALL_N else 3e9
    return float(filled["duration_s"]) + 2 * flop / flop_per_s


def _lu_s(filled: Mapping[str, str]) -> float:
    return _dense_s(filled, 2 / 3 * int(filled["n"]) ** 3) if filled["n"].isdigit() else _FILLED_S


def _gemm_s(filled: Mapping[str, str]) -> float:
    return _dense_s(filled, 2 * int(filled["n"]) ** 3)


METRICS = (
    compute("fma_flop_per_s", "flop/s", Better.HIGHER, Reduce.TOTAL, ("precision", "threads"), 5e10,
             "Peak floating-point rate of independent fused multiply-adds; one of them counts as two operations.",
             "Memory, dependent chains, and what a compiler makes of ordinary code."),
    compute("int_op_per_s", "op/s", Better.HIGHER, Reduce.TOTAL, ("threads",), 5e10,
             "Peak rate of independent 64-bit integer operations; one lane's operation counts as one.",
             "Branches, division and memory."),
    compute("peak_ratio", "ratio", Better.HIGHER, Reduce.MEDIAN, ("clock_hz", "per_cycle", "precision", "threads"), 0.95,
             "Share of the theoretical peak (clock x processors x operations per cycle) that independent multiply-adds reach.",
             "Memory, and how near ordinary code comes."),
    compute("gemm_flop_per_s", "flop/s", Better.HIGHER, Reduce.MEDIAN, ("n", "threads"), 5e10,
             "Rate of the product of two dense matrices of doubles, 2n^3 operations in a product.",
             "Memory beyond the caches, which a product hides."),
    compute("lu_flop_per_s", "flop/s", Better.HIGHER, Reduce.MEDIAN, ("n", "threads"), 2e10,
             "Rate of solving a dense system by LU with partial pivoting, (2n^3/3 + 2n^2) operations in a solve.",
             "Systems larger than memory and sparse ones."),
    compute("triad_bytes_per_s", "B/s", Better.HIGHER, Reduce.TOTAL, ("store", "threads"), 1.5e10,
             "STREAM triad a = b + q*c on arrays beyond the cache, 24 bytes counted for an element.",
             "Random access, and the write-allocate traffic of plain stores."),
    compute("chase_latency_s", "s", Better.LOWER, Reduce.MEDIAN, ("pages", "size_bytes"), 8e-8,
             "Time of one dependent load in a random cycle through a working set of the given size and page size.",
             "Bandwidth and prefetching."),
    Metric("gap_ratio", "ratio", Better.LOWER, Group.COMPUTE, Reduce.MEDIAN, ("least_s", "threads"),
           "Share of the time in which a thread that only reads the clock was not running: gaps between two reads of at "
           "least the given length.",
           "Who took the time; a processor that is slower all the time.", 1e-3, signed=True),
    compute("gap_s", "s", Better.LOWER, Reduce.PERCENTILE, ("least_s", "percentile", "threads"), 5e-5,
             "Length of a gap, at a percentile; no value if there was none.", "How many there were.", sparse=True),
    compute("disk_op_per_s", "op/s", Better.HIGHER, Reduce.TOTAL, _DISK, 1e4,
             "Completed input/output operations a second on a file of a fresh launch.",
             "The page cache, unless durability is `cached`; metadata operations."),
    compute("disk_bytes_per_s", "B/s", Better.HIGHER, Reduce.TOTAL, _DISK, 2e8,
             "Payload read or written a second on a file of a fresh launch.",
             "The page cache, unless durability is `cached`; metadata operations."),
    compute("disk_latency_s", "s", Better.LOWER, Reduce.PERCENTILE, _DISK_PERCENTILE, 5e-4,
             "Time from issuing an input/output operation to its completion, at a percentile.",
             "Queueing before the operation is issued."),
)  # fmt: skip

PROBES = (
    Probe("fma", ("fma_flop_per_s",), (threads(), duration(), INTERVAL, choice("precision", "f64 f32", "operand width")),
          "Independent fused multiply-adds in registers, with the widest instructions that the processor has.",
          "Memory, and what a compiler makes of ordinary code.", 1.0),
    Probe("int", ("int_op_per_s",), (threads(), duration(), INTERVAL),
          "Independent 64-bit integer operations in registers, with the widest instructions that the processor has.",
          "Branches, division and memory.", 1.0),
    Probe("peak", ("peak_ratio",),
          (threads(), duration(), INTERVAL, choice("precision", "f64 f32", "operand width"),
           Param("clock_hz", ParamKind.COUNT, "measured", "clock of the peak; measured: by dependent additions right after the run", ("measured",)),
           Param("per_cycle", ParamKind.COUNT, "auto", "operations a core makes in a cycle; auto: by its published units, else two of the widest instructions", ("auto",))),
          "Independent fused multiply-adds in registers, as a share of what clock and instructions allow (Shah).",
          "Memory; units of processors that are not known, unless per_cycle says so: then two are assumed, and noted.", 1.0),
    Probe("gemm", ("gemm_flop_per_s",), (Param("n", ParamKind.COUNT, "2000", "order of the matrices", short="1000"), threads(), duration()),
          "Multiplies dense matrices of doubles (DGEMM); the product is checked against a random vector.",
          "Memory beyond the caches.", 1.0, expected_s=_gemm_s),
    Probe("lu", ("lu_flop_per_s",),
          (Param("n", ParamKind.COUNT, "1000", "order of the system; memory: as large as 80 % of the free memory", ("memory",), short="1000"),
           threads(), duration()),
          "Solves dense systems by LU with partial pivoting; the scaled residual must stay below 16.",
          "Sparse systems.", 1.0, expected_s=_lu_s),
    Probe("stream", ("triad_bytes_per_s",),
          (threads(), duration(), INTERVAL, choice("store", "nontemporal plain", "kind of store instructions"),
           Param("array_bytes", ParamKind.BYTES, "auto", "size of each array; auto: min(4 x last-level cache, 10 % of memory, 512 MiB)", ("auto",)),
           choice("kernel", "triad", "the STREAM kernel")),
          "STREAM triad; the result is checked after the run.", "Random access.", 1.0),
    Probe("chase", ("chase_latency_s",),
          (size("16384", "working set"), choice("pages", "base huge", "page size asked for"), duration("0.5")),
          "Follows a random cycle of pointers, one load waiting for the last.", "Bandwidth.", 0.5),
    Probe("gaps", ("gap_ratio", "gap_s"),
          (threads(), duration(), INTERVAL,
           Param("least_s", ParamKind.SECONDS, "0.00002", "the shortest time between two reads that is a gap")),
          "Reads the clock in a loop and finds gaps: processor sharing, interrupts, steal (Delgado, section 3.5.1).",
          "Who took the time.", 1.0, no_peer="cyclictest times wake-ups, which this loop has none of"),
    Probe("disk", ("disk_op_per_s", "disk_bytes_per_s", "disk_latency_s"),
          (choice("op", "read write", "direction"), choice("pattern", "random sequential", "order of the blocks"),
           Param("block_bytes", ParamKind.BYTES, "4096", "size of one operation"),
           Param("depth", ParamKind.COUNT, "1", "operations in flight for each thread"), threads(),
           choice("durability", "direct osync fsync cached",
                   "direct: past the page cache; osync, fsync: writes reach the device, reads as direct; cached: within it"),
           Param("file_bytes", ParamKind.BYTES, "auto", "size of the file; auto: min(256 MiB, 10 % of free space)", ("auto",)),
           duration(), INTERVAL, choice("engine", "auto io_uring preadv2", "how operations are issued")),
          "Reads or writes blocks of a file that it made itself and always removes.", "Metadata operations.", 1.0),
)  # fmt: skip

SUITES = (
    suite("cpu", "Peaks and a solve, with one thread and with all.",
           ("fma", {"threads": "one all"}), ("int", {"threads": "one all"}), ("lu", {"n": "1000", "threads": "one"})),
    suite("linpack", "Dense solves of order 100 and 1000, and of one that fills the memory; the residual is checked.",
           ("lu", {"n": "100 1000 memory", "threads": "one all"})),
    suite("shah", "Shah's assignment: disk, round trips and processor, the latter also for ten minutes with a value each second.",
           ("disk", {"op": "write read", "pattern": "sequential random", "block_bytes": "1 1000 1000000", "threads": "1 2", "durability": "cached"}),
           ("rtt", {"protocol": "tcp udp", "size_bytes": "1 1000 64000"}),
           ("fma", {"threads": "1 2"}), ("int", {"threads": "1 2"}),
           ("fma", {"threads": "4", "duration_s": "600", "interval_s": "1"}),
           ("int", {"threads": "4", "duration_s": "600", "interval_s": "1"}),
           ("peak", {"threads": "1 2 4"})),
    suite("memory", "Bandwidth beyond the cache, and latency at three sizes.",
           ("stream", {"threads": "one all"}), ("chase", {"size_bytes": "16384 1048576 268435456"})),
    suite("disk", "Small random and large sequential input/output, past the page cache.",
           ("disk", {"op": "read write", "pattern": "random", "block_bytes": "4096"}),
           ("disk", {"op": "read write", "pattern": "sequential", "block_bytes": "1048576"})),
)  # fmt: skip
