"""netperf, and the message rates of the OSU benchmarks; import only."""

import re

from cloudcmp.model.tool import Reader, Reading, Report, UnclearOutput
from cloudcmp.tools.base import BYTES, LATENCY, RATE, reading
from cloudcmp.tools.page import NUMBER, Page, above_zero, begins, follows, word

_HEAD = r"Throughput,Throughput Units,.*"
_TITLE = r"(?:MIGRATED )?(TCP|UDP)[ _](REQUEST/RESPONSE|Connect/Request/Response|STREAM|CRR|RR) TEST from .*"
_KINDS = {"REQUEST/RESPONSE": "rr", "RR": "rr", "Connect/Request/Response": "crr", "CRR": "crr", "STREAM": "stream"}
_UNITS = {
    "Trans/s": (RATE, 1.0),
    "10^3bits/s": (BYTES, 1e3 / 8),
    "10^6bits/s": (BYTES, 1e6 / 8),
    "10^9bits/s": (BYTES, 1e9 / 8),
}
_LATENCIES = {"50th Percentile Latency Microseconds": "latency_p50", "90th Percentile Latency Microseconds": "latency_p90",
              "99th Percentile Latency Microseconds": "latency_p99"}  # fmt: skip

_OSU = r"# OSU MPI Multiple Bandwidth / Message Rate Test v(\S+)"


def _is_netperf(text: str) -> bool:
    return bool(re.search(rf"^(?:{_HEAD}|{_TITLE})$", text.replace("\r", ""), re.MULTILINE))


def _netperf(text: str) -> tuple[Report, ...]:
    page = Page(text)
    _, title = page.one(_TITLE, "which test it was")
    return _chosen(page, title) if page.all(_HEAD) else _usual(page, title)


def _usual(page: Page, title: re.Match[str]) -> tuple[Report, ...]:
    """The report of a test without -o: a table with the units below the columns, and one row."""
    test = f"{title[1].lower()}_{_KINDS[title[2]]}"
    if test == "udp_stream":
        raise UnclearOutput("the usual table of UDP_STREAM is not read; choose columns with -o")
    if test == "tcp_stream":
        _, units = page.one(r"bytes\s+bytes\s+bytes\s+secs\.\s+(10\^[369]bits)/sec\s*", "the units of the table")
        place, row = page.one(rf"\s*\d+\s+\d+\s+\d+\s+{NUMBER}\s+({NUMBER})\s*", "the row of the table")
        metric, unit = _UNITS[f"{units[1]}/s"]
    else:
        page.one(r"bytes\s+Bytes\s+bytes\s+bytes\s+secs\.\s+per sec\s*", "the units of the table")
        place, row = page.one(rf"\s*\d+\s+\d+\s+\d+\s+\d+\s+{NUMBER}\s+({NUMBER})\s*", "the row of the table")
        metric, unit = RATE, 1.0
    readings = (reading("throughput", metric, above_zero(row[1], place) * unit),)
    return (Report("netperf", "", {"test": test}, readings),)


def _chosen(page: Page, title: re.Match[str]) -> tuple[Report, ...]:
    """The report of a test with -o: a title, the names of the columns, their values."""
    head, _ = page.one(_HEAD, "the columns")
    at = next(i for i, line in enumerate(page.lines) if re.fullmatch(_HEAD, line))
    names = page.lines[at].split(",")
    cells = page.lines[at + 1].split(",") if at + 1 < len(page.lines) else []
    if len(cells) != len(names) or len(set(names)) != len(names):
        raise UnclearOutput(
            f"{head}: {len(cells)} values for {len(names)} columns; a wrapped line must be made one again"
        )
    of, where = dict(zip(names, cells, strict=True)), page.place(at + 1)
    if of["Throughput Units"] not in _UNITS:
        raise UnclearOutput(f"{where}: the unit {word(of['Throughput Units'])} is none of {', '.join(_UNITS)}")
    metric, unit = _UNITS[of["Throughput Units"]]
    kind = _KINDS[title[2]]
    if (metric == RATE) != (kind != "stream"):
        raise UnclearOutput(f"{where}: {of['Throughput Units']} is no unit of this test")
    readings: list[Reading] = [reading("throughput", metric, above_zero(of["Throughput"], where) * unit)]
    if kind != "stream":
        known = [(name, of[column]) for column, name in _LATENCIES.items() if column in of]
        readings += [reading(name, LATENCY, above_zero(value, where) * 1e-6) for name, value in known]
        values = [one.value for one in readings[1:]]
        if values != sorted(values):
            raise UnclearOutput(f"{where}: the latencies do not grow with their percentile")
    return (Report("netperf", "", {"test": f"{title[1].lower()}_{kind}"}, tuple(readings)),)


def _osu(text: str) -> tuple[Report, ...]:
    """osu_mbw_mr: for each size, millions of bytes a second of all pairs, and messages a second."""
    page = Page(text)
    version = page.one(_OSU, "the version")[1][1]
    pairs = page.one(r"# \[ pairs: (\d+) \] \[ window size: (\d+) \]", "pairs and window")[1]
    place, _ = page.one(r"# Size\s+MB/s\s+Messages/s\s*", "the columns")
    first = int(place.removeprefix("line ")) - page.first + 1
    reports: list[Report] = []
    for i in range(first, len(page.lines)):
        if not page.lines[i].strip():
            continue
        row = re.fullmatch(rf"(\d+)\s+({NUMBER})\s+({NUMBER})\s*", page.lines[i], re.ASCII)
        if row is None:
            raise UnclearOutput(f"{page.place(i)}: this is no size with two rates")
        moved, rate = above_zero(row[2], page.place(i)) * 1e6, above_zero(row[3], page.place(i))
        follows(moved, rate * above_zero(row[1], page.place(i)), 0.001 + 0.006e6 / moved, page.place(i))
        settings = {"pairs": pairs[1], "window": pairs[2], "size_bytes": row[1]}
        if any(one.settings == settings for one in reports):
            raise UnclearOutput(f"{page.place(i)}: this size is told again")
        reports.append(
            Report(
                "osu_mbw_mr", version, settings, (reading("bandwidth", BYTES, moved), reading("messages", RATE, rate))
            )
        )
    if not reports:
        raise UnclearOutput("the table has no row")
    return tuple(reports)


READERS = (
    Reader("netperf", "netperf's table of TCP, or its columns chosen with -o, throughput first", _is_netperf, _netperf),
    Reader("osu_mbw_mr", "text of the OSU multiple bandwidth and message rate test", begins(_OSU), _osu),
)
