"""A mail server's load on many small files."""

from collections.abc import Mapping

from cloudcmp.catalog.tables.base import choice, compute, suite
from cloudcmp.model.metric import Better, Param, ParamKind, Probe, Reduce

_CELL = ("buffered", "files", "folders", "size_bytes", "transactions")
_OF_AN_OP = ("buffered", "files", "folders", "op", "size_bytes", "transactions")
# The expected time of one operation on a small file.
_EACH_S = 4e-4


def _postmark_s(filled: Mapping[str, str]) -> float:
    """Each file is created, read and removed; a transaction is two operations."""
    return 0.3 + _EACH_S * (3 * int(filled["files"]) + 2 * int(filled["transactions"]))


METRICS = (
    compute("postmark_op_per_s", "op/s", Better.HIGHER, Reduce.MEDIAN, _CELL, 3e3,
             "Transactions a second of a mail server's load on many small files: one reads or appends, then creates or deletes.",
             "The disk itself where the files fit into memory."),
    compute("postmark_time_s", "s", Better.LOWER, Reduce.MEDIAN, _CELL, 5.0,
             "Time of a mail server's load: making the files, the transactions, and removing what is left.",
             "The disk itself where the files fit into memory."),
    compute("postmark_file_op_per_s", "op/s", Better.HIGHER, Reduce.MEDIAN, _OF_AN_OP, 1.5e3,
             "How many files were created, read, appended to and deleted a second within the transactions; and in making and removing them alone.",
             "The disk itself where the files fit into memory.", sparse=True,
             op="create read append delete create_alone delete_alone"),
    compute("postmark_bytes_per_s", "B/s", Better.HIGHER, Reduce.MEDIAN, _OF_AN_OP, 3e7,
             "Bytes read and bytes written a second over the whole load.",
             "The disk itself where the files fit into memory.", sparse=True, op="read write"),
)  # fmt: skip

PROBES = (
    Probe("postmark", ("postmark_op_per_s", "postmark_time_s", "postmark_file_op_per_s", "postmark_bytes_per_s"),
          (Param("files", ParamKind.COUNT, "3000", "files made at first", short="500"),
           Param("size_bytes", ParamKind.TEXT, "1024-20480", "range of their sizes, B"),
           Param("transactions", ParamKind.COUNT, "15000", "transactions", short="500"),
           Param("folders", ParamKind.COUNT, "1", "folders that the files are in"),
           choice("buffered", "yes no", "moved in pages of 4 KiB, as files of C's standard library are; or block by block"),
           Param("read_bytes", ParamKind.BYTES, "512", "block of a read"), Param("write_bytes", ParamKind.BYTES, "512", "block of a write"),
           Param("bias_read", ParamKind.COUNT, "5", "reads among ten reads and appends"),
           Param("bias_create", ParamKind.COUNT, "5", "creations among ten creations and deletions"),
           Param("seed", ParamKind.COUNT, "42", "of sizes, of the order, and of what is done to which file")),
          "A mail server's load on many small files (Katcher, NetApp TR-3022); every file that is left is read and held against what was"
          " written to it.", "Large files, threads; the disk itself where the files fit into memory.", 4.0, expected_s=_postmark_s),
)  # fmt: skip

SUITES = (
    suite("postmark", "A mail server's load: Delgado's 3000 files and 15000 transactions, and Katcher's 500 and 500.",
           ("postmark", {"files": "3000", "size_bytes": "1024-20480", "transactions": "15000"}),
           ("postmark", {"files": "500", "size_bytes": "500-10000", "transactions": "500"})),
)  # fmt: skip
