"""Two more tables of Spare Cores: bandwidth and latency of memory by size, and stress-ng by its number of workers."""

import re

from cloudcmp.model.tool import Reader, Reading, Report, UnclearOutput
from cloudcmp.tools.base import BYTES, KIB, LATENCY, MIB, RATE, reading
from cloudcmp.tools.page import NUMBER, Page, above_zero, follows, has_head, number, whole

_HEAD = "size_kb,operation,bandwidth_mb_s,latency_ns,latency_stddev_ns,latency_samples,threads,iterations,elapsed_s"


def _whole_rows(text: str, what: str) -> Page:
    page = Page(text)
    if page.rest.strip():
        raise UnclearOutput("the last line has no end: the output is cut")
    if not any(line.strip() for line in page.lines):
        raise UnclearOutput(f"there is no {what}")
    return page


def _membench(text: str) -> tuple[Report, ...]:
    page = _whole_rows(text, "table")
    if page.lines[0] != _HEAD:
        raise UnclearOutput("line 1: these are not the columns of this table")
    reports: list[Report] = []
    for i, line in enumerate(page.lines[1:], 1):
        cells, where = line.split(","), page.place(i)
        if len(cells) != len(_HEAD.split(",")) or cells[1] not in {"read", "write", "copy", "latency"}:
            raise UnclearOutput(f"{where}: this is no row of the table")
        size = above_zero(cells[0], where) * KIB
        threads = above_zero(cells[6], where)
        settings = {"op": cells[1], "size_bytes": whole(size), "threads": whole(threads)}
        if any(one.settings == settings for one in reports):
            raise UnclearOutput(f"{where}: {cells[1]} of this size is told again")
        reports.append(Report("membench", "", settings, (_figure(cells, size * threads, where),)))
    if not reports:
        raise UnclearOutput("the table has no row")
    return tuple(reports)


def _figure(cells: list[str], round_bytes: float, where: str) -> Reading:
    """The figure of a row. Its megabytes have 2^20 bytes, as its rounds and their time show."""
    if cells[1] == "latency":
        if number(cells[2], where):
            raise UnclearOutput(f"{where}: a latency with a bandwidth")
        return reading("latency", LATENCY, above_zero(cells[3], where) * 1e-9)
    rate, seconds = above_zero(cells[2], where) * MIB, above_zero(cells[8], where)
    follows(rate, above_zero(cells[7], where) * round_bytes / seconds, 0.001 + 1e-6 / seconds, where)
    return reading("bandwidth", BYTES, rate)


def _scaling(text: str) -> tuple[Report, ...]:
    """Bogo operations a second of all workers, a line for each number of them, in ascending order."""
    page = _whole_rows(text, "line")
    reports: list[Report] = []
    last = 0.0
    for i, line in enumerate(page.lines):
        match = re.fullmatch(rf"(\d+),({NUMBER})", line, re.ASCII)
        if match is None or number(match[1], page.place(i)) <= last:
            raise UnclearOutput(f"{page.place(i)}: this is no number of workers above the last, and a rate")
        last = number(match[1], page.place(i))
        rate = above_zero(match[2], page.place(i))
        reports.append(Report("stressngfull", "", {"workers": match[1]}, (reading("bogo_ops", RATE, rate),)))
    return tuple(reports)


READERS = (
    Reader("membench", "Spare Cores' table of memory: bandwidth and latency by size", has_head(_HEAD), _membench),
    Reader("stressngfull", "Spare Cores' lines of workers and bogo operations; only by name, its lines say not what "
           "they are", lambda _: False, _scaling),
)  # fmt: skip
