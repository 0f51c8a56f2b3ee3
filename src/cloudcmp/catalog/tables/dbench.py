"""A file server's load, replayed by many clients."""

from cloudcmp.catalog.tables.base import choice, compute, duration
from cloudcmp.model.metric import Better, Param, ParamKind, Probe, Reduce, Suite

METRICS = (
    compute("dbench_bytes_per_s", "B/s", Better.HIGHER, Reduce.MEDIAN, ("clients", "mode"), 1e8,
             "Bytes read and written a second by N clients that replay a file server's load.",
             "The disk itself where the mode is not synchronous."),
)  # fmt: skip

PROBES = (
    Probe("dbench", ("dbench_bytes_per_s",),
          (Param("clients", ParamKind.COUNT, "1", "clients at once"), choice("mode", "async sync fsync", "synchronous or not"), duration("600")),
          "Replays a file server's load.", "The disk itself where the mode is async.", 600.0, built=False),
)  # fmt: skip

SUITES: tuple[Suite, ...] = ()
