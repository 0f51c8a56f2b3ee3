"""sysbench (Alexey Kopytov): its tests of processor, memory, threads, files and databases."""

import re
from dataclasses import replace

from cloudcmp.model.tool import Measure, Reader, Reading, Report, Settings, Tool, UnclearOutput
from cloudcmp.tools import sysbench_old
from cloudcmp.tools.base import (
    BYTES,
    KIB,
    LATENCY,
    MIB,
    RATE,
    at_once,
    choice,
    count,
    duration,
    measures,
    processors,
    reading,
    size,
)
from cloudcmp.tools.page import NUMBER, Page, above_zero, follows, number, whole
from cloudcmp.tools.sysbench_old import MODES, bytes_of, mean_latency

_BEGINS = re.compile(r"(?:.*\s)?sysbench (\d+\.\d+\.\d+\S*) \(using .*LuaJIT .*\)", re.ASCII)
_UNKNOWN_TEST = "sysbench-untold"
_SAME = "which test it was: threads, mutex and scripts of one's own print the same"
_UNITS = {"B": 1.0, "KiB": KIB, "MiB": MIB, "GiB": KIB * MIB}
_PACKAGES = (("debian", "sysbench"), ("fedora", "sysbench"), ("alpine", "sysbench"))


def _looks_like(text: str) -> bool:
    return any(_begins(line.rstrip("\r")) for line in text.split("\n"))


def _begins(line: str) -> bool:
    return bool(_BEGINS.fullmatch(line) or sysbench_old.BEGINS.fullmatch(line))


def _reports(text: str) -> tuple[Report, ...]:
    runs = Page(text).parts(_begins)
    if not runs:
        raise UnclearOutput("no line tells the version of sysbench")
    return tuple(_report(run) for run in runs)


def _report(run: Page) -> Report:
    if old := sysbench_old.BEGINS.fullmatch(run.lines[0]):
        return sysbench_old.report(run, old[1])
    begins = _BEGINS.fullmatch(run.lines[0])
    assert begins is not None
    # The last line of a run: without it the output is cut.
    run.one(r"\s*execution time \(avg/stddev\):.*", "the fairness of threads, which is the end of a run")
    settings = {"threads": _whole(run, "Number of threads", "how many threads there are")}
    seconds = run.value("total time:", "the total time", "s")
    events = run.value("total number of events:", "how many events there were")
    if line := run.maybe(r"Prime numbers limit: (\d+)", "the limit of primes"):
        settings["cpu_max_prime"] = line[1][1]
        name, readings = "sysbench-cpu", _cpu(run, events / seconds)
    elif run.all(r"Running memory speed test .*"):
        name, readings = "sysbench-memory", _memory(run, events / seconds, settings)
    elif run.all(r"\s*File operations:"):
        name, readings = "sysbench-fileio", _fileio(run, settings)
    elif run.all(r"SQL statistics:"):
        name, readings = "sysbench-oltp", _oltp(run, events / seconds, settings)
    else:
        name, readings = _UNKNOWN_TEST, (reading("events", RATE, events / seconds), *_latency(run))
        other = run.all(r"(Doing|Running) .*test.*")
        other = [line for line in other if not line[1][0].startswith("Running the test with")]
        if other:
            raise UnclearOutput(f"{other[0][0]}: this test of sysbench is not known")
    return Report(name, begins[1], settings, tuple(readings), (_SAME,) if name == _UNKNOWN_TEST else ())


def _whole(run: Page, label: str, what: str) -> str:
    place, match = run.one(rf"\s*{label}:\s*(\S+)", what)
    return whole(above_zero(match[1], place))


def _mean(run: Page) -> Reading:
    run.one(r"\s*Latency \(ms\):", "that latencies are in ms")
    mean_ms = run.value("sum:", "the sum of latencies") / run.value("total number of events:", "the events")
    return mean_latency(mean_ms, *run.one(r"\s*avg:\s*(\S+)", "the mean latency"))


def _latency(run: Page) -> tuple[Reading, ...]:
    """The mean and the requested percentile; 0.00 ms is below its resolution."""
    readings = [_mean(run)]
    percentile = run.maybe(rf"\s*(\d+)th percentile:\s+({NUMBER})", "the latency at a percentile")
    if percentile is None:
        raise UnclearOutput("no line tells the latency at a percentile")
    place, match = percentile
    # The hundredth is the largest, rounded up to a step of its histogram.
    if match[1] != "100":
        readings.append(reading(f"latency_p{match[1]}", LATENCY, above_zero(match[2], place) * 1e-3))
    return tuple(readings)


def _cpu(run: Page, rate: float) -> tuple[Reading, ...]:
    run.one("CPU speed:", "what the next figures are of")
    events = run.value("events per second:", "events a second")
    follows(events, rate, 0.02, "events per second")
    return (reading("events", RATE, events), *_latency(run))


def _memory(run: Page, rate: float, settings: dict[str, str]) -> tuple[Reading, ...]:
    place, block = run.one(r"\s*block size: (\d+)(\S*)", "the size of a block")
    settings["memory_block_bytes"] = whole(bytes_of(block[1], block[2], place, _UNITS))
    settings["memory_oper"] = run.one(r"\s*operation: (\w+)", "what is done")[1][1]
    settings["memory_scope"] = run.one(r"\s*scope: (\w+)", "whose memory it is")[1][1]
    place, match = run.one(rf"Total operations: (\d+) \(\s*({NUMBER}) per second\)", "operations a second")
    operations = above_zero(match[2], place)
    follows(operations, rate, 0.02, place)
    place, match = run.one(rf"({NUMBER}) MiB transferred \(({NUMBER}) MiB/sec\)", "what was moved a second")
    moved = above_zero(match[2], place) * MIB
    follows(moved, operations * float(settings["memory_block_bytes"]), 0.001 + 0.01 * MIB / moved, place)
    return reading("bandwidth", BYTES, moved), reading("operations", RATE, operations)


def _fileio(run: Page, settings: dict[str, str]) -> tuple[Reading, ...]:
    place, block = run.one(r"Block size (\d+)(\S*)", "the size of a block")
    block_bytes = bytes_of(block[1], block[2], place, _UNITS)
    place, doing = run.one(r"Doing (.+) test", "what is done")
    if doing[1] not in MODES:
        raise UnclearOutput(f"{place}: the test {doing[1][:40]!r} is not known")
    settings |= {"file_block_bytes": whole(block_bytes), "file_test_mode": MODES[doing[1]]}
    place, total = run.one(r"(\d+)(\S+) total file size", "the size of all files")
    settings["file_total_bytes"] = whole(bytes_of(total[1], total[2], place, _UNITS))
    readings: list[Reading] = []
    for way, per, moved in (("read", "reads/s:", "read, MiB/s:"), ("write", "writes/s:", "written, MiB/s:")):
        place, match = run.one(rf"\s*{per}\s*(\S+)", f"{way}s a second")
        operations = number(match[1], place)
        place, match = run.one(rf"\s*{moved}\s*(\S+)", f"what was {way}, in MiB/s")
        bandwidth = number(match[1], place) * MIB
        if not operations and not bandwidth:
            continue
        rate = above_zero(str(operations), place)
        follows(bandwidth, rate * block_bytes, 0.005 + 0.02 * MIB / (rate * block_bytes), place)
        readings += [reading(f"{way}_iops", RATE, rate), reading(f"{way}_bandwidth", BYTES, rate * block_bytes)]
    if not readings:
        raise UnclearOutput("nothing was read and nothing written")
    return (*readings, _mean(run))


def _oltp(run: Page, rate: float, settings: dict[str, str]) -> tuple[Reading, ...]:
    readings = []
    for label in ("transactions", "queries"):
        place, match = run.one(rf"\s*{label}:\s+\d+\s+\(({NUMBER}) per sec\.\)", f"{label} a second")
        readings.append(reading(label, RATE, above_zero(match[1], place)))
    follows(readings[0].value, rate, 0.02, "transactions")
    # The script is not named; its number of queries per transaction distinguishes most scripts.
    settings["queries_per_transaction"] = whole(round(readings[1].value / readings[0].value))
    return (*readings, *_latency(run))


READER = Reader("sysbench", "text of sysbench 0.4 to 1.0, one run or several", _looks_like, _reports)


def _of_threads(text: str) -> tuple[Report, ...]:
    """The reports of an output that is known to be of the threads test."""
    return tuple(
        replace(one, tool="sysbench-threads", unread=()) if one.tool == _UNKNOWN_TEST else one for one in _reports(text)
    )


def _line(settings: Settings, test: str, options: str) -> str:
    return f"sysbench {test} --threads={processors(settings)} --time={_time(settings)} {options} run"


def _time(settings: Settings) -> str:
    return str(max(1, round(float(settings["duration_s"]))))


def _file_command(settings: Settings) -> str:
    files = f"--file-num=8 --file-total-size={settings['file_total_bytes']}"
    options = (
        f"{files} --file-test-mode={settings['file_test_mode']} --file-block-size={settings['file_block_bytes']} "
        f"--file-extra-flags={'direct' if settings['direct'] == 'yes' else ''}"
    )
    return f"sysbench fileio {files} prepare >/dev/null && {_line(settings, 'fileio', options)}"


def _file_measures(settings: Settings) -> tuple[Measure, ...]:
    mode = settings["file_test_mode"]
    reads = measures(read_iops=RATE, read_bandwidth=BYTES) if mode in {"rndrd", "rndrw", "seqrd"} else ()
    writes = () if mode in {"rndrd", "seqrd"} else measures(write_iops=RATE, write_bandwidth=BYTES)
    return (*reads, *writes, Measure("latency_mean", LATENCY))


def _typical(settings: Settings) -> float:
    return float(settings["duration_s"]) + float(settings.get("file_total_bytes", "0")) / 5e7 + 1


_EVENTS = measures(events=RATE, latency_mean=LATENCY, latency_p95=LATENCY)

TOOLS = (
    Tool("sysbench-cpu", "Events a second, each the primes up to a limit, found by division.", "Memory and vector units.",
         _PACKAGES, (at_once(), count("cpu_max_prime", "10000", "largest number that is tried"), duration("10")),
         lambda s: _line(s, "cpu", f"--cpu-max-prime={s['cpu_max_prime']}"), lambda _: _EVENTS, READER, _typical),
    Tool("sysbench-memory", "Blocks of memory read or written, and bytes.",
         "Caches apart from memory: a small block stays in a cache.", _PACKAGES,
         (at_once(), size("memory_block_bytes", "1024", "size of a block"), choice("memory_oper", "write read", "what is done"),
          choice("memory_scope", "global local", "one block for all threads, or one for each"), duration("10")),
         lambda s: _line(s, "memory", f"--memory-block-size={s['memory_block_bytes']} --memory-total-size=1000T "
                         f"--memory-oper={s['memory_oper']} --memory-scope={s['memory_scope']}"),
         lambda _: measures(bandwidth=BYTES, operations=RATE), READER, _typical),
    Tool("sysbench-threads", "Events a second, each a thousand rounds of lock, yield and unlock.", "Work done within a lock.",
         _PACKAGES, (at_once(), duration("10")),
         lambda s: _line(s, "threads", "--thread-yields=1000 --thread-locks=8"), lambda _: _EVENTS, replace(READER, reports=_of_threads), _typical),
    Tool("sysbench-fileio", "Requests to eight files, and bytes.", "Making the files.", _PACKAGES,
         (choice("file_test_mode", "rndrd rndwr rndrw seqrd seqwr seqrewr", "what is done"), at_once(),
          size("file_block_bytes", "16384", "size of one request"), choice("direct", "yes no", "around the page cache, or through it"),
          size("file_total_bytes", "2147483648", "size of all files", "67108864"), duration("30")),
         _file_command, _file_measures, READER, _typical),
)  # fmt: skip
