"""A mail server's load on many small files."""

from cloudcmp.catalog.tables.base import compute
from cloudcmp.model.metric import Better, Param, ParamKind, Probe, Reduce, Suite

METRICS = (
    compute("postmark_op_per_s", "op/s", Better.HIGHER, Reduce.MEDIAN, ("files", "size_bytes", "transactions"), 3e3,
             "Transactions a second of a mail server's load on many small files.",
             "The disk itself where the files fit into memory."),
)  # fmt: skip

PROBES = (
    Probe("postmark", ("postmark_op_per_s",),
          (Param("files", ParamKind.COUNT, "3000", "files kept"), Param("size_bytes", ParamKind.TEXT, "1024-20480", "range of file sizes"),
           Param("transactions", ParamKind.COUNT, "15000", "transactions")),
          "A mail server's load on many small files.", "Large files.", 30.0, built=False),
)  # fmt: skip

SUITES: tuple[Suite, ...] = ()
