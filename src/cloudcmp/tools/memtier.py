"""memtier_benchmark: a load of Redis and memcached; its table of all runs."""

import re

from cloudcmp.model.tool import Reader, Reading, Report, Settings, Tool, Unsure
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
from cloudcmp.tools.page import Page, above_zero

_TITLE = re.compile(r"(ALL|AGGREGATED|BEST RUN|WORST RUN|AGGREGATED AVERAGE) (STATS|RESULTS)\s*(\(.*\))?")
_COLUMNS = {
    "Avg. Latency": "latency_mean",
    "Latency": "latency_mean",
    "p50 Latency": "latency_p50",
    "p99 Latency": "latency_p99",
}


def _looks_like(text: str) -> bool:
    return bool(re.search(r"^Type\s+Ops/sec\s+Hits/sec\s+Misses/sec\s", text, re.MULTILINE))


def _reports(text: str) -> tuple[Report, ...]:
    page = Page(text)
    titles = [i for i, line in enumerate(page.lines) if _TITLE.fullmatch(line.strip())]
    if len(titles) != 1 or page.lines[titles[0]].strip() != "ALL STATS":
        raise Unsure("there is not one table of ALL STATS")
    place, head = page.one(r"Type\s{2,}(.+?)\s*", "the columns")
    columns = re.split(r"\s{2,}", head[1])
    if columns[:3] != ["Ops/sec", "Hits/sec", "Misses/sec"] or len(set(columns)) != len(columns):
        raise Unsure(f"{place}: these columns are not known")
    told = {}
    for key, label in (("threads", "Threads"), ("clients", "Connections per thread"), ("requests", "Requests per client"),
                       ("duration_s", "Seconds")):  # fmt: skip
        if found := page.maybe(rf"(\d+)\s+{label}", label):
            told[key] = found[1][1]
    place, totals = page.one(r"Totals\s+(\S.*?)\s*", "the totals")
    cells = totals[1].split()
    if len(cells) != len(columns):
        raise Unsure(f"{place}: {len(cells)} figures in {len(columns)} columns")
    of = dict(zip(columns, cells, strict=True))
    found_: list[Reading] = [reading("operations", RATE, above_zero(of["Ops/sec"], place))]
    for column, name in _COLUMNS.items():
        if column in of:
            found_.append(reading(name, LATENCY, above_zero(of[column], place) * 1e-3))
    if len(found_) == 1:
        raise Unsure(f"{place}: no column tells a latency")
    return (Report("memtier", "", told, tuple(found_), tuple(column for column in columns if column == "KB/sec")),)


READER = Reader("memtier", "text of memtier_benchmark, one run", _looks_like, _reports)


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
