"""fio's plain text output and its terse lines of version 3: rounded figures, each checked against its counts."""

import re

from cloudcmp.model.tool import Reading, Report, UnclearOutput
from cloudcmp.tools.base import BYTES, LATENCY, RATE, reading
from cloudcmp.tools.page import NUMBER, SECONDS, Page, above_zero, follows, number, scaled, whole, word

_JOB = re.compile(r"(\S.*): \(groupid=(\d+), jobs=(\d+)\): err=\s*(-?\d+).*", re.ASCII)
_HEAD = r"(\S.*): \(g=\d+\): rw=(\w+), bs=(.*?), ioengine=(\w+), iodepth=(\d+)"
_WAY = re.compile(r"\s*(read|write|trim)\s*: (?:io|IOPS)=.*")
_FIO_3 = rf"\s*\w+: IOPS=({NUMBER})([kM]?), BW=({NUMBER})(\w+)/s \(.*?\)\(({NUMBER})(\w+)/(\d+)msec\).*"
_FIO_2 = rf"\s*\w+\s*: io=({NUMBER})(\w+), bw=({NUMBER})(\w+)/s, iops=({NUMBER})([kM]?), runt=\s*(\d+)msec"
_ISSUED = r"\s*issued (?:rwts?|\s*): total=(?:r=)?(\d+)(?:,|/w=)(\d+)(?:,|/d=).*"
_TERSE = re.compile(r"(\d+);(fio-[23]\.\d[^;]*);.*", re.ASCII)
_TERSE_PLACES = {"read": 5, "write": 46}

_THOUSANDS = {"": 1.0, "k": 1e3, "M": 1e6}
_UNITS_3 = {"B": 1.0, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30, "TiB": 2.0**40, "kB": 1e3, "MB": 1e6, "GB": 1e9,
            "TB": 1e12}  # fmt: skip
# By default fio 2 prints KB for 2^10 bytes; with kb_base=1000 it does not, which the counts show.
_UNITS_2 = {"B": 1.0, "KB": 2.0**10, "MB": 2.0**20, "GB": 2.0**30, "TB": 2.0**40}
_BLOCKS = {"": 1.0, "B": 1.0, "K": 2.0**10, "KiB": 2.0**10, "M": 2.0**20, "MiB": 2.0**20}
_LEAST = 20
"""Percentiles are whole numbers of their unit: below this one the rounding would be more than 2.5 %."""


def looks_like(text: str) -> bool:
    """True if a text holds the results of a job, in either form."""
    return any(_JOB.fullmatch(line) or _TERSE.fullmatch(line) for line in text.replace("\r", "").split("\n"))


def runs(text: str) -> list[tuple[Report, ...]]:
    """For each run of fio in a text a report of each job; raises UnclearOutput. All terse lines are of one run."""
    page = Page(text)
    if lines := [(page.place(i), line) for i, line in enumerate(page.lines) if _TERSE.fullmatch(line)]:
        return [tuple(_terse(line.split(";"), place) for place, line in lines)]
    return [_of_run(run) for run in _each_run(page)]


def _each_run(page: Page) -> list[Page]:
    """The pages of single runs: each begins with the first heading of a job after the last sum of the run before."""
    begun: list[int] = []
    summed = True
    for i, line in enumerate(page.lines):
        if summed and re.fullmatch(_HEAD, line, re.ASCII):
            begun.append(i)
            summed = False
        summed = summed or line.startswith("Run status group ")
    return page.split(begun) if len(begun) > 1 else [page]


def _of_run(page: Page) -> tuple[Report, ...]:
    jobs = page.parts(lambda line: _JOB.fullmatch(line) is not None)
    if not jobs:
        raise UnclearOutput("no line begins the results of a job")
    versions = {match[1] for _, match in page.all(r"(fio-\S+)")}
    version = versions.pop() if len(versions) == 1 else ""
    return tuple(_report(page, job, version) for job in jobs)


def _report(page: Page, run: Page, version: str) -> Report:
    job = _JOB.fullmatch(run.lines[0])
    assert job is not None
    if job[4] != "0":
        raise UnclearOutput(f"{run.place(0)}: the job {job[1][:40]!r} ended with error {job[4][:9]}")
    settings, blocks = {"job": word(job[1]), "numjobs": job[3]}, {}
    if head := next((match for _, match in page.all(_HEAD) if match[1] == job[1]), None):
        settings |= {"rw": head[2], "ioengine": head[4], "iodepth": head[5]}
        blocks = _blocks(head[3])
        if len(set(blocks.values())) == 1:
            settings["bs_bytes"] = whole(next(iter(blocks.values())))
    ended = _ended(page, job[2])
    place, issued = run.one(_ISSUED, "how many requests were issued")
    counts = {"read": number(issued[1], place), "write": number(issued[2], place)}
    readings: list[Reading] = []
    left = []
    for section in run.parts(lambda line: _WAY.fullmatch(line) is not None):
        way = section.lines[0].split(":")[0].strip()
        if way not in ended:
            raise UnclearOutput(f"no line of group {job[2]} sums up what was {way}: the output is cut")
        if way == "trim":
            left.append(f"{section.place(0)}: trim")
            continue
        readings += _of_way(section, way, counts[way], blocks.get(way))
    if not readings:
        raise UnclearOutput(f"{run.place(0)}: nothing was read and nothing written")
    return Report("fio", version[:40], settings, tuple(readings), tuple(left))


def _blocks(text: str) -> dict[str, float]:
    """The sizes of a read and of a write, as far as each is a single size."""
    sizes = re.findall(r"(?:\(\w\) )?([\d.]+)(\w*?)-([\d.]+)(\w*)", text, re.ASCII)
    return {
        way: float(low) * _BLOCKS[unit]
        for way, (low, unit, high, other) in zip(("read", "write"), sizes, strict=False)
        if (low, unit) == (high, other) and unit in _BLOCKS and re.fullmatch(NUMBER, low)
    }


def _ended(page: Page, group: str) -> set[str]:
    """The directions (read, write) in the last lines, which sum up a group of jobs."""
    at = [i for i, line in enumerate(page.lines) if line == f"Run status group {group} (all jobs):"]
    if len(at) != 1:
        raise UnclearOutput(f"{len(at)} lines begin the sum of group {group}, one is needed: the output is cut")
    ways = set()
    for line in page.lines[at[0] + 1 : at[0] + 4]:
        if match := re.fullmatch(r"\s*(READ|WRITE|TRIM): .*(?:run=\d+-|maxt=)\d+msec", line, re.ASCII):
            ways.add(match[1].lower())
    return ways


def _of_way(section: Page, way: str, count: float, block: float | None) -> list[Reading]:
    if new := section.maybe(_FIO_3, way):
        place, match = new
        iops, kilo, bw, bw_unit, io, io_unit, ms = match.groups()
        units = _UNITS_3
    else:
        place, match = section.one(_FIO_2, f"what was {way}, in a form that is known")
        io, io_unit, bw, bw_unit, iops, kilo, ms = match.groups()
        units = _UNITS_2
    seconds = above_zero(ms, place) * 1e-3
    moved = scaled(io, io_unit, units, place) / seconds
    follows(scaled(bw, bw_unit, units, place), moved, 0.012, place)
    rate = above_zero(str(count), place) / seconds
    follows(scaled(iops, kilo, _THOUSANDS, place), rate, 0.012 + 1 / rate, place)
    if block is not None:  # the counts are whole, the moved bytes are rounded
        follows(rate * block, moved, 0.012, place)
        moved = rate * block
    elif units is _UNITS_2:
        raise UnclearOutput(
            f"{place}: the size of a request is not told, and without it not whether a KB is 1000 or 1024 bytes"
        )
    readings = [reading(f"{way}_bandwidth", BYTES, moved), reading(f"{way}_iops", RATE, rate)]
    return readings + [reading(f"{way}_latency_{name}", LATENCY, value) for name, value in _latencies(section)]


def _latencies(section: Page) -> list[tuple[str, float]]:
    """Completion latencies; empty if they were not measured."""
    latencies = []
    mean = rf"\s*clat \((\w+)\): min=\s*\S+, max=\s*\S+, avg=\s*({NUMBER}), stdev=\s*\S+"
    if line := section.maybe(mean, "the mean latency"):
        latencies.append(("mean", scaled(line[1][2], line[1][1], SECONDS, line[0])))
    if line := section.maybe(r"\s*clat percentiles \((\w+)\):", "the unit of percentiles"):
        if line[1][1] not in SECONDS:
            raise UnclearOutput(f"{line[0]}: the unit {line[1][1][:20]!r} is not known")
        rows = [match[0] for _, match in section.all(r"\s*\|.*")]
        values = dict(re.findall(r"([\d.]+)th=\[\s*(\d+)\]", "".join(rows), re.ASCII))
        for name, key in (("p50", "50.00"), ("p99", "99.00")):
            if key in values and number(values[key], line[0]) >= _LEAST:
                latencies.append((name, float(values[key]) * SECONDS[line[1][1]]))
    return latencies


def _terse(cells: list[str], place: str) -> Report:
    """A line of terse version 3: KiB, KiB a second, milliseconds, and microseconds for latencies."""
    if cells[0] != "3" or len(cells) < 88:
        raise UnclearOutput(f"{place}: this is no whole line of terse version 3, which is read")
    if cells[4] != "0":
        raise UnclearOutput(f"{place}: the job {cells[2][:40]!r} ended with error {cells[4][:9]}")
    readings: list[Reading] = []
    left = []
    for way, at in _TERSE_PLACES.items():
        io, bw, iops = (number(cell, place) for cell in cells[at : at + 3])
        if not io and not bw:
            continue
        shares = dict(re.findall(r"([\d.]+)%=(\d+)", ";".join(cells[at + 12 : at + 32]), re.ASCII))
        moved, seconds = above_zero(cells[at], place) * 1024, above_zero(cells[at + 3], place) * 1e-3
        follows(bw * 1024, moved / seconds, 0.01 + 1024 * seconds / moved, place)
        readings.append(reading(f"{way}_bandwidth", BYTES, moved / seconds))
        readings.append(reading(f"{way}_latency_mean", LATENCY, above_zero(cells[at + 10], place) * 1e-6))
        if iops >= 100:
            readings.append(reading(f"{way}_iops", RATE, iops))
        else:
            left.append(f"{place}: {iops:g} {way}s a second, which are rounded to a whole number")
        for name, key in (("p50", "50.000000"), ("p99", "99.000000")):
            if key in shares and number(shares[key], place) >= _LEAST:
                readings.append(reading(f"{way}_latency_{name}", LATENCY, float(shares[key]) * 1e-6))
    if not readings:
        raise UnclearOutput(f"{place}: nothing was read and nothing written")
    return Report("fio", cells[1][:40], {"job": word(cells[2])}, tuple(readings), tuple(left))
