"""Sends traffic to data centres and back, if no decision depends on how long earlier requests took."""

import heapq
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cloudcmp.answer.world.queues import in_order, shared_queue, sharing
from cloudcmp.answer.world.traffic import POISSON, Floats, Traffic
from cloudcmp.model.scenario import Balancing, Deployment, Discipline, Mode, Scenario, ServiceTimes

_MIB_OF_MBIT = 2**20 / (1e6 / 8)
"""CloudAnalyst reads a bandwidth in Mbit/s as MiB/s."""


@dataclass(frozen=True, slots=True)
class World:
    """The numbers of a deployment: latency (s) and bandwidth (B/s) of shape (bases, centres), machines and speeds."""

    latency: Floats
    bandwidth: Floats
    machines: tuple[int, ...]
    links: NDArray[np.intp]
    """The link between a base and a centre, shape (bases, centres): those between the same places share it."""

    @classmethod
    def of(cls, scenario: Scenario, deployment: Deployment) -> "World":
        """The numbers of a deployment of a scenario."""
        by_name = {one.name: one for one in scenario.centres}
        centres = [by_name[name] for name, _ in deployment.machines]
        shape = (len(scenario.bases), len(centres))
        pairs = [(base.region, centre.region) for base in scenario.bases for centre in centres]
        known = {pair: at for at, pair in enumerate(dict.fromkeys(pairs))}
        factor = _MIB_OF_MBIT if scenario.cloudanalyst else 1.0
        return cls(
            np.array([scenario.latency.at(*pair) for pair in pairs]).reshape(shape),
            np.array([scenario.bandwidth.at(*pair) * factor for pair in pairs]).reshape(shape),
            tuple(count for _, count in deployment.machines),
            np.array([known[pair] for pair in pairs]).reshape(shape),
        )

    def closest(self, base: int) -> NDArray[np.intp]:
        """The centres with the least latency from a base."""
        return np.flatnonzero(self.latency[base] == self.latency[base].min())


@dataclass(frozen=True, slots=True)
class Served:
    """What became of each message: its centre, its arrival there, when it was done, and when its reply came back."""

    centre: NDArray[np.int16]
    arrived: Floats
    done: Floats
    returned: Floats
    machine_hours: tuple[float, ...]


def serve(
    scenario: Scenario, deployment: Deployment, sent: Traffic, random: np.random.Generator
) -> Served:  # fmt: skip
    """Send messages to the closest centre, serve them there, and send the replies back."""
    world = World.of(scenario, deployment)
    centre = closest(world, sent, random)
    arrived = _travel(scenario, world, sent, centre, sent.sent, out=True)
    done = np.empty_like(arrived)
    for at, machines in enumerate(world.machines):
        here = np.flatnonzero(centre == at)
        order = here[np.argsort(arrived[here], kind="stable")]
        speed = scenario.centres[_index(scenario, deployment, at)].speed(machines)
        done[order] = _processed(scenario, arrived[order], sent.requests[order], machines, speed, random)
    returned = _travel(scenario, world, sent, centre, done, out=False)
    hours = tuple(machines * scenario.duration_s / 3600 for machines in world.machines)
    return Served(centre, arrived, done, returned, hours)


def _index(scenario: Scenario, deployment: Deployment, at: int) -> int:
    names = [one.name for one in scenario.centres]
    return names.index(deployment.machines[at][0])


def closest(world: World, sent: Traffic, random: np.random.Generator) -> NDArray[np.int16]:
    """The closest centre of each message; a random one of several."""
    choices = [world.closest(base) for base in range(len(world.latency))]
    centre = np.array([one[0] for one in choices], np.int16)[sent.base]
    for base, some in enumerate(choices):
        if len(some) > 1:
            of_base = np.flatnonzero(sent.base == base)
            centre[of_base] = random.choice(some, len(of_base))
    return centre


def _travel(
    scenario: Scenario, world: World, sent: Traffic, centre: NDArray[np.int16], leave: Floats, *, out: bool
) -> Floats:  # fmt: skip
    """When messages that leave at some times arrive: after the transfer over their link, and its latency."""
    path = sent.base * np.int16(len(world.machines)) + centre
    arrive: Floats = leave + world.latency.ravel()[path] * (sent.out if out else sent.back)
    sizes = np.array([one.request_bytes if out else one.response_bytes for one in scenario.bases], float)
    if not sizes.any():
        return arrive
    link = world.links.ravel()[path]
    for one in np.unique(world.links):
        here = np.flatnonzero(link == one)
        order = here if out else here[np.argsort(leave[here], kind="stable")]
        if not len(order):
            continue
        seconds = (sizes / world.bandwidth[sent.base[order[0]], centre[order[0]]])[sent.base[order]]
        begin, requests = leave[order], sent.requests[order]
        if not scenario.cloudanalyst:
            arrive[order] += sharing(begin, seconds * requests, np.array([0])) - begin
        elif out:
            arrive[order] += seconds * _sent_together(begin, requests)
        else:
            arrive[order] += _replies(begin, arrive[order] - begin, seconds, requests)
    return arrive


def _sent_together(leave: Floats, requests: NDArray[np.int32]) -> Floats:
    """The requests that are on their way when each message leaves: those of its own tick before it, and its own."""
    total = np.cumsum(requests, dtype=float)
    first = np.concatenate([[True], leave[1:] != leave[:-1]])
    before = np.maximum.accumulate(np.where(first, total - requests, -np.inf))
    return total - before


def _replies(leave: Floats, latency: Floats, seconds: Floats, requests: NDArray[np.int32]) -> list[float]:
    """Transfer times of replies in CloudAnalyst, whose count of requests under way is reduced twice by each reply."""
    count, under_way, times = 0.0, list[tuple[float, int]](), []
    first = math.inf  # when the first of those under way comes home
    each = zip(leave.tolist(), (leave + latency).tolist(), seconds.tolist(), requests.tolist(), strict=True)
    for at, way, second, size in each:
        while first <= at:
            count -= 2 * heapq.heappop(under_way)[1]
            if count < 0.0:  # noqa: PLR1730, a call of max would take a third of the time
                count = 0.0
            first = under_way[0][0] if under_way else math.inf
        count += size
        times.append(second * count)
        heapq.heappush(under_way, (way + times[-1], size))
        first = under_way[0][0]
    return times


def _processed(
    scenario: Scenario, arrived: Floats, requests: NDArray[np.int32], machines: int, speed: float,
    random: np.random.Generator,
) -> Floats:  # fmt: skip
    """When messages that arrive at one centre, in order, are done."""
    if not len(arrived):
        return arrived
    counts, tasks = split(scenario, requests)
    times = np.repeat(arrived, counts) if len(tasks) > len(arrived) else arrived
    depart = _departures(scenario, times, service_times(scenario, tasks, speed, random), machines)
    if len(tasks) == len(arrived):
        return depart
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    # CloudAnalyst sends the reply when the first part of a message is done.
    return (np.minimum if scenario.cloudanalyst else np.maximum).reduceat(depart, starts)


def split(scenario: Scenario, requests: NDArray[np.int32]) -> tuple[NDArray[np.int64], Floats]:
    """The number of tasks that each message is split into, and the requests of each task."""
    group = scenario.grouping[1]
    if scenario.mode is Mode.REQUESTS or group >= scenario.grouping[0]:
        return np.ones(len(requests), np.int64), requests.astype(np.float64)
    counts = -(-requests.astype(np.int64) // group)
    tasks = np.full(int(counts.sum()), float(group))
    tasks[np.cumsum(counts) - 1] = requests - (counts - 1) * group
    return counts, tasks


def service_times(scenario: Scenario, tasks: Floats, speed: float, random: np.random.Generator) -> Floats:
    """The processor time of each task, which is the sum of those of its requests."""
    mean = scenario.service.seconds / speed
    if scenario.service.times is ServiceTimes.EXPONENTIAL:
        return np.asarray(random.standard_gamma(tasks) * mean)
    return tasks * mean


def _departures(scenario: Scenario, arrive: Floats, size: Floats, machines: int) -> Floats:
    """When tasks leave the machines of a centre."""
    if scenario.balancing is Balancing.THROTTLED:
        return shared_queue(arrive, size, np.full(machines, -np.inf))
    depart = np.empty_like(arrive)
    if scenario.discipline is Discipline.IN_ORDER:
        for own in _turns(len(arrive), machines):
            depart[own] = in_order(arrive[own], size[own])
        return depart
    turns = list(_turns(len(arrive), machines))
    first = np.cumsum([0, *(len(arrive[own]) for own in turns[:-1])])
    in_turns, sizes = (np.concatenate([some[own] for own in turns]) for some in (arrive, size))
    shared = sharing(in_turns, sizes, first)
    for own, part in zip(turns, np.split(shared, first[1:]), strict=True):
        depart[own] = part
    return depart


def _turns(tasks: int, machines: int) -> Iterator[slice]:
    """The tasks of each machine in turn, without machines that get none."""
    for one in range(min(tasks, machines)):
        yield slice(one, None, machines)


def jitter(random: np.random.Generator) -> float:
    """One draw of the factor that varies a time."""
    return float(random.poisson(POISSON)) / POISSON
