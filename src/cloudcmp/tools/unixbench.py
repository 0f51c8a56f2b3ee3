"""UnixBench 5: twelve system tests, each relative to a machine of 1995, and their index."""

import math
import re

from cloudcmp.model.tool import Reader, Report, Settings, Tool, UnclearOutput
from cloudcmp.tools.base import INDEX, at_once, measures, path, processors, quoted, reading
from cloudcmp.tools.page import NUMBER, Page, above_zero, each_run

# Name, unit and score of the machine with index 10: the file pgms/index.base of UnixBench 5.1.3.
_TESTS = {
    "dhrystone": ("Dhrystone 2 using register variables", "lps", 116700.0),
    "whetstone": ("Double-Precision Whetstone", "MWIPS", 55.0),
    "execl": ("Execl Throughput", "lps", 43.0),
    "copy_1024": ("File Copy 1024 bufsize 2000 maxblocks", "KBps", 3960.0),
    "copy_256": ("File Copy 256 bufsize 500 maxblocks", "KBps", 1655.0),
    "copy_4096": ("File Copy 4096 bufsize 8000 maxblocks", "KBps", 5800.0),
    "pipe": ("Pipe Throughput", "lps", 12440.0),
    "context_switch": ("Pipe-based Context Switching", "lps", 4000.0),
    "process": ("Process Creation", "lps", 126.0),
    "shell_1": ("Shell Scripts (1 concurrent)", "lpm", 42.4),
    "shell_8": ("Shell Scripts (8 concurrent)", "lpm", 6.0),
    "system_call": ("System Call Overhead", "lps", 15000.0),
}
_BEGINS = re.compile("Benchmark Run: .*")
_TOTAL = r"\s*System Benchmarks Index Score\s+(\S+)\s*"
_ROUNDED = 0.0501
"""Every figure is printed with one digit after the point."""


def _looks_like(text: str) -> bool:
    return bool(re.search(r"^Benchmark Run: ", text, re.MULTILINE)) and "System Benchmarks Index" in text


def _report(run: Page, _: re.Match[str]) -> Report:
    copies = run.one(r"\d+ CPUs? in system; running (\d+) parallel cop(?:y|ies) of tests", "how many copies ran")[1]
    if partial := run.maybe(r"\s*System Benchmarks Index Score \(Partial Only\).*", "a partial index"):
        raise UnclearOutput(f"{partial[0]}: the index is of a part of the tests only")
    scores = {name: _score(run, name) for name in _TESTS}
    indices = {name: _index(run, name, scores[name]) for name in _TESTS}
    place, match = run.one(_TOTAL, "the index of all tests")
    total = above_zero(match[1], place)
    mean = math.exp(math.fsum(map(math.log, indices.values())) / len(indices))
    doubt = mean * math.fsum(_ROUNDED / scores[name] for name in _TESTS) / len(_TESTS)
    if abs(total - mean) > _ROUNDED + doubt:
        raise UnclearOutput(
            f"{place}: the index {total:g} does not follow from the twelve scores, which give {mean:.1f}"
        )
    readings = (
        reading("index", INDEX, total),
        *(reading(f"{name}_index", INDEX, one) for name, one in indices.items()),
    )
    return Report("unixbench", "", {"copies": copies[1]}, readings)


def _score(run: Page, name: str) -> float:
    label, unit, _ = _TESTS[name]
    place, match = run.one(rf"{re.escape(label)}\s+({NUMBER}) (\w+)\s+\(.*\)", f"the score of {label}")
    if match[2] != unit:
        raise UnclearOutput(f"{place}: {label} is in {match[2][:20]}, not in {unit}")
    return above_zero(match[1], place)


def _index(run: Page, name: str, score: float) -> float:
    """The index of a test from its score; raises UnclearOutput if the output's own table differs."""
    label, _, baseline = _TESTS[name]
    place, match = run.one(rf"{re.escape(label)}\s+({NUMBER})\s+({NUMBER})\s+({NUMBER})", f"the index of {label}")
    if above_zero(match[1], place) != baseline:
        raise UnclearOutput(f"{place}: the baseline of {label} is {baseline:g}, not {match[1][:20]}")
    if abs(above_zero(match[2], place) - score) > _ROUNDED:
        raise UnclearOutput(f"{place}: the result of {label} is {match[2][:20]} here, and {score:g} before")
    index = 10 * score / baseline
    if abs(above_zero(match[3], place) - index) > _ROUNDED + 10 * _ROUNDED / baseline:
        raise UnclearOutput(f"{place}: the index of {label} is {match[3][:20]}, its score gives {index:.1f}")
    return index


READER = Reader(
    "unixbench",
    "the report of UnixBench 5, one run or several",
    _looks_like,
    each_run(_BEGINS, "no line begins with 'Benchmark Run: '", _report),
)


def _command(settings: Settings) -> str:
    own = 'UB_RESULTDIR="$here" UB_TMPDIR="$here"'
    return f"here=$PWD; cd {quoted(settings, 'path')} && {own} ./Run -c {processors(settings, 'copies')}"


TOOLS = (
    Tool("unixbench", "The index of UnixBench and of its twelve tests, recomputed from the scores.",
         "Graphics; results of other versions or compilers are not comparable.", (),
         (path("path", "/mnt/UnixBench", "the folder of UnixBench, built, on the measured machine"),
          at_once("copies", "copies at once: all (one for each processor), or a number")),
         _command, lambda _: measures(index=INDEX, **{f"{name}_index": INDEX for name in _TESTS}), READER, lambda _: 1900.0),
)  # fmt: skip
