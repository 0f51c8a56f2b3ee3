"""File operations in records, each thread on a file of its own."""

from cloudcmp.catalog.tables.base import choice, compute, threads
from cloudcmp.model.metric import Better, Param, ParamKind, Probe, Reduce, Suite

METRICS = (
    compute("iozone_bytes_per_s", "B/s", Better.HIGHER, Reduce.MEDIAN, ("durability", "file_bytes", "op", "record_bytes", "threads"), 6e7,
             "Bytes moved a second by one file operation, each thread on a file of its own.",
             "The disk itself where the page cache serves the reads."),
)  # fmt: skip

PROBES = (
    Probe("iozone", ("iozone_bytes_per_s",),
          (choice("op", "write rewrite read reread random_read random_write backward_read stride_read record_rewrite mixed", "file operation"),
           Param("file_bytes", ParamKind.BYTES, "1073741824", "size of each file", short="1048576"),
           Param("record_bytes", ParamKind.BYTES, "65536", "size of one record"),
           choice("durability", "osync fsync cached direct", "what bypasses or flushes the page cache"), threads()),
          "One file operation of IOzone, each thread on a file of its own.", "Metadata operations.", 60.0, built=False),
)  # fmt: skip

SUITES: tuple[Suite, ...] = ()
