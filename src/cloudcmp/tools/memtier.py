"""memtier_benchmark: a load of Redis and memcached; its table of all runs, or its JSON."""

import re
from typing import Any

from cloudcmp.model.tool import Reader, Reading, Report, Settings, Tool, UnclearOutput
from cloudcmp.tools.base import (
    LATENCY,
    RATE,
    choice,
    count,
    duration,
    measures,
    path,
    quoted,
    reading,
    size,
    whole_seconds,
)
from cloudcmp.tools.page import Page, above_zero, amount, documents, entry, follows, positive, whole

_TITLE = re.compile(r"(ALL|AGGREGATED|BEST RUN|WORST RUN|AGGREGATED AVERAGE) (STATS|RESULTS)\s*(\(.*\))?")
_COLUMNS = {
    "Avg. Latency": "latency_mean",
    "Latency": "latency_mean",
    "p50 Latency": "latency_p50",
    "p99 Latency": "latency_p99",
}


def _looks_like(text: str) -> bool:
    return _is_json(text) or bool(re.search(r"^Type\s+Ops/sec\s+Hits/sec\s+Misses/sec\s", text, re.MULTILINE))


def _is_json(text: str) -> bool:
    return '"run information"' in text and '"Connections per thread"' in text


def _reports(text: str) -> tuple[Report, ...]:
    if _is_json(text):
        return tuple(_of_json(output) for output in documents(text))
    page = Page(text)
    titles = [i for i, line in enumerate(page.lines) if _TITLE.fullmatch(line.strip())]
    if len(titles) != 1 or page.lines[titles[0]].strip() != "ALL STATS":
        raise UnclearOutput("there is not one table of ALL STATS")
    place, head = page.one(r"Type\s{2,}(.+?)\s*", "the columns")
    columns = re.split(r"\s{2,}", head[1])
    if columns[:3] != ["Ops/sec", "Hits/sec", "Misses/sec"] or len(set(columns)) != len(columns):
        raise UnclearOutput(f"{place}: these columns are not known")
    settings = {}
    for key, label in (("threads", "Threads"), ("clients", "Connections per thread"), ("requests", "Requests per client"),
                       ("duration_s", "Seconds")):  # fmt: skip
        if line := page.maybe(rf"(\d+)\s+{label}", label):
            settings[key] = line[1][1]
    place, totals = page.one(r"Totals\s+(\S.*?)\s*", "the totals")
    cells = totals[1].split()
    if len(cells) != len(columns):
        raise UnclearOutput(f"{place}: {len(cells)} figures in {len(columns)} columns")
    of = dict(zip(columns, cells, strict=True))
    readings: list[Reading] = [reading("operations", RATE, above_zero(of["Ops/sec"], place))]
    for column, name in _COLUMNS.items():
        if column in of:
            readings.append(reading(name, LATENCY, above_zero(of[column], place) * 1e-3))
    if len(readings) == 1:
        raise UnclearOutput(f"{place}: no column tells a latency")
    return (
        Report("memtier", "", settings, tuple(readings), tuple(column for column in columns if column == "KB/sec")),
    )


def _of_json(output: Any) -> Report:
    """The totals of one run: operations a second, and milliseconds."""
    if not isinstance(output, dict) or "ALL STATS" not in output:
        raise UnclearOutput(
            "there is no ALL STATS: of several runs the best, the worst and their mean are told, and no run"
        )
    totals, about = entry(output, "ALL STATS", "Totals"), entry(output, "run information")
    rate = positive(totals, "Ops/sec")
    settings = {
        "threads": whole(positive(about, "Threads")),
        "clients": whole(positive(about, "Connections per thread")),
    }
    for key, theirs in (("requests", "Requests per client"), ("duration_s", "Seconds")):
        if about.get(theirs, 0):
            settings[key] = whole(positive(about, theirs))
    if "Runtime" in output["ALL STATS"]:
        run = entry(output, "ALL STATS", "Runtime")
        if entry(run, "Time unit") != "MILLISECONDS":
            raise UnclearOutput("ALL STATS.Runtime: the unit of time is not MILLISECONDS")
        follows(rate, positive(totals, "Count") / positive(run, "Total duration") * 1e3, 0.01, "Totals.Ops/sec")
    mean_s = positive(totals, "Average Latency" if "Average Latency" in totals else "Latency") * 1e-3
    configuration, shares = output.get("configuration", {}), totals.get("Percentile Latencies", {})
    if not isinstance(configuration, dict) or not isinstance(shares, dict):
        raise UnclearOutput("configuration or Percentile Latencies is no JSON object")
    if "pipeline" in configuration:
        at_once = float(settings["threads"]) * float(settings["clients"]) * amount(configuration, "pipeline")
        if rate * mean_s > 1.1 * at_once:
            raise UnclearOutput(f"Totals: {mean_s:g} s for one do not fit {rate:g} a second of {at_once:g} at once")
    readings = [reading("operations", RATE, rate), reading("latency_mean", LATENCY, mean_s)]
    for name, key in (("p50", "p50.00"), ("p99", "p99.00")):
        if key in shares:
            readings.append(reading(f"latency_{name}", LATENCY, positive(shares, key) * 1e-3))
    return Report("memtier", "", settings, tuple(readings), tuple(key for key in totals if key == "KB/sec"))


READER = Reader("memtier", "text of one run of memtier_benchmark, or JSON of one or several", _looks_like, _reports)


def _command(settings: Settings) -> str:
    return (
        f"memtier_benchmark --server={quoted(settings, 'server')} --port={settings['port']} "
        f"--protocol={settings['protocol']} --threads={settings['threads']} --clients={settings['clients']} "
        f"--test-time={whole_seconds(settings)} --data-size={settings['data_bytes']} --ratio={settings['ratio'].replace('to', ':')} "
        f"--pipeline={settings['pipeline']} --hide-histogram"
    )


TOOLS = (
    Tool("memtier", "Operations a second of a Redis or memcached that is there, and how long they took.",
         "Connecting; installing the server; bytes moved.", (("fedora", "memtier-benchmark"),),
         (path("server", "127.0.0.1", "where the server listens"), count("port", "6379", "its port"),
          choice("protocol", "redis memcache_text memcache_binary", "its protocol"), count("threads", "1", "threads of the load"),
          count("clients", "50", "connections of each thread"), count("pipeline", "1", "requests in flight of each connection"),
          size("data_bytes", "32", "size of a value"), choice("ratio", "1to10 1to1 1to0 0to1", "writes to reads"), duration("30")),
         _command, lambda _: measures(operations=RATE, latency_mean=LATENCY, latency_p50=LATENCY, latency_p99=LATENCY), READER,
         lambda s: float(s["duration_s"]) + 3),
)  # fmt: skip
