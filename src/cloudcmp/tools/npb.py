"""NAS Parallel Benchmarks 3: the summary at the end of each program's output."""

import re

from cloudcmp.model.tool import Reader, Report, Settings, Tool, UnclearOutput
from cloudcmp.tools.base import FLOPS, RATE, TIME, at_once, measures, path, processors, quoted, reading
from cloudcmp.tools.page import NUMBER, Page, above_zero, each_run, follows, has_line, word

_BEGINS = re.compile(r"\s*(BT|CG|EP|FT|IS|LU|MG|SP|UA|DC) Benchmark Completed\.?")
_KINDS = {"floating point": FLOPS}
"""Counts of other things (keys, random numbers) are read as operations."""


def _field(run: Page, label: str) -> tuple[str, str]:
    place, match = run.one(rf"\s*{label}\s*=\s*(\S.*?)\s*", label)
    return place, match[1]


def _report(run: Page, first: re.Match[str]) -> Report:
    place, verified = _field(run, "Verification")
    if verified != "SUCCESSFUL":
        raise UnclearOutput(f"{place}: the verification is {verified[:40]!r}, not SUCCESSFUL")
    settings = {"benchmark": first[1].lower(), "class": word(_field(run, "Class")[1])}
    place, seconds = _field(run, "Time in seconds")
    time_s = above_zero(seconds, place)
    place, millions = _field(run, "Mop/s total")
    rate = above_zero(millions, place) * 1e6
    for label, one in (("threads", "thread"), ("processes", "process")):
        if line := run.maybe(rf"\s*Total {label}\s*=\s*(\d+)\s*", label):
            settings[label] = line[1][1]
            if each := run.maybe(rf"\s*Mop/s/{one}\s*=\s*({NUMBER})\s*", f"the share of a {one}"):
                all_s = above_zero(each[1][1], each[0]) * 1e6 * above_zero(line[1][1], line[0])
                follows(rate, all_s, 0.01, place)
    kind = _field(run, "Operation type")[1]
    version = _field(run, "Version")[1]
    metric = _KINDS.get(kind, RATE)
    return Report("npb", version[:20], settings, (reading("operations", metric, rate), reading("time", TIME, time_s)))


READER = Reader(
    "npb",
    "text of the NAS Parallel Benchmarks 3, OpenMP, MPI or serial",
    has_line(_BEGINS),
    each_run(_BEGINS, "no line says that a benchmark is completed", _report),
)


def _command(settings: Settings) -> str:
    return f"OMP_NUM_THREADS={processors(settings)} {quoted(settings, 'path')}"


TOOLS = (
    Tool("npb", "One of the programs of the NAS benchmarks that count floating-point operations, verified by itself.",
         "Building it; IS and EP count other operations and can be imported only.", (),
         (path("path", "bt.A.x", "the program on the measured machine: its name, or its path"), at_once()),
         _command, lambda _: measures(operations=FLOPS, time=TIME), READER, lambda _: 300.0),
)  # fmt: skip
