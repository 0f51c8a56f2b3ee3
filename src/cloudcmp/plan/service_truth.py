"""Plausible truth of table, blob and queue services: one model gives the latencies, rates and failures of a candidate.

A rate follows from the latency (operations in flight divided by it), the first byte comes before the last one, and
what makes an operation slower (size, in flight, another client, a new connection) does so in every metric.
"""

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from cloudcmp.catalog import METRICS
from cloudcmp.model.cell import Cell
from cloudcmp.model.offering import CellTruth
from cloudcmp.plan.trials import generator
from cloudcmp.plan.truth_draws import APART, PlantedCell, best, drawn_spreads, log_uniform, tail, without

_RATES = {"table": "table_op_per_s", "blob": "blob_bytes_per_s", "queue": "queue_op_per_s"}
# How much longer than the service's quickest operation an operation takes.
_OPS = {"put": (1.1, 1.5), "query": (1.3, 4.0), "list": (1.5, 3.0), "upload": (1.2, 2.0), "receive": (0.9, 1.2)}
# By how much the latency grows with the rows of the table, as a power; a query without an index reads them all.
_BY_ENTRIES = {"query": (0.05, 0.3)}
_ENTRIES = (0.01, 0.04)
_STRONG = (1.05, 1.3)
_CONNECT_S = (0.02, 0.05)
# What a client adds to each operation, mostly CPU time of one process, in seconds; and its share of the bandwidth.
_CLIENTS = {"sdk-python": ((0.004, 0.012), (0.4, 0.8)), "cli": ((0.3, 0.6), (0.4, 0.8))}
# The bandwidth of a machine as a multiple of that of one connection, and the operations that a service takes at once.
_MACHINE, _AT_ONCE = (3.0, 8.0), (40.0, 400.0)
_MAX = 64.0  # the operations in flight at which throughput has stopped growing
_NAME_BYTES = 100.0  # of a listed blob
# Chances of a share that is not 0, and its range: throttled where much is in flight, failed, and stale.
_THROTTLED, _FAILED = (0.4, (2e-3, 3e-2)), (0.15, (2e-4, 3e-3))
_STALE = {"table": (0.5, (0.05, 0.45)), "blob": (0.1, (0.01, 0.1)), "queue": (0.1, (0.01, 0.1))}
_MUCH = 16.0


def of_a_service(candidate: int, cell: Cell, written: Sequence[PlantedCell], seed: int) -> CellTruth | None:
    """The truth of a cell of a service in which the study plants nothing; None for any other cell."""
    model = _Model(candidate, seed, tuple(written))
    mean = model.mean(cell)
    if mean is None:
        return None
    service = cell.metric.partition("_")[0]
    planted = model.planted_latency(service, dict(without(cell, "percentile").params)) if service in _RATES else None
    cov, between = drawn_spreads(seed, candidate, without(cell, "percentile"))
    truth = CellTruth(float(f"{mean:.4g}"), cov, between)
    return replace(truth, cov=planted.cov, between=planted.between) if planted else truth


@dataclass(frozen=True, slots=True)
class _Model:
    """One candidate's services."""

    candidate: int
    seed: int
    written: tuple[PlantedCell, ...]

    def mean(self, cell: Cell) -> float | None:
        """The planted mean of a cell, None if it is not one of this model."""
        service, _, what = cell.metric.partition("_")
        params = dict(without(cell, "percentile").params)
        of_any = {
            "stale_read_ratio": self._stale,
            "consistency_time_s": self._delay_s,
            "table_load_row_per_s": self._load,
        }
        if cell.metric in of_any:
            return of_any[cell.metric](params)
        if service not in _RATES:
            return None
        if what in {"throttled_ratio", "failed_ratio"}:
            return self._share(cell)
        if cell.metric == _RATES[service]:
            return self._rate(service, params)
        return self._percentile_s(service, cell) if what in {"latency_s", "first_byte_s"} else None

    def _percentile_s(self, service: str, cell: Cell) -> float:
        """The percentile of a latency, or of the first byte, whose tail is that of the whole operation."""
        params = dict(without(cell, "percentile").params)
        planted = self.planted_latency(service, params)
        ratio = tail("all" if planted else self.candidate, Cell(f"{service}_latency_s", cell.params), self.seed)
        latency = self._latency_s(service, params) * ratio
        return latency * self._first_share(params) if cell.metric == "blob_first_byte_s" else latency

    def planted_latency(self, service: str, params: Mapping[str, str]) -> CellTruth | None:
        """The median latency that the study plants, or that follows from a planted rate; None if it plants neither."""
        found = best(Cell.of(f"{service}_latency_s", {**params, "percentile": "50"}), self.written)
        if found is not None:
            return found.truth
        rate = best(Cell.of(_RATES[service], params), self.written)
        if rate is None:
            return None
        return replace(rate.truth, mean=_in_flight(params) * _payload(service, params) / rate.truth.mean)

    def _latency_s(self, service: str, params: Mapping[str, str]) -> float:
        planted = self.planted_latency(service, params)
        return planted.mean if planted else self._drawn_latency_s(service, params)

    def _drawn_latency_s(self, service: str, params: Mapping[str, str]) -> float:
        """The median latency of an operation."""
        waits, transfer = self._waits_s(service, params), self._transfer_s(params)
        overhead, at_once = self._overhead_s(params), _in_flight(params)
        capacity = at_once if params.get("rate_per_s", "closed") == "closed" else 1.0
        waits *= 1 + (capacity - 1) / self._draw("at once", service).uniform(*_AT_ONCE)
        latency = max(waits + transfer + overhead, capacity * overhead)  # one process works for one operation at a time
        if capacity == 1.0 and params.get("rate_per_s", "closed") != "closed":
            busy = min(0.95, float(params["rate_per_s"]) * latency / _MAX)
            latency /= 1 - busy
        return latency

    def _waits_s(self, service: str, params: Mapping[str, str]) -> float:
        """The time that the service itself and the way to it take, with nothing else in flight."""
        op = params.get("op", "")
        typical = METRICS["blob_first_byte_s" if service == "blob" else f"{service}_latency_s"].typical
        waits = typical * math.exp(self._draw("service", service).gauss(0.0, APART))
        waits *= self._draw("op", service, op).uniform(*_OPS[op]) if op in _OPS else 1.0
        entries = float(params.get("entries", 1000))
        power = self._draw("entries", service, op).uniform(*_BY_ENTRIES.get(op, _ENTRIES))
        waits *= max(1.0, math.pow(entries / 1000, power))
        waits *= max(1.0, math.pow(float(params.get("objects", 16)) / 16, 0.02))
        waits *= self._draw("strong", service).uniform(*_STRONG) if params.get("read") == "strong" else 1.0
        waits *= 1.1 if params.get("expect_continue") == "yes" else 1.0
        return waits + (self._draw("connect").uniform(*_CONNECT_S) if params.get("reuse") == "no" else 0.0)

    def _overhead_s(self, params: Mapping[str, str]) -> float:
        client = params.get("client", "native")
        return self._draw("client", client).uniform(*_CLIENTS[client][0]) if client in _CLIENTS else 0.0

    def _transfer_s(self, params: Mapping[str, str]) -> float:
        """The time that the payload of a blob takes, of which several share the machine's bandwidth."""
        if "size_bytes" not in params or params.get("op") not in {"download", "upload"}:
            return 0.0
        draw, client = self._draw("bandwidth"), params.get("client", "native")
        alone = METRICS["blob_bytes_per_s"].typical * math.exp(draw.gauss(0.0, APART))
        machine = alone * draw.uniform(*_MACHINE)
        share = self._draw("client bandwidth", client).uniform(*_CLIENTS[client][1]) if client in _CLIENTS else 1.0
        return float(params["size_bytes"]) / min(alone * share, machine * share / _in_flight(params))

    def _first_share(self, params: Mapping[str, str]) -> float:
        """The share of an operation's time until the first byte of its answer; an upload is answered at its end."""
        if params.get("op") == "upload":
            return 0.995
        whole, transfer = self._drawn_latency_s("blob", params), self._transfer_s(params)
        return max(0.02, 0.97 * (1 - transfer / whole))

    def _rate(self, service: str, params: Mapping[str, str]) -> float:
        """The operations, or bytes, a second."""
        latency, payload = self._latency_s(service, params), _payload(service, params)
        if params.get("rate_per_s", "closed") != "closed":
            return payload * min(float(params["rate_per_s"]), _MAX / latency)
        return _in_flight(params) * payload / latency

    def _load(self, params: Mapping[str, str]) -> float:
        typical = METRICS["table_load_row_per_s"].typical * math.exp(self._draw("load").gauss(0.0, APART))
        return typical * math.pow(_in_flight(params) / 8, 0.7) / (1 + 60 * self._overhead_s(params))

    def _share(self, cell: Cell) -> float:
        """The share of operations that do not succeed, mostly 0."""
        throttled = cell.metric.endswith("throttled_ratio")
        (chance, ends), draw = _THROTTLED if throttled else _FAILED, self._draw("failures", cell)
        if draw.random() >= chance or (throttled and _in_flight(dict(cell.params)) < _MUCH):
            return 0.0
        return log_uniform(draw.random(), ends)

    def _stale(self, params: Mapping[str, str]) -> float:
        """The share of stale reads; strong reads are never stale."""
        found = best(Cell.of("stale_read_ratio", params), self.written)
        if found is not None:
            return found.truth.mean
        if params.get("read") == "strong":
            return 0.0
        draw = self._draw("stale", params["service"])
        late = best(Cell.of("consistency_time_s", params), self.written)
        if late is not None and late.truth.mean > 0:
            return draw.uniform(0.55, 0.9)  # a median delay above 0: more than half of the reads are stale
        chance, ends = _STALE[params["service"]]
        return log_uniform(draw.random(), ends) if draw.random() < chance else 0.0

    def _delay_s(self, params: Mapping[str, str]) -> float:
        """The median delay over all changes: 0 unless more than half of them are seen late."""
        if self._stale(params) <= 0.5:
            return 0.0
        return METRICS["consistency_time_s"].typical * math.exp(
            self._draw("delay", params["service"]).gauss(0.0, APART)
        )

    def _draw(self, *of: object) -> random.Random:
        return generator(self.seed, "service truth", self.candidate, *map(str, of))


def _in_flight(params: Mapping[str, str]) -> float:
    text = params.get("concurrency", "1")
    return float(text) if text.isdigit() else _MAX


def _payload(service: str, params: Mapping[str, str]) -> float:
    """What an operation counts for in the rate of its service: bytes of a blob, else one operation."""
    if service != "blob":
        return 1.0
    if params.get("op") == "list":
        return _NAME_BYTES * min(1000.0, float(params.get("objects", 16)))
    return float(params.get("size_bytes", 1))
