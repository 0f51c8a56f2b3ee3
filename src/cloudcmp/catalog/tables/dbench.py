"""A file server's load, replayed by many clients."""

from collections.abc import Mapping

from cloudcmp.catalog.tables.base import choice, compute, duration, suite
from cloudcmp.model.metric import Better, Param, ParamKind, Probe, Reduce

_CELL = ("clients", "loadfile", "mode")
_OF_AN_OP = ("clients", "loadfile", "mode", "op")
_OPS = "ntcreatex close rename unlink deltree mkdir rmdir qpathinfo qfileinfo qfsinfo sfileinfo find writex readx lockx unlockx flush"


def _dbench_s(filled: Mapping[str, str]) -> float:
    """A warm-up of a fifth; reading the loadfile, and creating and removing each client's files."""
    return 1.2 * float(filled["duration_s"]) + 0.3 + 0.03 * int(filled["clients"])


METRICS = (
    compute("dbench_bytes_per_s", "B/s", Better.HIGHER, Reduce.MEDIAN, _CELL, 1e8,
             "Bytes read and written a second by N clients that replay a file server's load.",
             "The disk alone: reads come from the page cache where the files fit into memory, and in mode `async` only flushes wait for the disk."),
    compute("dbench_op_per_s", "op/s", Better.HIGHER, Reduce.MEDIAN, _OF_AN_OP, 1e3,
             "How often one operation of the load ended in a second, over all clients.",
             "Operations that did not end in the measured time: they have no value.", sparse=True, op=_OPS),
    compute("dbench_mean_latency_s", "s", Better.LOWER, Reduce.MEDIAN, _OF_AN_OP, 1e-4,
             "Mean time of one operation of the load, with the look-up of its name.",
             "Operations that did not end in the measured time: they have no value.", sparse=True, op=_OPS),
    compute("dbench_max_latency_s", "s", Better.LOWER, Reduce.MEDIAN, _OF_AN_OP, 1e-2,
             "Longest time of one operation of the load; it grows with the number of operations.",
             "Operations that did not end in the measured time: they have no value.", sparse=True, op=_OPS),
)  # fmt: skip

PROBES = (
    Probe("dbench", ("dbench_bytes_per_s", "dbench_op_per_s", "dbench_mean_latency_s", "dbench_max_latency_s"),
          (Param("clients", ParamKind.COUNT, "1", "clients at once, each in a folder of its own", short="50"),
           choice("mode", "async sync fsync",
                  "async: only flushes wait for the disk; fsync: each write too; sync: O_SYNC, and folders as well (dbench -F -S -s)"),
           duration("600"),
           Param("loadfile", ParamKind.TEXT, "auto",
                 "what is replayed; auto: dbench's own where it is installed, else ours; or a path on the machine", ("auto", "own"))),
          "Replays a file server's load of named operations, after a warm-up of a fifth of the time; every status, every byte count"
          " and all files left are checked.",
          "A network, SMB itself; where the files fit into memory, reads of the disk.", 600.0, expected_s=_dbench_s),
)  # fmt: skip

SUITES = (
    suite("dbench", "A file server's load by 1 to 300 clients, with and without synchronous operations.",
           ("dbench", {"clients": "1 2 25 50 100 200 300", "mode": "async sync", "duration_s": "30"})),
)  # fmt: skip
