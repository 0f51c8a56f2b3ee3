"""dbench 4 (Andrew Tridgell): the disk side of a recorded file server load."""

import re

from cloudcmp.model.tool import Reader, Report, Settings, Tool, UnclearOutput
from cloudcmp.tools.base import BYTES, LATENCY, choice, count, duration, measures, reading, whole_seconds
from cloudcmp.tools.page import NUMBER, Page, above_zero, begins, each_run, near

_BEGINS = re.compile(r"dbench version (\S+) - Copyright Andrew Tridgell.*")
_LAST = rf"Throughput ({NUMBER}) MB/sec((?: \(sync \w+\))*)\s+(\d+) clients\s+(\d+) procs\s+max_latency=({NUMBER}) ms"
_SYNC = {"": "none", "open": "open", "dirs": "dirs", "open dirs": "both"}
_FLAGS = {"none": "", "open": "-s ", "dirs": "-S ", "both": "-s -S "}


def _report(run: Page, first: re.Match[str]) -> Report:
    place, last = run.one(_LAST, "the throughput")
    _, planned = run.one(
        r"Running for (\d+) seconds with load '.*' and minimum warmup \d+ secs", "how long it was to run"
    )
    moved = above_zero(last[1], place)
    # Tools of other versions take another number of bytes for a MB; the last line before the end has the same figure.
    steps = run.all(rf"\s*\d+\s+\d+\s+({NUMBER}) MB/sec\s+execute\s+\d+ sec\s+latency {NUMBER} ms")
    if not steps or not near(above_zero(steps[-1][1][1], steps[-1][0]), moved, 0.001 + 0.006 / moved):
        raise UnclearOutput(f"{place}: the throughput is not that of the last line before")
    sync = _SYNC.get(" ".join(re.findall(r"\(sync (\w+)\)", last[2])))
    if sync is None:
        raise UnclearOutput(f"{place}: {last[2].strip()[:40]!r} is not known")
    settings = {"clients": last[3], "duration_s": planned[1], "sync": sync}
    readings = (
        reading("throughput", BYTES, moved * 1e6),
        reading("latency_max", LATENCY, above_zero(last[5], place) * 1e-3),
    )
    return Report("dbench", first[1], settings, readings)


READER = Reader(
    "dbench",
    "text of dbench 4",
    begins("dbench version "),
    each_run(_BEGINS, "no line tells the version of dbench", _report),
)


def _command(settings: Settings) -> str:
    return f"dbench {_FLAGS[settings['sync']]}-t {whole_seconds(settings)} -D . {settings['clients']}"


TOOLS = (
    Tool("dbench", "Bytes a second that the clients of a recorded load moved, and the longest wait.",
         "The network; without sync, the disk: it stays in the page cache.",
         (("debian", "dbench"), ("fedora", "dbench")),
         (count("clients", "1", "clients at once"), duration("60", "2"),
          choice("sync", "none open dirs both", "what is written through: nothing, files, folders, or both")),
         _command, lambda _: measures(throughput=BYTES, latency_max=LATENCY), READER,
         lambda s: float(s["duration_s"]) * 1.3 + 10),
)  # fmt: skip
