"""File operations in records, each thread on its own file."""

from collections.abc import Mapping

from cloudcmp.catalog.tables.base import choice, compute, suite, threads
from cloudcmp.model.metric import Better, Param, ParamKind, Probe, Reduce

_OPS = "write rewrite read reread random_read random_write backward_read stride_read record_rewrite"
# The expected times of a synchronous write and of a read that waits for the disk, and rates of bytes.
_SYNC_S, _READ_S, _CACHED_S, _DISK_BYTES_PER_S, _CACHE_BYTES_PER_S = 1e-3, 2e-4, 1e-6, 1e8, 1e9
# The automatic mode of IOzone: files of 64 KiB to 512 MiB, records of 4 KiB to 16 MiB, none larger than its file, and
# none below 64 KiB from files of 32 MiB on.
_FILES = tuple(2**power for power in range(16, 30))
_RECORDS = tuple(2**power for power in range(12, 25))
_LARGE_FILE, _LARGE_RECORD = 32 * 2**20, 64 * 2**10


def expected_s(params: Mapping[str, str]) -> float:
    """Seconds of one trial: it creates its files, then runs the pass, which ends after `most_s` at the latest."""
    size, record, durability = int(params["file_bytes"]), int(params["record_bytes"]), params["durability"]
    files = int(params["threads"]) if params["threads"].isdigit() else 1
    reads = "read" in params["op"] or params["op"] == "mixed"
    if durability == "cached":
        each_s, bytes_per_s = _CACHED_S, _CACHE_BYTES_PER_S
    else:
        each_s = _READ_S if reads else _CACHED_S if durability == "fsync" else _SYNC_S
        bytes_per_s = _DISK_BYTES_PER_S
    pass_s = size // record * each_s + files * size / bytes_per_s
    made_s = 0.0 if params["op"] == "write" else files * size / _DISK_BYTES_PER_S
    return made_s + min(pass_s, float(params["most_s"]))


def refusal(params: Mapping[str, str]) -> tuple[str, str]:
    """The fault for which the agent would refuse these parameters, and the advice; two empty texts if none."""
    size, record, durability = int(params["file_bytes"]), int(params["record_bytes"]), params["durability"]
    if record > size:
        what = f"a record of {record} B is larger than its file of {size} B"
        return what, "write an entry for each size of file, or use suite: iozone-auto"
    if not 512 <= record <= 64 * 2**20 or record % (512 if durability == "direct" else 8):
        return f"record_bytes: {record} B is no record", "use a power of two from 512 B to 64 MiB"
    if params["op"] == "mixed" and params["threads"] in {"one", "1"}:
        return "op=mixed has one thread read and the next one write", "use 2 threads or more"
    if params["drop"] == "all" and durability == "cached":
        return "drop=all takes away what durability=cached reads", "use osync, fsync or direct"
    return "", ""


def _records_of(size: int) -> str:
    least = _LARGE_RECORD if size >= _LARGE_FILE else _RECORDS[0]
    return " ".join(str(record) for record in _RECORDS if least <= record <= size)


METRICS = (
    compute("iozone_bytes_per_s", "B/s", Better.HIGHER, Reduce.MEDIAN, ("durability", "file_bytes", "op", "record_bytes", "threads"), 6e7,
             "Bytes of all threads' files over the time until the last thread ended, all having begun together.",
             "The disk itself where durability is `cached`; metadata operations; the sum of the threads' own rates."),
)  # fmt: skip

PROBES = (
    Probe("iozone", ("iozone_bytes_per_s",),
          (choice("op", f"{_OPS} mixed",
                  "file operation: strides are of 17 records, record_rewrite writes one record again and again, in mixed one thread "
                  "reads and the next one writes, and each record is visited once in every other"),
           Param("file_bytes", ParamKind.BYTES, "1073741824", "size of each thread's file, of which whole records are used", short="524288"),
           Param("record_bytes", ParamKind.BYTES, "65536", "size of one record: 512 B to 64 MiB", short="524288"),
           choice("durability", "osync fsync cached direct",
                  "osync: each write reaches the device; fsync: a flush ends the pass, in its time; direct: past the page "
                  "cache; cached: within it; the reads of osync and fsync find a cold page cache, or the trial fails"),
           threads(),
           choice("drop", "own all", "what is dropped from the page cache before a pass: the files; or all that the machine holds, as root"),
           Param("most_s", ParamKind.SECONDS, "600", "a pass that takes longer, or half of what its trial may, is ended and says so", short="2")),
          "One pass of a file operation of IOzone, each thread on a file of its own, made and filled before.",
          "Metadata operations, shared files, and the time of one operation.", 20.0,
          expected_s=expected_s, refusal=refusal),
)  # fmt: skip

SUITES = (
    suite("iozone", "Synchronous operations on a 3.4 GB file in records of 4 KiB, with 1 to 5 threads.",
           ("iozone", {"op": "write rewrite random_write random_read", "record_bytes": "4096", "file_bytes": "3400000000",
                       "durability": "osync", "threads": "1 2 3 4 5"})),
    suite("iozone-auto", "IOzone's automatic mode: files of 64 KiB to 512 MiB, records of 4 KiB to 16 MiB, within the page cache.",
           *(("iozone", {"op": _OPS, "file_bytes": str(size), "record_bytes": _records_of(size), "durability": "cached"})
             for size in _FILES)),
)  # fmt: skip
