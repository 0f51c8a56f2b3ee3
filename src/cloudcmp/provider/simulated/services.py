"""The notes and the delays of a simulated trial of a service, which agree with its values."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from cloudcmp.model.cast import HERE, WRITER
from cloudcmp.model.plan import PlannedTrial

if TYPE_CHECKING:
    from cloudcmp.provider.simulated.values import Reading

DELAY, STALE = "consistency_time_s", "stale_read_ratio"
_CHANGES = 41  # changes of a trial; odd, so that their median is one of them
_WAIT_S = 5.0  # the longest wait for a change to be seen
_DELAY_S, _SPREAD = 0.07, 0.8  # median of the delays of stale reads, and the spread of their logarithm
_WAY_S = 2e-4  # the way of an order to another writer and of its answer, without the change
_RATES = {"table": "table_op_per_s", "blob": "blob_bytes_per_s", "queue": "queue_op_per_s"}
# CPU time of the client for one operation and one byte, and the busy share of the clients that are one process.
_CPU_S, _CPU_BYTE_S = 60e-6, 0.4e-9
_BUSY = {"sdk-python": (0.3, 0.98), "cli": (0.8, 0.98)}
_LIST_BYTES = 100.0  # of one blob in a list
_CLIENT_BOUND, _THROTTLED = 0.5, 0.01
Floats = npt.NDArray[np.float64]


def delays(middle_s: float, stale: float, random: np.random.Generator) -> Floats:
    """The delays (s) until changes were seen, whose median is `middle_s`; if that is 0, a share `stale` is above 0."""
    scatter: Floats = np.exp(_SPREAD * random.standard_normal(_CHANGES))
    if middle_s > 0:
        around: Floats = np.minimum(middle_s * scatter / np.median(scatter), _WAIT_S)
        return around
    late = round(stale * _CHANGES) if stale < 0.5 else _CHANGES // 2
    values: Floats = np.minimum(_DELAY_S * scatter, _WAIT_S)
    values[late:] = 0.0
    random.shuffle(values)
    return values


def notes_of(trial: PlannedTrial, readings: Sequence["Reading"]) -> dict[str, float | str]:
    """The notes of a trial of a service; empty for any other trial."""
    values: dict[str, list[float]] = {}
    for one in readings:
        if one.value is not None:
            values.setdefault(one.metric, []).append(one.value)
    if DELAY in values:
        late = sum(value >= _WAIT_S for value in values[DELAY])
        changes = len(values[DELAY])
        of_reads = {"changes": changes, "censored": late, "wait_s": _WAIT_S, **_ways(dict(trial.params))}
        return {"operations": 2 * changes, **of_reads, **_counts(2 * changes, 0.0, 0.0)}
    service = trial.probe
    if service not in _RATES or _RATES[service] not in values:
        return {}
    params = dict(trial.params)
    duration_s = max(one.t_s for one in readings)
    rate = sum(values[_RATES[service]]) / len(values[_RATES[service]])
    size = float(params.get("size_bytes", 0)) if params.get("op") in {"download", "upload"} else 0.0
    done = rate / (size or _LIST_BYTES * min(1000.0, float(params.get("objects", 1)))) if service == "blob" else rate
    throttled, failed = (median(values.get(f"{service}_{kind}_ratio", [0.0])) for kind in ("throttled", "failed"))
    started = max(1, round(done * duration_s / max(0.01, 1 - throttled - failed)))
    counts = _counts(started, throttled, failed)
    cpu = _cpu_ratio(params, done, size)
    share = counts["throttled"] / started
    limiter = "client-bound" if cpu > _CLIENT_BOUND else "service throttle" if share > _THROTTLED else "unknown"
    dropped = max(0, round(float(params["rate_per_s"]) * duration_s) - started) if _is_open(params) else 0
    return {"operations": started, **counts, "dropped_starts": dropped, "client_cpu_ratio": round(cpu, 4),
            "payload_bytes": round(done * duration_s * size), "limiter": limiter,
            "connections": started if params.get("reuse") == "no" else _in_flight(params)}  # fmt: skip


def _ways(params: Mapping[str, str]) -> dict[str, float]:
    """The ways of another writer's answers, s: in the middle, and at most; empty if the reader writes."""
    if params.get(WRITER, HERE) == HERE:
        return {}
    return {"writer_way_s": _WAY_S, "writer_way_max_s": 3 * _WAY_S}


def _counts(started: int, throttled: float, failed: float) -> dict[str, int]:
    """The operations that did not succeed, by their kind."""
    lost = round(failed * started)
    return {"throttled": round(throttled * started), "server_errors": lost - lost // 4, "client_errors": 0,
            "timeouts": lost // 4, "wrong_bodies": 0, "retries": 0}  # fmt: skip


def _cpu_ratio(params: Mapping[str, str], done: float, size: float) -> float:
    client, at_once = params.get("client", "native"), _in_flight(params)
    if client in _BUSY:
        idle, busy = _BUSY[client]
        return idle + (busy - idle) * (1 - 1 / at_once)
    return min(1.0, done * (_CPU_S + _CPU_BYTE_S * size))


def _in_flight(params: Mapping[str, str]) -> int:
    text = params.get("concurrency", "1")
    return int(text) if text.isdigit() else 64


def _is_open(params: Mapping[str, str]) -> bool:
    return params.get("rate_per_s", "closed") != "closed"
