"""How many requests the trials of a service send, as expected and at most, and the caps that hold the most."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from cloudcmp.catalog import METRICS, PROBES
from cloudcmp.model.cast import Service, ServiceKind
from cloudcmp.model.metric import Reduce
from cloudcmp.model.plan import Candidate, PlannedTrial, ServiceUse
from cloudcmp.model.price import Item, UnitPrice
from cloudcmp.plan.tasks import Task
from cloudcmp.provider.common.hosts import is_loopback

MOST = 10
"""The assumed ratio between a service's highest and its typical speed."""
_OUT = frozenset({"download"})  # no cloud bills inbound bytes
_LOAD = "load"
_DEAREST = {ServiceKind.TABLE: "put", ServiceKind.BLOB: "upload", ServiceKind.QUEUE: "receive", ServiceKind.HTTP: ""}
"""The dearest operation of a service."""
_BY_ROW = frozenset({"firestore"})
"""The APIs that bill a query as a read of each row that it returns, which is dearer than a put, and each deletion."""
_BY_NODE = frozenset({"bigtable"})
"""The APIs that bill nodes by the hour."""
_CHANGED_ROWS = 200
"""The rows, at most, that a trial of `consistency` writes."""
_CLOSED = "closed"
_MOST_LANES = 32
"""The operations in flight that are assumed where a probe raises them until throughput stops growing."""


def is_billed(candidate: Candidate) -> bool:
    """True if the use of a candidate's service may cost money: all but simulated ones and this machine's own."""
    service = candidate.service
    if service is None or candidate.simulated:
        return False
    return not (service.endpoint and is_loopback(service.endpoint))


def lacks_node_price(candidate: Candidate) -> bool:
    """True if a candidate's service bills the nodes of its data sets by the hour, at a price that is not known."""
    by_node = is_billed(candidate) and candidate.service is not None and candidate.service.api in _BY_NODE
    return by_node and not any(one.item is Item.CAPACITY for one in candidate.unit_prices)


def service_use(candidate: Candidate, tasks: Sequence[Task]) -> tuple[ServiceUse, ...]:
    """The use of one launch of a service candidate, as expected and at most; empty for a machine.

    Expected: what fills the data set, and requests during a trial, one after another in each of its lanes, each with
    the metric's typical latency. At most: `MOST` times as many, until the trial's deadline.
    """
    if candidate.service is None:
        return ()
    used: dict[tuple[Item, str, int, str], ServiceUse] = {}
    for task in tasks:
        params, per_s = dict(task.params), _requests_per_s(task.probe, dict(task.params), task.expected_s)
        op = params.get("op") or (_LOAD if task.probe == _LOAD else _dearest(candidate.service, candidate.unit_prices))
        size = int(params.get("size_bytes", "0"))
        filled = _filled(task.probe, params, per_s * task.expected_s)
        counts = [(Item.REQUEST, op, 1, 0), (Item.REQUEST, _DEAREST[candidate.service.kind], 0, filled)]
        if op in _OUT:
            counts.append((Item.EGRESS, op, size, 0))
        for item, kind, each, once in counts:
            key = (item, kind, size, params.get("read", ""))
            had = used.get(key, ServiceUse(item, 0, 0, *key[1:]))
            expected = math.ceil((per_s * task.expected_s * each + once) * task.runs)
            most = math.ceil((MOST * per_s * task.deadline_s * each + once) * task.runs)
            used[key] = replace(had, expected=had.expected + expected, most=had.most + most)
    rows = _rows(tasks) if candidate.service.api in _BY_ROW else 0
    removed = (ServiceUse(Item.REQUEST, rows, rows, op) for op in ("delete", "get"))
    return tuple(one for one in (*used.values(), *removed) if one.most)


def _rows(tasks: Iterable[Task]) -> int:
    """The rows of a launch's table, at most, all of which are listed and deleted in the end."""
    entries = {"kept": 0, "written": 0, "changed": 0}
    for task in tasks:
        params = dict(task.params)
        if task.probe == "table":
            entries["kept"] = max(entries["kept"], int(params["entries"]))
        if task.probe == _LOAD or params.get("op") == "put":
            entries["written"] = max(entries["written"], int(params["entries"]))
        if task.probe == "consistency":
            entries["changed"] = _CHANGED_ROWS
    return sum(entries.values())


def _dearest(service: Service, prices: Iterable[UnitPrice]) -> str:
    """The operation as which all requests of a probe of several count: none of them costs more."""
    listed = all(price.name for price in prices)
    return "query" if listed and service.api in _BY_ROW else _DEAREST[service.kind]


def service_caps(trial: PlannedTrial) -> dict[str, float]:
    """The caps of a trial that hold the most requests and bytes that `service_use` counts."""
    params = dict(trial.params)
    per_s = _requests_per_s(trial.probe, params, trial.expected_s)
    filled = _filled(trial.probe, params, per_s * trial.expected_s)
    operations = math.ceil(MOST * per_s * trial.deadline_s + filled)
    caps: dict[str, float] = {"operations": operations}
    if trial.probe == ServiceKind.BLOB.value:
        caps["bytes"] = operations * max(1, int(params["size_bytes"]))
    return caps


def _requests_per_s(probe: str, params: Mapping[str, str], expected_s: float) -> float:
    """Requests a second of a trial: at its own rate, or at the typical latency of its metric; or the rows it writes."""
    if params.get("rate_per_s", _CLOSED) != _CLOSED:
        return float(params["rate_per_s"])
    timed = [METRICS[name] for name in PROBES[probe].metrics if METRICS[name].reduce is not Reduce.TOTAL]
    if not timed:
        return int(params["entries"]) / expected_s
    lanes = params.get("concurrency", "1")
    return (_MOST_LANES if lanes == "max" else int(lanes)) / timed[0].typical


def _filled(probe: str, params: Mapping[str, str], count: float) -> float:
    """The requests, at most, that make what a trial needs before it is measured; a receive needs messages."""
    if probe == "queue":
        return count if params.get("op") == "receive" else 0.0
    return float(params.get("objects") or (params.get("entries") if probe == "table" else None) or 0)
