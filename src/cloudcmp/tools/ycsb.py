"""YCSB: a load of key-value databases; its text output."""

import re

from cloudcmp.model.tool import Reader, Reading, Report, Settings, Tool, UnclearOutput
from cloudcmp.tools.base import LATENCY, LOSS, RATE, choice, count, measures, path, quoted, reading
from cloudcmp.tools.page import Page, above_zero, begins, follows, number, word

_LINE = r"\[([A-Z][\w%-]*)\], ([^,]+), (\S+)"
_KINDS = ("READ", "UPDATE", "INSERT", "SCAN", "READ-MODIFY-WRITE", "DELETE")
_LATENCIES = {"AverageLatency(us)": "latency_mean", "95thPercentileLatency(us)": "latency_p95",
              "99thPercentileLatency(us)": "latency_p99"}  # fmt: skip


def _reports(text: str) -> tuple[Report, ...]:
    lines: dict[tuple[str, str], tuple[str, str]] = {}
    for place, match in Page(text).all(_LINE):
        key = match[1], match[2]
        if key in lines:
            raise UnclearOutput(f"{place}: [{match[1]}] {match[2][:40]} is told again, first on {lines[key][0]}")
        lines[key] = place, match[3]
    if unread := [
        place for place, match in Page(text).all(r"\[[A-Z].*") if not re.fullmatch(_LINE, match[0], re.ASCII)
    ]:
        raise UnclearOutput(f"{unread[0]}: this is no figure of YCSB")
    rate, run_s = _value(lines, "OVERALL", "Throughput(ops/sec)"), _value(lines, "OVERALL", "RunTime(ms)") * 1e-3
    kinds = [kind for kind in _KINDS if (kind, "Operations") in lines]
    counts = {kind: number(lines[kind, "Operations"][1], lines[kind, "Operations"][0]) for kind in kinds}
    # A read-modify-write counts once as itself, and as a read and an update.
    done = sum(counts.values()) - 2 * counts.get("READ-MODIFY-WRITE", 0.0)
    failed = sum(number(value, place) for (kind, what), (place, value) in lines.items()
                 if kind.endswith("-FAILED") and what == "Operations")  # fmt: skip
    follows(done + failed, rate * run_s, 0.01, lines["OVERALL", "Throughput(ops/sec)"][0])
    readings: list[Reading] = [reading("operations", RATE, rate)]
    for kind in (kind for kind in kinds if counts[kind]):
        name = kind.lower().replace("-", "_")
        readings += [
            reading(f"{name}_{ours}", LATENCY, _value(lines, kind, theirs) * 1e-6)
            for theirs, ours in _LATENCIES.items()
        ]
    readings.append(reading("failed", LOSS, failed / (done + failed)))
    return (Report("ycsb", "", _settings(text), tuple(readings)),)


def _value(lines: dict[tuple[str, str], tuple[str, str]], kind: str, what: str) -> float:
    if (kind, what) not in lines:
        raise UnclearOutput(f"no line tells [{kind}], {what}")
    place, text = lines[kind, what]
    return above_zero(text, place)


def _settings(text: str) -> dict[str, str]:
    """The workload and threads, if the output contains the command line of YCSB."""
    workloads = set(re.findall(r"-P \S*?workload([a-f])(?!\S)", text))
    threads = set(re.findall(r"-threads (\d+)\b", text))
    settings = {"workload": word(workloads.pop())} if len(workloads) == 1 else {}
    return settings | ({"threads": threads.pop()} if len(threads) == 1 else {})


READER = Reader("ycsb", "text of YCSB 0.10 and later", begins(r"\[OVERALL\], RunTime\(ms\), "), _reports)


def _command(settings: Settings) -> str:
    return (
        f"cd {quoted(settings, 'path')} && sh bin/ycsb.sh run {quoted(settings, 'binding')} -s "
        f"-P workloads/workload{settings['workload']} -p operationcount={settings['operations']} "
        f"-threads {settings['threads']} -P {quoted(settings, 'properties')}"
    )


TOOLS = (
    Tool("ycsb", "Operations a second of a database that is there and loaded, and the latency of its reads.",
         "Loading the rows; other latencies than reads, which import reads too.", (),
         (path("path", "/mnt/ycsb", "the folder of YCSB on the measured machine"), path("binding", "redis", "which database"),
          path("properties", "/mnt/ycsb/bench.properties", "a file that says how the database is reached"),
          choice("workload", "b a c d f", "which of its workloads"), count("operations", "100000", "operations in all"),
          count("threads", "1", "threads of the load")),
         _command, lambda _: measures(operations=RATE, read_latency_mean=LATENCY, read_latency_p95=LATENCY,
                                      read_latency_p99=LATENCY, failed=LOSS), READER,
         lambda s: 30 + float(s["operations"]) / 1000),
)  # fmt: skip
