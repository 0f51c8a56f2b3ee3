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

FASTEST_S = 0.0005
"""The shortest response time that is assumed of a service, s: less than the way there and back in a data centre."""
LOOKS = 16
"""Requests of a trial, at most, that look at a data set or empty it."""
LANE_BYTES_PER_S, MOST_LANE_BYTES_PER_S = 100e6, 1.25e9
"""What one connection moves as expected, and at most: a connection at a cloud is limited to 10 Gbit/s or less."""
BYTES_PER_S, MOST_BYTES_PER_S = 0.625e9, 3.125e9
"""What the machine that asks moves as expected, and at most: 5 and 25 Gbit/s."""
_OUT = frozenset({"download"})  # no cloud bills inbound bytes
_LOAD = "load"
_DEAREST = {ServiceKind.TABLE: "put", ServiceKind.BLOB: "upload", ServiceKind.QUEUE: "receive", ServiceKind.HTTP: ""}
"""The dearest operation of a service."""
_BY_ROW = frozenset({"firestore"})
"""The APIs that bill a query as a read of each row that it returns, which is dearer than a put, and each deletion."""
_BY_NODE = frozenset({"bigtable"})
"""The APIs that bill nodes by the hour."""
_CHANGED_ROWS = 200
"""The rows, at most, that a trial of `consistency` writes; it makes as many changes."""
_CLOSED = "closed"
_MOST_LANES = 32
"""The operations in flight that are assumed, at most, where a probe raises them."""
_OWN_LANES = 5
"""The connections, at most, of probes without such a parameter: `consistency` has one that writes, four that read."""


def is_billed(candidate: Candidate) -> bool:
    """True if the use of a candidate's service may cost money: all but simulated ones and this machine's own."""
    service = candidate.service
    if service is None or candidate.simulated or service.kind is ServiceKind.HTTP:
        return False
    return not (service.endpoint and is_loopback(service.endpoint))


def lacks_node_price(candidate: Candidate) -> bool:
    """True if a candidate's service bills the nodes of its data sets by the hour, at a price that is not known."""
    by_node = is_billed(candidate) and candidate.service is not None and candidate.service.api in _BY_NODE
    return by_node and not any(one.item is Item.CAPACITY for one in candidate.unit_prices)


def service_use(candidate: Candidate, tasks: Sequence[Task]) -> tuple[ServiceUse, ...]:
    """The use of one launch of a service candidate, as expected and at most; empty for a machine.

    Expected: what fills the data set, and requests during a trial, one after another in each of its lanes, each with
    the metric's typical latency and the time that its bytes take. At most: the same with `FASTEST_S` and the highest
    speeds; the trial's caps hold it.
    """
    if candidate.service is None or candidate.service.kind is ServiceKind.HTTP:
        return ()
    used: dict[tuple[Item, str, int, str], ServiceUse] = {}
    contents: set[tuple[str, ...]] = set()
    for task in tasks:
        params = dict(task.params)
        count, most_count = _requests(task.probe, params, task.expected_s)
        op = params.get("op") or (_LOAD if task.probe == _LOAD else _dearest(candidate.service, candidate.unit_prices))
        size = int(params.get("size_bytes", "0"))
        filled, most_filled = _filled(task.probe, params, count), _filled(task.probe, params, most_count)
        content = tuple(params.get(key, "") for key in ("entries", "objects", "size_bytes"))
        if content in contents and task.probe != "queue":
            filled = 0.0  # an earlier trial of the launch has left it there; messages are gone once they are received
        contents.add(content)
        uses = [
            (Item.REQUEST, op, count, most_count),
            (Item.REQUEST, _DEAREST[candidate.service.kind], filled, most_filled),
        ]
        if op in _OUT:
            uses.append((Item.EGRESS, op, size * count, size * most_count))
        for item, kind, expected, most in uses:
            key = (item, kind, size, params.get("read", ""))
            had = used.get(key, ServiceUse(item, 0, 0, *key[1:]))
            used[key] = replace(
                had,
                expected=had.expected + math.ceil(expected * task.runs),
                most=had.most + math.ceil(most * task.runs),
            )
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
    _, most = _requests(trial.probe, params, trial.expected_s)
    filled = _filled(trial.probe, params, most)
    caps: dict[str, float] = {"operations": math.ceil(most + filled)}
    if trial.probe == ServiceKind.BLOB.value:
        caps["bytes"] = math.ceil(most + filled) * max(1, int(params["size_bytes"]))
    return caps


def shared_caps(caps: Mapping[str, float], *, writes: bool) -> dict[str, float]:
    """The part of a trial's caps for the agent that writes, or for the one that reads; both together are the whole.

    A writer makes two changes, at most, for each that is measured: what is deleted must have been written.
    """
    whole = dict(caps)
    if (operations := whole.get("operations")) is not None:
        part = min(2 * _CHANGED_ROWS, int(operations) // 2)
        whole["operations"] = part if writes else int(operations) - part
    return whole


def _requests(probe: str, params: Mapping[str, str], duration_s: float) -> tuple[float, float]:
    """The requests of a trial's measured phase, as expected and at most: at its own rate, or as fast as they go.

    Those at most count what looks at the data set before.
    """
    timed = [METRICS[name] for name in PROBES[probe].metrics if METRICS[name].reduce is not Reduce.TOTAL]
    if not timed:
        return float(params["entries"]), LOOKS + float(params["entries"])
    if params.get("rate_per_s", _CLOSED) != _CLOSED:
        started = float(params["rate_per_s"]) * duration_s
        return started, LOOKS + started
    asked, size = params.get("concurrency"), max(1, int(params.get("size_bytes", "1")))
    lanes, most_lanes = (_MOST_LANES,) * 2 if asked == "max" else (int(asked or 1), int(asked or _OWN_LANES))
    per_s = min(lanes / (timed[0].typical + size / LANE_BYTES_PER_S), BYTES_PER_S / size)
    most_per_s = min(most_lanes / (FASTEST_S + size / MOST_LANE_BYTES_PER_S), MOST_BYTES_PER_S / size)
    return per_s * duration_s, LOOKS + most_per_s * duration_s


def _filled(probe: str, params: Mapping[str, str], count: float) -> float:
    """The requests, at most, that make what a trial needs before it is measured; a receive needs messages."""
    if probe == "queue":
        return count if params.get("op") == "receive" else 0.0
    return float(params.get("objects") or (params.get("entries") if probe == "table" else None) or 0)
