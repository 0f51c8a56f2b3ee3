"""Serves single requests in stretches of time, exactly, with memory for one stretch.

A stretch's horizon is the time before which every arrival at a queue is known. Tasks that share a server with one that
is there at the horizon wait for the next stretch; the first of them is the horizon of the queue after it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from cloudcmp.answer.world.queues import Indices, in_order, shared_queue, sharing
from cloudcmp.answer.world.serve import Served, World, closest, service_times
from cloudcmp.answer.world.traffic import Floats, Traffic, windows
from cloudcmp.model.scenario import Balancing, Deployment, Discipline, Scenario

_REQUESTS = 1_000_000
"""A stretch has about as many."""


@dataclass(frozen=True, slots=True)
class _Pool:
    """Requests on their way to the same kind of queue; `at` is when they arrive there, `size` their service time."""

    at: Floats
    size: Floats
    server: NDArray[np.int16]
    sent: Floats
    base: NDArray[np.int16]
    centre: NDArray[np.int16]
    back: NDArray[np.float32]
    out: NDArray[np.float32]
    arrived: Floats
    done: Floats

    def taken(self, own: Indices | NDArray[np.bool_]) -> "_Pool":
        return _Pool(*(getattr(self, one.name)[own] for one in fields(self)))

    def joined(self, other: "_Pool | None") -> "_Pool":
        if other is None or not len(other.at):
            return self
        return _Pool(*(np.concatenate([getattr(other, one.name), getattr(self, one.name)]) for one in fields(self)))


class _Shared:
    """Servers that share their speed among their tasks: links, or machines."""

    def __init__(self) -> None:
        self._kept: _Pool | None = None

    def serve(self, pool: _Pool, horizon: float) -> tuple[_Pool, Floats, float]:
        """Requests that surely leave, when, and the horizon after them; they come in order of time."""
        whole = pool.joined(self._kept)
        if len(whole.at) and np.ptp(whole.server):
            whole = whole.taken(np.argsort(whole.server, kind="stable"))
        if not len(whole.at):
            return whole, whole.at, horizon
        first = np.flatnonzero(np.concatenate([[True], whole.server[1:] != whole.server[:-1]]))
        stays = _stays(whole.at, whole.size, first, horizon)
        leave = sharing(whole.at, whole.size, first)
        if not stays.any():
            self._kept = None
            return whole, leave, horizon
        self._kept = whole.taken(stays)
        return whole.taken(~stays), leave[~stays], float(self._kept.at.min())


def _stays(at: Floats, size: Floats, first: Indices, horizon: float) -> NDArray[np.bool_]:
    """True for the tasks of busy periods that are not over at the horizon."""
    stays = np.zeros(len(at), bool)
    for begin, end in zip(first.tolist(), [*first[1:].tolist(), len(at)], strict=True):
        done = in_order(at[begin:end], size[begin:end])
        if done[-1] > horizon:
            idle = np.flatnonzero(at[begin + 1 : end] >= done[:-1])
            stays[begin + (int(idle[-1]) + 1 if len(idle) else 0) : end] = True
    return stays


class _Ordered:
    """The machines of one centre that serve in order, or with one queue for all; tasks come in order of arrival."""

    def __init__(self, machines: int, one_queue: bool) -> None:
        self._free = np.full(machines, -np.inf)
        self._one_queue = one_queue

    def serve(self, pool: _Pool) -> Floats:
        """When requests leave."""
        if self._one_queue:
            leave = shared_queue(pool.at, pool.size, self._free)
            machines = len(self._free)
            self._free = np.sort(np.concatenate([self._free, leave]))[-machines:]
            return leave
        leave = np.empty_like(pool.at)
        for one in np.unique(pool.server).tolist():
            own = pool.server == one
            leave[own] = in_order(pool.at[own], pool.size[own], float(self._free[one]))
            self._free[one] = leave[own][-1]
        return leave


class _Centre:
    """The machines of a data centre; `turn` is the one that the next task is given to."""

    def __init__(self, scenario: Scenario, machines: int, speed: float) -> None:
        self._scenario, self._machines, self._speed = scenario, machines, speed
        self._turn = 0
        self._waiting: _Pool | None = None
        throttled = scenario.balancing is Balancing.THROTTLED
        ordered = throttled or scenario.discipline is Discipline.IN_ORDER
        self._ordered = _Ordered(machines, throttled) if ordered else None
        self._shared = _Shared()

    def serve(self, pool: _Pool, horizon: float, random: np.random.Generator) -> tuple[_Pool, Floats, float]:
        """Requests that leave the machines, when, and the horizon after them."""
        whole = pool.joined(self._waiting)
        whole = whole.taken(np.argsort(whole.at, kind="stable"))
        known = int(np.searchsorted(whole.at, horizon))
        self._waiting, now = whole.taken(np.arange(known, len(whole.at))), whole.taken(np.arange(known))
        size = service_times(self._scenario, np.ones(known), self._speed, random)
        server = ((self._turn + np.arange(known)) % self._machines).astype(np.int16)
        self._turn = (self._turn + known) % self._machines
        now = replace(now, size=size, server=server)
        if self._ordered is None:
            return self._shared.serve(now, horizon)
        return now, self._ordered.serve(now), horizon


def serve_stream(
    scenario: Scenario, deployment: Deployment, of_traffic: np.random.Generator, random: np.random.Generator,
    count: int | None = None,
) -> Iterator[tuple[Traffic, Served]]:  # fmt: skip
    """Yield single requests with what became of them; `count` is the number of stretches."""
    return _Stream(scenario, deployment, random).run(of_traffic, count or _stretches(scenario))


def _stretches(scenario: Scenario) -> int:
    requests = sum(max(one.peak_users, one.off_peak_users) * one.requests_per_hour for one in scenario.bases)
    return max(1, round(requests * scenario.duration_s / 3600 / _REQUESTS))


class _Stream:
    """A simulation of single requests while it runs: links there, machines, links back."""

    def __init__(self, scenario: Scenario, deployment: Deployment, random: np.random.Generator) -> None:
        self._scenario, self._random = scenario, random
        self._world = World.of(scenario, deployment)
        by_name = {one.name: one for one in scenario.centres}
        self._centres = [
            _Centre(scenario, count, by_name[name].speed(count)) for name, count in deployment.machines
        ]  # fmt: skip
        self._links = self._world.links.ravel().astype(np.int16)
        self._out, self._back = _Shared(), _Shared()
        self._returning: _Pool | None = None
        self._hours = tuple(count * scenario.duration_s / 3600 for _, count in deployment.machines)
        self._sizes = [
            np.array([one.request_bytes if out else one.response_bytes for one in scenario.bases], float)
            for out in (True, False)
        ]

    def run(self, of_traffic: np.random.Generator, count: int) -> Iterator[tuple[Traffic, Served]]:
        """Serve all stretches; after the last one no request comes any more."""
        for number, sent in enumerate(windows(self._scenario, of_traffic, count), 1):
            last = number == count
            horizon = np.inf if last else self._scenario.duration_s * number / count
            yield self._step(sent, horizon)

    def _step(self, sent: Traffic, horizon: float) -> tuple[Traffic, Served]:
        world, zero = self._world, np.zeros(len(sent.sent))
        centre = closest(world, sent, self._random)
        path = sent.base * np.int16(len(world.machines)) + centre
        pool = _Pool(sent.sent, self._transfer(0, sent.base, path), self._links[path], sent.sent, sent.base,
                     centre, sent.back, sent.out, zero, zero)  # fmt: skip
        pool, leave, horizon = self._travel(0, pool, horizon)
        arrived = leave + self._latency(pool) * pool.out
        pool = replace(pool, at=arrived, arrived=arrived)
        served = [
            one.serve(pool.taken(pool.centre == at), horizon, self._random) for at, one in enumerate(self._centres)
        ]
        pool = _concatenated([one for one, _, _ in served])
        done = np.concatenate([leave for _, leave, _ in served])
        horizon = min(after for _, _, after in served)
        path = pool.base * np.int16(len(world.machines)) + pool.centre
        pool = replace(pool, at=done, done=done, server=self._links[path],
                       size=self._transfer(1, pool.base, path))  # fmt: skip
        whole = pool.joined(self._returning)
        known = whole.at < horizon
        self._returning = whole.taken(~known)
        ready = whole.taken(known)
        pool, leave, _ = self._travel(1, ready.taken(np.argsort(ready.at, kind="stable")), horizon)
        returned = leave + self._latency(pool) * pool.back
        ones = np.ones(len(returned), np.int32)
        return (Traffic(pool.sent, pool.base, ones, pool.out, pool.back),
                Served(pool.centre, pool.arrived, pool.done, returned, self._hours))  # fmt: skip

    def _travel(self, way: int, pool: _Pool, horizon: float) -> tuple[_Pool, Floats, float]:
        """Requests that leave their links; nothing waits for a link without anything to transfer."""
        if not self._sizes[way].any():
            return pool, pool.at, horizon
        return (self._back if way else self._out).serve(pool, horizon)

    def _transfer(self, way: int, base: NDArray[np.int16], path: NDArray[np.int16]) -> Floats:
        return np.asarray(self._sizes[way][base] / self._world.bandwidth.ravel()[path])

    def _latency(self, pool: _Pool) -> Floats:
        return np.asarray(self._world.latency.ravel()[pool.base * np.int16(len(self._world.machines)) + pool.centre])


def _concatenated(pools: list[_Pool]) -> _Pool:
    whole = pools[0]
    for one in pools[1:]:
        whole = one.joined(whole)
    return whole
