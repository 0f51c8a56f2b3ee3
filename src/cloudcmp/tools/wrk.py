"""wrk and wrk2, HTTP loads: requests a second and their latencies."""

import re

from cloudcmp.model.tool import Measure, Reader, Reading, Report, Settings, Tool, UnclearOutput
from cloudcmp.tools.base import LATENCY, LOSS, RATE, count, duration, measures, path, quoted, reading, whole_seconds
from cloudcmp.tools.page import NUMBER, Page, above_zero, each_run, follows, has_line, number, scaled, whole

_TIMES = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_BEGINS = re.compile(r"Running (\d+(?:\.\d+)?)([smh]) test @ (\S+)")
_PERCENTILES = {"50": "p50", "90": "p90", "99": "p99"}
_SPECTRUM = rf"\s+({NUMBER})\s+([01]\.\d+)\s+(\d+)\s+(?:{NUMBER}|inf)\s*"


def _report(run: Page, first: re.Match[str]) -> Report:
    place, load = run.one(r"\s*(\d+) threads and (\d+) connections", "threads and connections")
    settings = {"threads": load[1], "connections": load[2]}
    settings["duration_s"] = whole(above_zero(first[1], run.place(0)) * _TIMES[first[2]])
    rate = run.value("Requests/sec:", "requests a second")
    run.one(rf"Transfer/sec:\s+{NUMBER}[KMGT]?B", "what was moved a second")
    place, done = run.one(rf"\s*(\d+) requests in ({NUMBER})(\w+), {NUMBER}[KMGT]?B read", "the requests in all")
    requests, seconds = above_zero(done[1], place), scaled(done[2], done[3], _TIMES, place)
    follows(rate, requests / seconds, 0.01 + 0.006 * _TIMES[done[3]] / seconds, place)
    readings = [reading("requests", RATE, rate), _mean(run), *_percentiles(run)]
    answered, broken = _failed(run)
    readings.append(reading("failed", LOSS, (answered + broken) / (requests + broken)))
    rows = run.all(_SPECTRUM)
    return Report("wrk2" if rows else "wrk", "", settings, tuple(readings))


def _mean(run: Page) -> Reading:
    place, match = run.one(rf"\s*Latency\s+({NUMBER})(\w+)\s+{NUMBER}\w+\s+{NUMBER}\w+\s+{NUMBER}%", "the mean latency")
    mean = scaled(match[1], match[2], _TIMES, place)
    if line := run.maybe(rf"#\[Mean\s+=\s+({NUMBER}), StdDeviation\s+=\s+{NUMBER}\]", "the mean of the spectrum"):
        follows(mean, above_zero(line[1][1], line[0]) * 1e-3, 0.01, place)
    return reading("latency_mean", LATENCY, mean)


def _percentiles(run: Page) -> list[Reading]:
    """The percentiles of wrk, or of wrk2, whose spectrum in milliseconds must agree; empty without --latency."""
    if not run.all(r"\s*Latency Distribution.*"):
        return []
    rows = run.all(rf"\s*(\d+)(?:\.000)?%\s+({NUMBER})(\w+)")
    spectrum = [(place, float(m[2]), above_zero(m[1], place) * 1e-3) for place, m in run.all(_SPECTRUM) if float(m[1])]
    latencies = {}
    for place, match in rows:
        if match[1] in latencies:
            raise UnclearOutput(f"{place}: the latency at {match[1]} % is told again")
        latencies[match[1]] = scaled(match[2], match[3], _TIMES, place)
        if spectrum:
            share = number(match[1], place) / 100
            near = next((value for _, at, value in spectrum if at >= share), spectrum[-1][2])
            follows(latencies[match[1]], near, 0.06, place)
    if missing := [each for each in _PERCENTILES if each not in latencies]:
        raise UnclearOutput(f"no line tells the latency at {missing[0]} %")
    return [reading(f"latency_{name}", LATENCY, latencies[each]) for each, name in _PERCENTILES.items()]


def _failed(run: Page) -> tuple[float, float]:
    """The answers with an error, which wrk counts as requests, and the broken connections, which it does not."""
    other = run.maybe(r"\s*Non-2xx or 3xx responses: (\d+)", "answers with an error")
    broken = run.maybe(r"\s*Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)", "broken connections")
    answers = number(other[1][1], other[0]) if other else 0.0
    return answers, sum(number(text, broken[0]) for text in broken[1].groups()) if broken else 0.0


READER = Reader(
    "wrk",
    "text of wrk 4, and of wrk2 with its HdrHistogram",
    has_line(_BEGINS),
    each_run(_BEGINS, "no line begins the output of wrk", _report),
)


def _command(settings: Settings) -> str:
    rate = f" --rate {settings['rate']}" if "rate" in settings else ""
    return (
        f"wrk --threads {settings['threads']} --connections {settings['connections']} "
        f"--duration {whole_seconds(settings)}s --latency{rate} {quoted(settings, 'url')}"
    )


def _measures(_: Settings) -> tuple[Measure, ...]:
    return measures(requests=RATE, latency_mean=LATENCY, latency_p50=LATENCY, latency_p90=LATENCY, latency_p99=LATENCY,
                    failed=LOSS)  # fmt: skip


_PARAMS = (
    path("url", "http://localhost:8080", "what is asked for; the server must be there"),
    count("threads", "1", "threads of the load"),
    count("connections", "10", "connections of all threads; at least as many as threads"),
    duration("30"),
)

TOOLS = (
    Tool("wrk", "Answers a second of an HTTP server in a closed loop, and how long they took.",
         "Waiting that the loop hides: a slow answer puts off the next request.",
         (("debian", "wrk"), ("alpine", "wrk")), _PARAMS, _command, _measures, READER, lambda s: float(s["duration_s"]) + 2),
    Tool("wrk2", "How long an HTTP server's answers took at a rate of requests that is kept.", "Connecting.", (),
         (*_PARAMS, count("rate", "1000", "requests a second of all connections")), _command, _measures, READER,
         lambda s: float(s["duration_s"]) + 2),
)  # fmt: skip
