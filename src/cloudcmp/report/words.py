"""Readable names of cells, metrics and parameters, and the origin of numbers."""

from collections.abc import Iterable

from cloudcmp.errors import UserMistake
from cloudcmp.model.cast import FULL_RATE, INTENSITY, is_network_load
from cloudcmp.model.cell import Cell
from cloudcmp.model.metric import Better, Group, Metric
from cloudcmp.model.plan import Candidate, Plan
from cloudcmp.model.untrusted_text import one_line
from cloudcmp.units import format_quantity

# Parameters in their order in a name; all others come before the threads, by name.
_ORDER = ("task", "benchmark", "class", "mode", "service", "change", "writer", "block_bytes", "record_bytes",
          "size_bytes", "pattern", "op", "entries", "os", "direction", "vantage", "path", "protocol", "durability",
          "kernel", "store", "precision", "pages")  # fmt: skip
_RATE = "rate of load"
"""The key for the intensity of a load on the network."""
_LAST = ("percentile", "threads", "neighbour", "intensity", _RATE)
# Parameters in every name, because a reader who does not know them misreads the number.
_ALWAYS = frozenset(
    {
        "threads",
        "percentile",
        "path",
        "op",
        "pattern",
        "block_bytes",
        "service",
        "vantage",
        "writer",
        "neighbour",
        "intensity",
    }
)
_PHRASE = frozenset({"block_bytes", "record_bytes", "size_bytes", "pattern", "op"})
# Labels of what a number does not measure, also in every name.
_LABELS = {
    ("path", "loopback"): "loopback (no network)", ("durability", "cached"): "page cache (no disk)",
    ("path", "zone"): "in one zone", ("path", "zones"): "between zones",
    ("path", "region"): "in one region", ("path", "regions"): "between regions",
}  # fmt: skip
# How a service is asked unless a study says otherwise: words about it are noise.
_USUAL = frozenset(
    {("client", "native"), ("reuse", "yes"), ("rate_per_s", "closed"), ("read", "eventual"), ("expect_continue", "no"),
     ("objects", "16")}
)  # fmt: skip
# Of these, the usual value is also named where a study has others.
_NAMED_IF_VARIED = frozenset({"client", "objects"})
_SERVICES = ("table_", "blob_", "queue_")
_COUNTED = {"streams": "stream", "copies": "copy", "clients": "client", "count": "machine"}
_PLURALS = {"count": "machines at once"}
_PATTERNS = {"to": "to {}", "percentile": "p{}", "pages": "{} pages", "rate_bytes_per_s": "rate {}",
             "concurrency": "{} at once", "rate_per_s": "{} started a second", "objects": "{} blobs",
             "writer": "written on another machine ({})", "neighbour": "beside {}",
             "intensity": "{} threads of load"}  # fmt: skip
_SIZES = ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB"))
_EXACT = {
    ("client", "native"): "native client", ("client", "sdk-python"): "sdk-python client",
    ("client", "cli"): "cli client", ("reuse", "no"): "a connection for each", ("rate_per_s", "closed"): "closed",
    ("expect_continue", "yes"): "expect-continue", ("read", "strong"): "strong read",
    ("read", "eventual"): "eventual read", ("change", "list"): "list after a write",
    ("change", "write"): "after a write", ("change", "update"): "after an update",
    ("change", "delete"): "after a delete", ("writer", "here"): "written by the reader",
    ("writer", "loopback"): "written by another process (no network)",
    ("concurrency", "max"): "as many at once as it takes", ("neighbour", "none"): "alone",
    ("intensity", "1"): "1 thread of load", ("direction", "in"): "inbound", ("direction", "out"): "outbound",
}  # fmt: skip


# Names of metrics for readers; a metric that is not listed, such as a user's own, is named by its own words.
_TITLES = {
    "overall_index": "overall, as weighed",
    "fma_flop_per_s": "floating point (fma)",
    "int_op_per_s": "integer operations",
    "peak_ratio": "share of the theoretical peak",
    "gemm_flop_per_s": "matrix product (gemm)",
    "lu_flop_per_s": "linear solve (lu)",
    "triad_bytes_per_s": "memory bandwidth (triad)",
    "udp_reordered_ratio": "UDP reordering",
    "connect_op_per_s": "TCP connections set up",
    "connect_s": "TCP connection set-up time",
    "chase_latency_s": "memory latency (chase)",
    "gap_ratio": "time taken from the processor (gaps)",
    "gap_s": "length of a gap",
    "disk_op_per_s": "disk operations",
    "disk_bytes_per_s": "disk bandwidth",
    "disk_latency_s": "disk latency",
    "task_time_s": "task",
    "twolf_time_s": "placement (twolf)",
    "n_index": "N index",
    "pi_time_s": "digits of pi",
    "unixbench_index": "UnixBench index",
    "unixbench_test_index": "UnixBench test",
    "dbench_bytes_per_s": "file server (dbench) bytes",
    "dbench_op_per_s": "file server (dbench) operations",
    "dbench_mean_latency_s": "file server (dbench) mean latency",
    "dbench_max_latency_s": "file server (dbench) longest latency",
    "iozone_bytes_per_s": "file bandwidth (iozone)",
    "postmark_op_per_s": "mail server (postmark) transactions",
    "postmark_time_s": "mail server (postmark) time",
    "postmark_file_op_per_s": "mail server (postmark) files",
    "postmark_bytes_per_s": "mail server (postmark) bytes",
    "npb_op_per_s": "NAS benchmark operations",
    "npb_time_s": "NAS benchmark time",
    "scaling_latency_s": "time until usable",
    "provisioning_latency_s": "provisioning time",
    "booting_latency_s": "boot time",
    "api_latency_s": "time until the API answers",
    "running_latency_s": "time until running",
    "reachable_latency_s": "time until reachable",
    "scale_in_latency_s": "time until destroyed",
    "resize_latency_s": "resize time",
    "recovery_latency_s": "recovery time",
    "tcp_bytes_per_s": "TCP bandwidth",
    "udp_bytes_per_s": "UDP bandwidth",
    "udp_loss_ratio": "UDP loss",
    "udp_jitter_s": "UDP jitter",
    "burst_bytes_per_s": "burst bandwidth",
    "bucket_bytes": "token bucket of the network",
    "sustained_bytes_per_s": "sustained bandwidth",
    "rtt_s": "round trip time",
    "start_skew_s": "start skew of a group",
    "exchange_bytes_per_s": "exchange of a group",
    "exchange_s": "exchange time of a group",
    "straggler_ratio": "straggler factor",
    "fairness_ratio": "fairness among senders",
    "sender_bytes_per_s": "throughput of one of several senders",
    "table_latency_s": "table latency",
    "table_op_per_s": "table operations",
    "table_throttled_ratio": "table throttled share",
    "table_failed_ratio": "table failed share",
    "table_load_row_per_s": "table rows loaded",
    "blob_latency_s": "blob latency",
    "blob_first_byte_s": "blob first byte",
    "blob_bytes_per_s": "blob bandwidth",
    "blob_throttled_ratio": "blob throttled share",
    "blob_failed_ratio": "blob failed share",
    "queue_latency_s": "queue latency",
    "queue_op_per_s": "queue operations",
    "queue_throttled_ratio": "queue throttled share",
    "queue_failed_ratio": "queue failed share",
    "queue_propagation_s": "queue propagation",
    "consistency_time_s": "time until consistent",
    "stale_read_ratio": "stale reads",
    "wan_rtt_s": "wide-area round trip time",
    "wan_dns_s": "wide-area look-up of the name",
    "wan_connect_s": "wide-area time to connect",
    "wan_tls_s": "wide-area handshake of TLS",
    "wan_first_byte_s": "wide-area time to the first byte",
    "wan_transfer_s": "wide-area transfer",
    "wan_page_s": "wide-area page",
    "wan_failed_ratio": "wide-area pages failed",
    "visit_response_s": "response time of a URL",
    "visit_failed_ratio": "requests of a URL failed",
}


def metric_words(name: str) -> str:
    """Return a metric's readable name: `fma_flop_per_s` is `floating point (fma)`, `my_own_s` is `my own`."""
    if name in _TITLES:
        return _TITLES[name]
    words = name.removesuffix("_per_s").split("_")
    if name.endswith("_per_s"):
        return one_line(" ".join(words)) + "/s"
    return one_line(" ".join(words[:-1] if len(words) > 1 and words[-1] in {"s", "ratio"} else words))


def _size(value: str) -> str:
    if not value.isdigit():
        return value
    count = int(value)
    whole = [(count // size, unit) for size, unit in _SIZES if count and count % size == 0]
    return " ".join(map(str, min(whole, default=(count, "B"))))


def param_words(key: str, value: str) -> str:
    """Return a readable parameter: `threads=one` is `1 thread`, `block_bytes=4096` is `4 KiB`."""
    exact = _exact_words(key, value)
    if exact is not None:
        return exact
    if key in _COUNTED:
        return f"1 {_COUNTED[key]}" if value == "1" else f"{value} {_PLURALS.get(key, key)}"
    if key.endswith("_bytes"):
        noun = key.removesuffix("_bytes")
        return _size(value) if noun in {"size", "block", "record"} else f"{noun} {_size(value)}"
    pattern = _PATTERNS.get(key, "{}" if key in _ORDER else f"{key.replace('_', ' ')} {{}}")
    return pattern.replace("{}", value.replace("_", " ") if key in {"op", "neighbour"} else value)


def _exact_words(key: str, value: str) -> str | None:
    """The words of a parameter that follows no pattern; None for any other."""
    if key == "threads":
        return {"one": "1 thread", "1": "1 thread", "all": "all threads"}.get(value, f"{value} threads")
    if key == _RATE:
        return "as fast as it goes" if value == FULL_RATE else f"at {format_quantity(float(value), 'B/s')}"
    if key == "entries" and value.isdigit():
        return f"{int(value):,} entries"
    return f"matrix of {value}" if key == "n" else (_LABELS | _EXACT).get((key, value))


def parse_cell(text: str) -> Cell:
    """Parse the text form of a cell; other text becomes a metric without parameters."""
    try:
        return Cell.parse(text)
    except UserMistake:
        return Cell(text)


class CellNames:
    """Short names for the cells of one study, without the parameters that all cells of a metric share."""

    def __init__(self, cells: Iterable[str]) -> None:
        self._values: dict[str, dict[str, set[str]]] = {}
        self._count: dict[str, int] = {}
        self._having: dict[tuple[str, str], int] = {}
        for cell in map(parse_cell, dict.fromkeys(cells)):
            values = self._values.setdefault(cell.metric, {})
            self._count[cell.metric] = self._count.get(cell.metric, 0) + 1
            for key, value in cell.params:
                values.setdefault(key, set()).add(value)
                self._having[cell.metric, key] = self._having.get((cell.metric, key), 0) + 1

    def _shared(self, metric: str, pair: tuple[str, str]) -> bool:
        key = pair[0]
        if _is_of_service(metric) and pair in _USUAL and key not in _NAMED_IF_VARIED:
            return True
        if key in _ALWAYS or pair in _LABELS:
            return False
        of_all = self._having.get((metric, key), 0) == self._count.get(metric, 0)
        return of_all and len(self._values.get(metric, {}).get(key, ())) <= 1

    def short(self, text: str, without: frozenset[str] = frozenset()) -> str:
        """A cell's name with only the parameters that set it apart from the metric's other cells."""
        cell = parse_cell(text)
        kept = [pair for pair in cell.params if not self._shared(cell.metric, pair) and pair[0] not in without]
        name = metric_words(cell.metric)
        if cell.metric.startswith(_SERVICES) and (op := dict(kept).get("op")):
            service, _, what = name.partition(" ")
            noise = {"op", "size_bytes"} if op == "list" else {"op"}
            name, kept = f"{service} {op} {what}", [pair for pair in kept if pair[0] not in noise]
        return one_line(", ".join([name, *_phrases(kept)]))

    def shared(self, metric: str) -> str:
        """Return the readable parameters that all cells of a metric have in common."""
        pairs = [(key, min(values)) for key, values in self._values.get(metric, {}).items() if len(values) == 1]
        usual = _USUAL if _is_of_service(metric) else frozenset()
        return one_line(
            ", ".join(_phrases([pair for pair in pairs if self._shared(metric, pair) and pair not in usual]))
        )


def _is_of_service(metric: str) -> bool:
    return metric.startswith(_SERVICES) or metric in {"consistency_time_s", "stale_read_ratio"}


def _phrases(pairs: Iterable[tuple[str, str]]) -> list[str]:
    """Return readable parameters in their order; related ones form one phrase: `4 KiB random read`."""
    rank = {key: at for at, key in enumerate(_ORDER)} | {key: 101 + at for at, key in enumerate(_LAST)}
    pairs = list(pairs)
    if is_network_load(dict(pairs)):
        pairs = [(_RATE if key == INTENSITY else key, value) for key, value in pairs]
    ordered = sorted(pairs, key=lambda pair: (rank.get(pair[0], 100), pair[0]))
    phrase = " ".join(param_words(*pair) for pair in ordered if pair[0] in _PHRASE)
    rest = [param_words(*pair) for pair in ordered if pair[0] not in _PHRASE]
    return [phrase, *rest] if phrase else rest


def group_words(group: Group) -> str:
    """A group of metrics as a heading."""
    return "Wide-area network" if group is Group.WAN else group.capitalize()


def direction(metric: Metric) -> str:
    """Which way is better, in words."""
    return "more is better" if metric.better is Better.HIGHER else "less is better"


def stands_in(candidate: Candidate) -> str | None:
    """Describe what ran in place of an offering; None if the offering itself ran."""
    if candidate.runner == candidate.offering.provider:
        return None
    return f"{one_line(candidate.runner)} stands in for {one_line(candidate.offering.provider)}"


def origin(plan: Plan) -> str:
    """The origin of the numbers for captions; empty if all were measured on the requested offerings."""
    simulated = [candidate.simulated for candidate in plan.candidates]
    words = []
    if any(simulated):
        names = ", ".join(one_line(one.id, 40) for one in plan.candidates if one.simulated)
        words.append("SIMULATED" if all(simulated) else f"SIMULATED in part ({names})")
    if plan.imported:
        words.append("IMPORTED")
    standing = [one for one in plan.candidates if not one.simulated and stands_in(one)]
    words += dict.fromkeys(f"on {one.runner}, which stands in for {one.offering.provider}" for one in standing)
    return one_line("; ".join(words))
