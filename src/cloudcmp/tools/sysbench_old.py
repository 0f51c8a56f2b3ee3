"""sysbench 0.4 and 0.5: the older output format of its tests."""

import re
from collections.abc import Mapping

from cloudcmp.model.tool import Reading, Report, UnclearOutput
from cloudcmp.tools.base import BYTES, KIB, LATENCY, MIB, RATE, reading
from cloudcmp.tools.page import NUMBER, Page, above_zero, follows, number, whole

BEGINS = re.compile(r"(?:.*\s)?sysbench (\d+\.\d+(?:\.\d+)*):\s+multi-threaded system evaluation benchmark", re.ASCII)
MODES = {
    "sequential write (creation)": "seqwr",
    "sequential rewrite": "seqrewr",
    "sequential read": "seqrd",
    "random read": "rndrd",
    "random write": "rndwr",
    "random r/w": "rndrw",
}
# It writes Kb and Mb for 2^10 and 2^20 bytes.
_SIZES = {"": 1.0, "b": 1.0, "K": KIB, "Kb": KIB, "M": MIB, "Mb": MIB, "G": KIB * MIB, "Gb": KIB * MIB,
          "T": MIB * MIB, "Tb": MIB * MIB}  # fmt: skip
_PRIMES = r"(?:Maximum prime number checked in CPU test|Prime numbers limit): (\d+)"
_OPERATIONS = r"Operations performed:\s+(\d+) [Rr]eads?, (\d+) [Ww]rites?, \d+ Other = \d+ Total"


def report(run: Page, version: str) -> Report:
    """The report of one run; raises UnclearOutput."""
    # The last line of a run: without it the output is cut.
    run.one(r"\s*execution time \(avg/stddev\):.*", "the fairness of threads, which is the end of a run")
    settings = {"threads": whole(run.value("Number of threads:", "how many threads there are"))}
    seconds = run.value("total time:", "the total time", "s")
    events = run.value("total number of events:", "how many events there were")
    rate = events / seconds
    if line := run.maybe(_PRIMES, "the limit of primes"):
        settings["cpu_max_prime"] = line[1][1]
        name, readings = "sysbench-cpu", (reading("events", RATE, rate), *_latency(run, events))
    elif run.all(r".* MB transferred \(.*\)"):
        name, readings = "sysbench-memory", _memory(run, rate, settings)
    elif run.all(r"Operations performed:.* Total"):
        name, readings = "sysbench-fileio", (*_fileio(run, rate, seconds, settings), _mean(run, events))
    elif run.all(r"OLTP test statistics:"):
        name, readings = "sysbench-oltp", (*_oltp(run, rate), *_latency(run, events))
    elif run.all(r"Doing thread subsystem performance test"):
        name, readings = "sysbench-threads", (reading("events", RATE, rate), *_latency(run, events))
    else:
        raise UnclearOutput(f"{run.place(0)}: no line says which test of sysbench {version} this is")
    return Report(name, version, settings, readings)


def _mean(run: Page, events: float) -> Reading:
    mean_ms = 1e3 * run.value("total time taken by event execution:", "the sum of latencies", "s?") / events
    return mean_latency(mean_ms, *run.one(rf"\s*avg:\s*({NUMBER})ms", "the mean latency in ms"))


def mean_latency(mean_ms: float, place: str, printed: re.Match[str]) -> Reading:
    """The mean latency, from the sum: the printed mean is rounded to a hundredth of a millisecond."""
    printed_ms = number(printed[1], place)
    if abs(printed_ms - mean_ms) > 0.00501 + 1e-3 * mean_ms:
        raise UnclearOutput(
            f"{place}: {printed_ms:g} ms does not follow from the sum and the events, which give {mean_ms:g} ms"
        )
    return reading("latency_mean", LATENCY, mean_ms * 1e-3)


def _latency(run: Page, events: float) -> tuple[Reading, ...]:
    """The mean and the requested percentile."""
    place, match = run.one(rf"\s*approx\.\s+(\d+) percentile:\s+({NUMBER})ms", "the latency at a percentile")
    return _mean(run, events), reading(f"latency_p{match[1]}", LATENCY, above_zero(match[2], place) * 1e-3)


def bytes_of(size: str, unit: str, place: str, units: Mapping[str, float] = _SIZES) -> float:
    """A size in bytes; raises UnclearOutput for an unknown unit."""
    if unit not in units:
        raise UnclearOutput(f"{place}: the unit {unit[:20]!r} is not known")
    return above_zero(size, place) * units[unit]


def _memory(run: Page, rate: float, settings: dict[str, str]) -> tuple[Reading, ...]:
    place, done = run.one(rf"Operations performed: (\d+) \(\s*({NUMBER}) ops/sec\)", "operations a second")
    operations = above_zero(done[2], place)
    follows(operations, rate, 0.02, place)
    place, match = run.one(rf"({NUMBER}) MB transferred \(({NUMBER}) MB/sec\)", "what was moved a second")
    moved = above_zero(match[2], place) * MIB
    # Its MB are 2^20 bytes: so a block is a whole number of bytes over all operations.
    block = above_zero(match[1], place) * MIB / above_zero(done[1], place)
    if line := run.maybe(r"Memory block size: (\d+)(\w*)", "the size of a block"):
        block = bytes_of(line[1][1], line[1][2], line[0])
        settings["memory_block_bytes"] = whole(block)
    follows(moved, operations * block, 0.01, place)
    for key, label in (("memory_oper", "Memory operations type"), ("memory_scope", "Memory scope type")):
        if line := run.maybe(rf"{label}: (\w+)", label):
            settings[key] = line[1][1]
    return reading("bandwidth", BYTES, moved), reading("operations", RATE, operations)


def _fileio(run: Page, rate: float, seconds: float, settings: dict[str, str]) -> tuple[Reading, ...]:
    place, match = run.one(r"Block size (\d+)(\w+)", "the size of a block")
    block = bytes_of(match[1], match[2], place)
    place, doing = run.one(r"Doing (.+) test", "what is done")
    if doing[1] not in MODES:
        raise UnclearOutput(f"{place}: the test {doing[1][:40]!r} is not known")
    settings |= {"file_block_bytes": whole(block), "file_test_mode": MODES[doing[1]]}
    place, total = run.one(r"([\d.]+)(\w+) total file size", "the size of all files")
    settings["file_total_bytes"] = whole(bytes_of(total[1], total[2], place))
    place, match = run.one(rf"\s*({NUMBER}) Requests/sec executed", "requests a second")
    follows(above_zero(match[1], place), rate, 0.02 + 0.006 / rate, place)
    place, counts = run.one(_OPERATIONS, "how much was read and written")
    done = [number(text, place) / seconds for text in counts.groups()]
    follows(sum(done), rate, 0.02, place)
    where, moved = run.one(
        r"Read .*  Written .*  Total transferred .*  \(([\d.]+)(\w+)/sec\)", "what was moved a second"
    )
    follows(bytes_of(moved[1], moved[2], where), sum(done) * block, 0.02, where)
    return tuple(
        one
        for way, each in zip(("read", "write"), done, strict=True)
        if each
        for one in (reading(f"{way}_iops", RATE, each), reading(f"{way}_bandwidth", BYTES, each * block))
    )


def _oltp(run: Page, rate: float) -> tuple[Reading, ...]:
    place, match = run.one(rf"\s*transactions:\s+\d+\s+\(({NUMBER}) per sec\.\)", "transactions a second")
    transactions = above_zero(match[1], place)
    follows(transactions, rate, 0.02, place)
    return (reading("transactions", RATE, transactions),)
