"""Table, blob and queue services, measured by the agent through thin clients of their own protocols."""

from collections.abc import Mapping

from cloudcmp.catalog.tables.base import choice, duration, size, suite
from cloudcmp.model.cast import HERE, WRITER, Role
from cloudcmp.model.metric import Better, Group, Metric, Param, ParamKind, Probe, Reduce

SEEN_FROM = (Role.CLIENT, Role.SERVICE)
WRITTEN_APART = (Role.SERVER, *SEEN_FROM)
"""The client reads; the server, if there is one, writes."""
_NO_PEER = "its truth is planted: benchmarks/storage_truth.py, and tests/agent/test_planted_services.py"
_CONCURRENCY = Param(
    "concurrency", ParamKind.COUNT, "1", "operations in flight; max: raised until throughput stops growing", ("max",)
)
_RATE = Param(
    "rate_per_s",
    ParamKind.COUNT,
    "closed",
    "operations started a second, each timed from its planned start; closed: each as soon as an earlier one has ended",
    ("closed",),
)
_REUSE = choice("reuse", "yes no", "whether connections are kept for later operations")
_CLIENT = choice("client", "native sdk-python cli",
                 "who asks: the agent itself, the provider's own Python library, or its command (both `from: local` only)")  # fmt: skip
_READ = choice("read", "eventual strong", "the consistency that a read asks for, where the service has both")
_WRITER = Param(
    WRITER,
    ParamKind.TEXT,
    HERE,
    implied=True,
    doc="who makes the changes: here (the machine that reads), or another agent at this path from it: loopback, zone, zones, region, ...",
)
_HOW = ("client", "concurrency", "rate_per_s", "reuse")
_TABLE = tuple(sorted((*_HOW, "entries", "op", "read")))
_BLOB = tuple(sorted((*_HOW, "expect_continue", "objects", "op", "size_bytes")))
_CONSISTENCY = ("change", "read", "service", WRITER)
_QUEUE = tuple(sorted((*_HOW, "op", "size_bytes")))


def _load_refusal(params: Mapping[str, str]) -> tuple[str, str]:
    """Operations at a rate of their own are as many in flight as they need."""
    if params["concurrency"] == "max" and params["rate_per_s"] != "closed":
        return "concurrency: max raises the rate, and rate_per_s fixes it", "write one of them"
    return "", ""


def _consistency_refusal(params: Mapping[str, str]) -> tuple[str, str]:
    """A message is sent and received, and has no other change."""
    if params["service"] == "queue" and params["change"] != "write":
        return f"a message in a queue has no {params['change']}", "write change: write, or another service"
    return "", ""


def _latency(name: str, params: tuple[str, ...], typical: float, doc: str) -> Metric:
    return Metric(name, "s", Better.LOWER, Group.STORAGE, Reduce.PERCENTILE, tuple(sorted((*params, "percentile"))), doc,
                  "Connecting and signing in, where connections are kept; operations that failed.", typical)  # fmt: skip


def _ratios(service: str, params: tuple[str, ...]) -> tuple[Metric, ...]:
    """The shares of operations that did not succeed: throttled by the service, and failed for any other reason."""
    return tuple(
        Metric(f"{service}_{kind}_ratio", "ratio", Better.LOWER, Group.STORAGE, Reduce.MEDIAN, params, doc, excludes, 1e-3, signed=True)
        for kind, doc, excludes in (
            ("throttled", f"Share of {service} operations that the service refused because there were too many.",
             "Other failures."),
            ("failed", f"Share of {service} operations with an error of the service, no answer or a wrong one.",
             "Throttled operations."),
        )
    )  # fmt: skip


METRICS = (
    _latency("table_latency_s", _TABLE, 2e-2, "Response time of a table operation (get, put, query), at a percentile."),
    Metric("table_op_per_s", "op/s", Better.HIGHER, Group.STORAGE, Reduce.TOTAL, _TABLE,
           "Table operations completed a second.", "Operations that failed, which are counted apart.", 4e2),
    *_ratios("table", _TABLE),
    Metric("table_load_row_per_s", "row/s", Better.HIGHER, Group.STORAGE, Reduce.TOTAL, ("client", "concurrency", "entries"),
           "Rows written a second by the service's batches.", "Rows of batches that failed.", 1e3),
    _latency("blob_latency_s", _BLOB, 5e-2, "Response time of a blob operation to its last byte, at a percentile."),
    _latency("blob_first_byte_s", _BLOB, 4e-2, "Time from a blob request until the first byte of its answer, at a percentile."),
    Metric("blob_bytes_per_s", "B/s", Better.HIGHER, Group.STORAGE, Reduce.TOTAL, _BLOB,
           "Payload of blobs moved a second.", "Headers, and operations that failed.", 8e7),
    *_ratios("blob", _BLOB),
    _latency("queue_latency_s", _QUEUE, 3e-2, "Response time of sending or receiving a message, at a percentile."),
    Metric("queue_op_per_s", "op/s", Better.HIGHER, Group.STORAGE, Reduce.TOTAL, _QUEUE,
           "Messages sent or received a second.", "Operations that failed, and receives of nothing.", 3e2),
    *_ratios("queue", _QUEUE),
    Metric("queue_propagation_s", "s", Better.LOWER, Group.STORAGE, Reduce.PERCENTILE, ("percentile", "size_bytes"),
           "Time from sending a message to an empty queue until it can be received, at a percentile.",
           "Queues that already hold messages.", 8e-2),
    Metric("consistency_time_s", "s", Better.LOWER, Group.STORAGE, Reduce.MEDIAN, _CONSISTENCY,
           "Time from the answer to a change until all later reads return it, seen from the same data centre: from the "
           "machine that makes the change, or with `writer` from another one, from the answer's arrival there.",
           "Readers in other data centres; the way of an answer from another writer, at most the note writer_way_max_s; "
           "delays longer than the probe waits count as that wait.", 6e-2, signed=True),
    Metric("stale_read_ratio", "ratio", Better.LOWER, Group.STORAGE, Reduce.MEDIAN, _CONSISTENCY,
           "Share of reads right after a change that do not return it.",
           "Later reads; those during the way of the answer from another writer.", 5e-2, signed=True),
)  # fmt: skip

PROBES = (
    Probe("table", ("table_latency_s", "table_op_per_s", "table_throttled_ratio", "table_failed_ratio"),
          (choice("op", "get put query", "operation; a query selects about ten rows by a field that is no key"),
           Param("entries", ParamKind.COUNT, "1000", "rows in the table"), _READ, _CONCURRENCY, _RATE, _REUSE, _CLIENT, duration("10")),
          "Operations on a table service.", "Connecting, where connections are kept.", 10.0, SEEN_FROM, refusal=_load_refusal),
    Probe("load", ("table_load_row_per_s",),
          (Param("entries", ParamKind.COUNT, "1000", "rows to write"), Param("concurrency", ParamKind.COUNT, "8", "batches in flight"), _CLIENT),
          "Writes rows to a table service in the service's own batches.", "Making the table.", 5.0, SEEN_FROM,
          no_peer=_NO_PEER),
    Probe("blob", ("blob_latency_s", "blob_first_byte_s", "blob_bytes_per_s", "blob_throttled_ratio", "blob_failed_ratio"),
          (choice("op", "download upload list", "operation; a list returns up to 1000 names"), size("1024"),
           Param("objects", ParamKind.COUNT, "16", "blobs of the working set, in turn at random"), _CONCURRENCY, _RATE, _REUSE,
           choice("expect_continue", "no yes", "whether an upload waits for the service's consent before its body"), _CLIENT, duration("10")),
          "Operations on a blob service; bodies are streamed and dropped.", "Connecting, where connections are kept.", 10.0,
          SEEN_FROM, refusal=_load_refusal),
    Probe("queue", ("queue_latency_s", "queue_op_per_s", "queue_throttled_ratio", "queue_failed_ratio"),
          (choice("op", "send receive", "operation"), size("50"), _CONCURRENCY, _RATE, _REUSE, _CLIENT, duration("10")),
          "Operations on a queue service.", "Deleting received messages, which is a request of its own.", 10.0, SEEN_FROM,
          refusal=_load_refusal, no_peer=_NO_PEER),
    Probe("propagation", ("queue_propagation_s",), (size("50"), duration("10")),
          "Sends to an empty queue and polls until the message is there.", "Queues that hold messages.", 10.0, SEEN_FROM,
          no_peer=_NO_PEER),
    Probe("consistency", ("consistency_time_s", "stale_read_ratio"),
          (choice("service", "table blob queue", "which service"), choice("change", "write update delete list", "what is changed, and how "
           "it is looked for: list looks for a new entry in a list"), _READ, _WRITER, duration("10")),
          "Changes an entry, then reads through other connections until every read returns the change. The changes are the "
          "reader's own, or those of a second machine.",
          "Readers in other data centres.",
          10.0, WRITTEN_APART, refusal=_consistency_refusal, no_peer=_NO_PEER),
)  # fmt: skip

SUITES = (
    suite("storage", "Table, blob and queue operations, propagation and consistency (CloudCmp, table 2).",
           ("table", {"op": "get put query", "entries": "1000 100000"}), ("load", {}),
           ("blob", {"op": "download upload", "size_bytes": "1024 10485760"}), ("blob", {"op": "list"}),
           ("queue", {"op": "send receive"}), ("propagation", {}), ("consistency", {"service": "table blob queue"})),
)  # fmt: skip
