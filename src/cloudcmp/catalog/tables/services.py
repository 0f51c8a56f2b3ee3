"""Table, blob and queue services."""

from cloudcmp.catalog.tables.base import choice, duration, size, suite
from cloudcmp.model.cast import Role
from cloudcmp.model.metric import Better, Group, Metric, Param, ParamKind, Probe, Reduce

SEEN_FROM = (Role.CLIENT, Role.SERVICE)
_CONCURRENCY = Param("concurrency", ParamKind.COUNT, "1", "operations in flight")

METRICS = (
    Metric("table_latency_s", "s", Better.LOWER, Group.STORAGE, Reduce.PERCENTILE, ("concurrency", "entries", "op", "percentile"),
           "Response time of a table operation (get, put, query) on a kept-alive connection, at a percentile.",
           "Connecting and signing in.", 2e-2),
    Metric("table_op_per_s", "op/s", Better.HIGHER, Group.STORAGE, Reduce.TOTAL, ("concurrency", "entries", "op"),
           "Table operations completed a second.", "Operations that failed, which are counted apart.", 4e2),
    Metric("blob_latency_s", "s", Better.LOWER, Group.STORAGE, Reduce.PERCENTILE, ("concurrency", "op", "percentile", "size_bytes"),
           "Response time of a blob download or upload to its last byte, at a percentile.",
           "Connecting and signing in.", 5e-2),
    Metric("blob_bytes_per_s", "B/s", Better.HIGHER, Group.STORAGE, Reduce.TOTAL, ("concurrency", "op", "size_bytes"),
           "Payload of blobs moved a second.", "Headers and retries.", 8e7),
    Metric("queue_latency_s", "s", Better.LOWER, Group.STORAGE, Reduce.PERCENTILE, ("concurrency", "op", "percentile", "size_bytes"),
           "Response time of sending or receiving a message, at a percentile.", "Connecting and signing in.", 3e-2),
    Metric("queue_propagation_s", "s", Better.LOWER, Group.STORAGE, Reduce.PERCENTILE, ("percentile", "size_bytes"),
           "Time from sending a message to an empty queue until it can be received, at a percentile.",
           "Queues that already hold messages.", 8e-2),
    Metric("consistency_time_s", "s", Better.LOWER, Group.STORAGE, Reduce.MEDIAN, ("service",),
           "Time from a write until all reads return it, seen from the same data centre.",
           "Readers in other data centres.", 6e-2, signed=True),
    Metric("stale_read_ratio", "ratio", Better.LOWER, Group.STORAGE, Reduce.MEDIAN, ("service",),
           "Share of reads right after a write that do not return it.", "Later reads.", 5e-2, signed=True),
)  # fmt: skip

PROBES = (
    Probe("table", ("table_latency_s", "table_op_per_s"),
          (choice("op", "get put query", "operation"), Param("entries", ParamKind.COUNT, "1000", "rows in the table"), _CONCURRENCY, duration("10")),
          "Operations on a table service over kept-alive connections.", "Connecting.", 10.0, SEEN_FROM, built=False),
    Probe("blob", ("blob_latency_s", "blob_bytes_per_s"),
          (choice("op", "download upload", "operation"), size("1024"), _CONCURRENCY, duration("10")),
          "Operations on a blob service; bodies are streamed and dropped.", "Connecting.", 10.0, SEEN_FROM, built=False),
    Probe("queue", ("queue_latency_s",), (choice("op", "send receive", "operation"), size("50"), _CONCURRENCY, duration("10")),
          "Operations on a queue service.", "Connecting.", 10.0, SEEN_FROM, built=False),
    Probe("propagation", ("queue_propagation_s",), (size("50"), duration("10")),
          "Sends to an empty queue and polls until the message is there.", "Queues that hold messages.", 10.0, SEEN_FROM, built=False),
    Probe("consistency", ("consistency_time_s", "stale_read_ratio"), (choice("service", "table blob queue", "which service"), duration("10")),
          "Writes, then reads until the write is seen everywhere.", "Readers in other data centres.", 10.0, SEEN_FROM, built=False),
)  # fmt: skip

SUITES = (
    suite("storage", "Table, blob and queue operations, propagation and consistency (CloudCmp, table 2).",
           ("table", {"op": "get put query", "entries": "1000 100000"}),
           ("blob", {"op": "download upload", "size_bytes": "1024 10485760"}),
           ("queue", {"op": "send receive"}), ("propagation", {}), ("consistency", {"service": "table blob queue"})),
)  # fmt: skip
