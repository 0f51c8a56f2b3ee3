"""k6 (Grafana): requests a second of an HTTP load, their latencies and failures, from its summary; import only."""

import re
from typing import Any

from cloudcmp.model.tool import Reader, Reading, Report, UnclearOutput
from cloudcmp.tools.base import LATENCY, LOSS, RATE, reading
from cloudcmp.tools.page import amount, documents, entry, follows, near, positive, whole, word

_PERCENTILE = re.compile(r"p\((\d+(?:\.\d+)?)\)", re.ASCII)
_DURATION, _REQUESTS, _FAILED = "http_req_duration", "http_reqs", "http_req_failed"
_USUAL = "{expected_response:true}"


def _looks_like(text: str) -> bool:
    return text.lstrip()[:1] in {"{", "["} and f'"{_DURATION}"' in text and '"metrics"' in text


def _reports(text: str) -> tuple[Report, ...]:
    return tuple(_report(output) for output in documents(text))


def _report(output: Any) -> Report:
    if isinstance(output, dict) and "metrics" not in output and "results" in output:
        raise UnclearOutput("this newer kind of summary is not read: run k6 with --new-machine-readable-summary=false")
    metrics = entry(output, "metrics")
    requests = _values(metrics, _REQUESTS)
    rate = positive(requests, "rate")
    state = output.get("state")
    if isinstance(state, dict) and "testRunDurationMs" in state:
        seconds = positive(state, "testRunDurationMs") * 1e-3
        follows(rate, positive(requests, "count") / seconds, 0.01, f"{_REQUESTS}.rate")
    readings = [reading("requests", RATE, rate), *_latencies(_values(metrics, _DURATION))]
    if _FAILED in metrics:
        readings.append(reading("failed", LOSS, _share(_values(metrics, _FAILED))))
    return Report("k6", "", _settings(metrics), tuple(readings), _unread(metrics))


def _values(metrics: Any, name: str) -> Any:
    """The figures of a metric: within `values`, as handleSummary has them, or beside each other as --summary-export."""
    metric = entry(metrics, name)
    if not isinstance(metric, dict):
        raise UnclearOutput(f"metrics.{name} is no JSON object")
    return metric.get("values", metric)


def _latencies(of: Any) -> list[Reading]:
    """The mean and percentiles, from milliseconds."""
    places = {50.0: "med"} if isinstance(of, dict) and "med" in of else {}
    for key in of if isinstance(of, dict) else ():
        if match := _PERCENTILE.fullmatch(key):
            places.setdefault(float(match[1]), key)
    readings = [reading("latency_mean", LATENCY, positive(of, "avg") * 1e-3)]
    last = amount(of, "min") * 1e-3 if "min" in of else 0.0
    for percentile, key in sorted(places.items()):
        value = positive(of, key) * 1e-3
        if value < last:
            raise UnclearOutput(f"{_DURATION}.{key}: the latencies do not grow with their percentile")
        readings.append(reading(f"latency_p{whole(percentile)}", LATENCY, value))
        last = value
    if "max" in of and max(last, readings[0].value) > amount(of, "max") * 1e-3 * (1 + 1e-9):
        raise UnclearOutput(f"{_DURATION}.max: the largest latency is below another one")
    return readings


def _share(of: Any) -> float:
    """The share of failed requests: those for which the rate's condition held, which k6 calls passes."""
    share = amount(of, "rate" if isinstance(of, dict) and "rate" in of else "value")
    if not 0 <= share <= 1:
        raise UnclearOutput(f"{_FAILED}: {share:g} is no share")
    if "passes" in of and "fails" in of:
        failed, answered = amount(of, "passes"), amount(of, "fails")
        if failed < 0 or answered < 0 or failed + answered <= 0 or not near(share, failed / (failed + answered), 1e-6):
            raise UnclearOutput(f"{_FAILED}: {share:g} does not follow from {failed:g} and {answered:g} requests")
    return share


def _settings(metrics: Any) -> dict[str, str]:
    """The number of virtual users, if it was the same all the time."""
    users = metrics.get("vus_max")
    users = users.get("values", users) if isinstance(users, dict) else None
    if not isinstance(users, dict) or not {"min", "max"} <= users.keys():
        return {}
    least, most = amount(users, "min"), amount(users, "max")
    return {"vus": whole(most)} if least == most and most > 0 else {}


def _unread(metrics: Any) -> tuple[str, ...]:
    """The parts of the requests that the script tells apart by tags or thresholds."""
    parts = [name for name in metrics if name.startswith(_DURATION + "{") and not name.endswith(_USUAL)]
    return tuple(word(name) for name in parts[:3]) + ((f"{len(parts) - 3} more parts",) if len(parts) > 3 else ())


READERS = (Reader("k6", "the summary of k6: --summary-export, or the JSON of handleSummary", _looks_like, _reports),)
