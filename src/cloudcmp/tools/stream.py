"""STREAM 5 (John McCalpin): sustained memory bandwidth. Users compile it; no distribution has a package."""

import re

from cloudcmp.model.tool import Reader, Report, Tool, UnclearOutput
from cloudcmp.tools.base import BYTES, at_once, measures, path, processors, quoted, reading
from cloudcmp.tools.page import NUMBER, Page, above_zero, begins, each_run, follows, whole

# The number of arrays that a kernel reads and writes, by STREAM's count: moved bytes are this times an array's size.
_ARRAYS = {"Copy": 2, "Scale": 2, "Add": 3, "Triad": 3}
_HEAD = re.compile(r"Function\s+(?:Best Rate MB/s\s+Avg time|Rate \(MB/s\)\s+Avg time)\s+Min time\s+Max time\s*")


_BEGINS = re.compile(r"STREAM version (.*)")


def _report(run: Page, first: re.Match[str]) -> Report:
    if not any(_HEAD.fullmatch(line) for line in run.lines):
        raise UnclearOutput("no line says that rates are in MB/s and times in seconds")
    run.one(r"Solution Validates.*", "that the results are right")
    place, match = run.one(r"Array size = (\d+)(?: \(elements\).*|, Offset.*)", "the size of an array")
    elements = above_zero(match[1], place)
    place, match = run.one(
        r"This system uses (\d+) bytes per (?:array element|DOUBLE PRECISION word)\.", "the size of an element"
    )
    array_bytes = elements * above_zero(match[1], place)
    settings = {"array_bytes": whole(array_bytes)}
    if threads := run.maybe(r"Number of Threads counted = (\d+)", "the number of threads"):
        settings["threads"] = threads[1][1]
    readings = []
    for name, arrays in _ARRAYS.items():
        place, match = run.one(
            rf"{name}:\s+({NUMBER})\s+({NUMBER})\s+({NUMBER})\s+({NUMBER})\s*", f"the rate of {name}"
        )
        rate, least = above_zero(match[1], place) * 1e6, above_zero(match[3], place)
        follows(rate, arrays * array_bytes / least, 0.001 + 1e-6 / least, place)
        readings.append(reading(name.lower(), BYTES, rate))
    version = first[1].partition("Revision:")[2].strip(" $")
    return Report("stream", version[:20], settings, tuple(readings))


READER = Reader(
    "stream",
    "text of STREAM 5",
    begins(r"STREAM version \$Revision:"),
    each_run(_BEGINS, "no line tells the version of STREAM", _report),
)

TOOLS = (
    Tool("stream", "The four rates of STREAM, compiled by its user.", "Caches, if its arrays are large enough.", (),
         (path("path", "stream", "the program on the measured machine: its name, or its path"), at_once()),
         lambda s: f"OMP_NUM_THREADS={processors(s)} {quoted(s, 'path')}",
         lambda _: measures(copy=BYTES, scale=BYTES, add=BYTES, triad=BYTES), READER, lambda _: 60.0),
)  # fmt: skip
