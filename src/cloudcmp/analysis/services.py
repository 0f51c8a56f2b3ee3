"""Table, blob and queue services: delays until consistency, failures, limiters, and what another client costs."""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import median

import numpy as np

from cloudcmp.analysis.facts import note, reported
from cloudcmp.model.cell import Cell
from cloudcmp.model.plan import Plan, PlannedTrial
from cloudcmp.model.promise import Promised
from cloudcmp.model.result import Bounds, Estimate
from cloudcmp.model.services import ClientFactor, Delays, Limit, Limiter, OperationCounts, Services
from cloudcmp.model.trial import Attempt
from cloudcmp.model.values import Series
from cloudcmp.stats.describe import t_interval

DELAY = "consistency_time_s"
_CENSORED, _WAY = "censored", "writer_way_max_s"
_PROBES = frozenset({"table", "load", "blob", "queue", "propagation", "consistency"})
_COUNTS = ("operations", "throttled", "server_errors", "client_errors", "timeouts", "wrong_bodies", "dropped_starts")
_RATES = frozenset({"table_op_per_s", "blob_bytes_per_s", "queue_op_per_s"})
_BANDWIDTH, _TCP = "blob_bytes_per_s", "tcp_bytes_per_s"
# A client that is busy for more than half of the time of its threads limits; so does a service that refuses 1 %, and a
# network of which 90 % is used.
_CLIENT_BOUND, _THROTTLED, _NEAR = 0.5, 0.01, 0.9
# The longest curve of delays that is drawn.
_POINTS = 400
_Notes = Mapping[str, float]


def services(
    plan: Plan, estimates: Sequence[Estimate], attempts: Sequence[Attempt], samples: Sequence[Series]
) -> Services:
    """What a study found about its services; `samples` are those of `consistency_time_s`.

    Counts are of all attempts, also of those that gave no value. Does not tell whose fault a failure was.
    """
    trials = [(attempt, plan.trials[attempt.trial]) for attempt in attempts if not plan.imported]
    asked = [(trial, reported(attempt)) for attempt, trial in trials if trial.probe in _PROBES]
    noted = [(trial, _notes(facts)) for trial, facts in asked]
    return Services(
        tuple(_delays(plan, {trial.index: notes for trial, notes in noted}, samples)),
        tuple(_counts(plan, noted)),
        tuple(_limits(plan, estimates, noted)),
        tuple(_clients(estimates, _versions(plan, asked))),
    )


def _notes(facts: Mapping[str, object]) -> _Notes:
    """The numbers among an attempt's notes that can be counts, shares or times."""
    names = (*_COUNTS, "client_cpu_ratio", _CENSORED, "wait_s", _WAY)
    found = {name: note(facts, name) for name in names}
    return {
        name: float(value)
        for name, value in found.items()
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value >= 0
    }


def _candidate(plan: Plan, trial: PlannedTrial) -> int:
    return plan.launches[trial.launch].candidate


def _delays(plan: Plan, notes: Mapping[int, _Notes], samples: Sequence[Series]) -> Iterator[Delays]:
    by_cell: dict[tuple[str, int], list[Series]] = defaultdict(list)
    for one in samples:
        by_cell[one.cell, plan.launches[one.launch].candidate].append(one)
    for (cell, candidate), some in sorted(by_cell.items()):
        waits = [own["wait_s"] for one in some if (own := notes.get(one.trial, {})).get(_CENSORED) and "wait_s" in own]
        wait_s = min(waits, default=None)
        values = np.sort(np.array([value for one in some for value in one.values]))
        seen = values if wait_s is None else values[values < wait_s]
        x_s, at = np.unique(seen, return_index=True)
        shares = np.append(at[1:], seen.size) / values.size
        step = max(1, -(-x_s.size // _POINTS))
        kept = sorted({*range(0, x_s.size, step), x_s.size - 1}) if x_s.size else []
        curve = tuple(float(x_s[i]) for i in kept), tuple(float(shares[i]) for i in kept)
        ways = [own[_WAY] for one in some if _WAY in (own := notes.get(one.trial, {}))]
        yield Delays(
            candidate, cell, values.size, values.size - seen.size, wait_s, *curve, way_s=max(ways, default=None)
        )


def _counts(plan: Plan, noted: Sequence[tuple[PlannedTrial, _Notes]]) -> Iterator[OperationCounts]:
    found: dict[tuple[str, int], OperationCounts] = {}
    for trial, notes in noted:
        params = dict(trial.params)
        service = params.get("service", "")
        operation = " ".join(filter(None, (trial.probe, params.get("op", ""), service)))
        key = operation, _candidate(plan, trial)
        own = found.get(key) or OperationCounts(key[1], operation, 0, 0)
        more = {name: getattr(own, name) + int(notes.get(name, 0)) for name in _COUNTS}
        found[key] = replace(own, trials=own.trials + 1, counted=own.counted + ("operations" in notes), **more)
    order = {operation: at for at, operation in enumerate(dict.fromkeys(operation for operation, _ in sorted(found)))}
    yield from (found[key] for key in sorted(found, key=lambda key: (order[key[0]], key[1])))


def _limits(plan: Plan, estimates: Sequence[Estimate], noted: Sequence[tuple[PlannedTrial, _Notes]]) -> Iterator[Limit]:
    notes: dict[tuple[int, str], list[_Notes]] = defaultdict(list)
    for trial, own in noted:
        for cell in trial.cells:
            notes[_candidate(plan, trial), cell].append(own)
    networks = _networks(plan, estimates)
    for one in estimates:
        if one.cell.partition(" ")[0] in _RATES and one.offered and one.median is not None:
            yield _limit(one, notes[one.candidate, one.cell], networks.get(one.candidate))


def _limit(one: Estimate, notes: Sequence[_Notes], network: tuple[float, str] | None) -> Limit:
    busy = [own["client_cpu_ratio"] for own in notes if "client_cpu_ratio" in own]
    cpu = median(busy) if busy else None
    throttled, operations = (int(sum(own.get(name, 0) for own in notes)) for name in ("throttled", "operations"))
    of_bytes = network if one.cell.partition(" ")[0] == _BANDWIDTH else None
    if cpu is not None and cpu > _CLIENT_BOUND:
        limiter = Limiter.CLIENT
    elif operations and throttled / operations > _THROTTLED:
        limiter = Limiter.THROTTLE
    elif of_bytes and one.median is not None and one.median >= _NEAR * of_bytes[0]:
        limiter = Limiter.NETWORK
    else:
        limiter = Limiter.UNKNOWN
    return Limit(one.candidate, one.cell, limiter, cpu, throttled, operations, *(of_bytes or (None, "")))


def _networks(plan: Plan, estimates: Sequence[Estimate]) -> dict[int, tuple[float, str]]:
    """The fastest transfer of each candidate's machine: measured between two of its kind, else advertised."""
    kinds = {one.index: (one.offering.provider, one.offering.region, one.offering.name) for one in plan.candidates}
    measured: dict[tuple[str, str, str], float] = {}
    for one in estimates:
        cell = Cell.parse(one.cell) if one.cell.startswith(_TCP) else None
        if cell is not None and cell.get("path") != "loopback" and one.median is not None:
            kind = kinds[one.candidate]
            measured[kind] = max(one.median, measured.get(kind, 0.0))
    found = {}
    for candidate in plan.candidates:
        promised = candidate.offering.promised_rate(Promised.NETWORK)
        if kinds[candidate.index] in measured:
            found[candidate.index] = measured[kinds[candidate.index]], "TCP between two such machines"
        elif promised is not None:
            found[candidate.index] = promised, "advertised"
    return found


def _versions(plan: Plan, asked: Sequence[tuple[PlannedTrial, Mapping[str, object]]]) -> dict[tuple[int, str], str]:
    """The version of the provider's client that measured a candidate's cell, several if it changed meanwhile."""
    found: dict[tuple[int, str], set[str]] = defaultdict(set)
    for trial, facts in asked:
        version = note(facts, "client_version")
        for cell in trial.cells if isinstance(version, str) else ():
            found[_candidate(plan, trial), cell].add(str(version))
    return {key: ", ".join(sorted(versions)) for key, versions in found.items()}


def _clients(estimates: Sequence[Estimate], versions: Mapping[tuple[int, str], str]) -> Iterator[ClientFactor]:
    known = {(one.candidate, one.cell): one for one in estimates if one.offered}
    for one in estimates:
        cell = Cell.parse(one.cell)
        client = cell.get("client")
        if client in {None, "native"} or not cell.metric.endswith("_latency_s") or cell.get("percentile") != "50":
            continue
        native = str(Cell.of(cell.metric, {**dict(cell.params), "client": "native"}))
        base = known.get((one.candidate, native))
        if base is not None:
            version = versions.get((one.candidate, one.cell), "")
            yield ClientFactor(one.candidate, one.cell, native, client or "", *_factor(one, base), version)


def _factor(one: Estimate, base: Estimate) -> tuple[float | None, Bounds | None, int]:
    """The factor between two estimates, its interval, and the number of rounds with both."""
    of_base = {at: value for at, value in zip(base.rounds, base.values, strict=True) if at is not None and value > 0}
    pairs = zip(one.rounds, one.values, strict=True)
    logs = [math.log(value / of_base[at]) for at, value in pairs if at is not None and at in of_base and value > 0]
    if not logs:
        ratio = one.median / base.median if one.median and base.median else None
        return ratio, None, 0
    around = t_interval(logs)
    bounds = Bounds(math.exp(around.low), math.exp(around.high)) if around else None
    return math.exp(sum(logs) / len(logs)), bounds, len(logs)
