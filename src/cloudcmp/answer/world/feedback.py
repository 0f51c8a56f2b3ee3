"""Sends traffic to data centres and back, event by event: for decisions that depend on earlier processing times."""

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from cloudcmp.answer.world.serve import Served, World, jitter, service_times, split
from cloudcmp.answer.world.traffic import Traffic
from cloudcmp.model.scenario import Balancing, Broker, Deployment, Discipline, Scenario

_FORGET_S = 600.0
"""After this time without a reply, the last processing time of a centre counts as unknown (CloudAnalyst)."""
_EVERY_S = 60.0
_MOST_MACHINES = 100


class _Server:
    """A machine or a link: its tasks share its speed, or are served in order."""

    __slots__ = ("_in_order", "_now", "_tasks", "_virtual", "version")

    def __init__(self, in_order: bool) -> None:
        self._tasks: list[tuple[float, int, int]] = []  # when it leaves in virtual time, its number, the task
        self._now = self._virtual = 0.0
        self._in_order = in_order
        self.version = 0

    def __len__(self) -> int:
        return len(self._tasks)

    def add(self, now: float, seconds: float, task: int, number: int) -> None:
        self._advance(now)
        after = self._tasks[-1][0] if self._in_order and self._tasks else self._virtual
        entry = (after + seconds, number, task)
        if self._in_order:
            self._tasks.append(entry)
        else:
            heapq.heappush(self._tasks, entry)
        self.version += 1

    def next(self) -> float:
        """When the next task leaves, if no other comes before."""
        return self._now + (self._tasks[0][0] - self._virtual) * self._share()

    def remove(self, now: float) -> int:
        self._now = now
        self._virtual, _, task = self._tasks.pop(0) if self._in_order else heapq.heappop(self._tasks)
        self.version += 1
        return task

    def _advance(self, now: float) -> None:
        if self._tasks:
            self._virtual += (now - self._now) / self._share()
        self._now = now

    def _share(self) -> int:
        return 1 if self._in_order else len(self._tasks)


@dataclass(slots=True)
class _Centre:
    """A data centre's machines, the tasks that wait for one, and its processing times so far."""

    machines: list[_Server]
    speed: Callable[[int], float]
    waiting: list[tuple[int, float]] = field(default_factory=list)
    turn: int = 0
    last: float = 0.0
    known_at: float = -np.inf
    best: float = np.inf
    added: list[float] = field(default_factory=list)


def serve_by_events(
    scenario: Scenario, deployment: Deployment, sent: Traffic, random: np.random.Generator
) -> Served:  # fmt: skip
    """Send messages to the centre that the broker chooses, serve them there, and send the replies back."""
    return _Events(scenario, deployment, sent, random).run()


class _Events:
    """A simulation while it runs; an event is a time, a number that orders equal times, and what is to be done."""

    def __init__(
        self, scenario: Scenario, deployment: Deployment, sent: Traffic, random: np.random.Generator
    ) -> None:  # fmt: skip
        self._scenario, self._sent, self._random = scenario, sent, random
        self._world = World.of(scenario, deployment)
        by_name = {one.name: one for one in scenario.centres}
        in_order = Discipline.IN_ORDER is scenario.discipline
        self._in_order = in_order
        self._centres = [
            _Centre([_Server(in_order) for _ in range(count)], by_name[name].speed)
            for name, count in deployment.machines
        ]
        links = int(self._world.links.max()) + 1
        self._links = [[_Server(False) for _ in range(links)] for _ in range(2)]
        self._under_way = [0.0] * links
        self._counts, self._tasks = split(scenario, sent.requests)
        self._sizes = service_times(scenario, self._tasks, 1.0, random).tolist()
        ends = np.cumsum(self._counts)
        self._owner = np.repeat(np.arange(len(ends)), self._counts).tolist()
        self._ends, self._left = ends.tolist(), self._counts.tolist()
        self._base, self._requests = sent.base.tolist(), sent.requests.tolist()
        n = len(sent.sent)
        self._centre, self._arrived, self._done = [0] * n, [0.0] * n, [np.nan] * n
        self._returned = [0.0] * n
        self._events: list[tuple[float, int, Callable[..., None], tuple[object, ...]]] = []
        self._number = 0

    def run(self) -> Served:
        """Run until every reply is back."""
        times = self._sent.sent.tolist()
        reconfigure = self._scenario.broker is Broker.RECONFIGURE
        if reconfigure:
            for minute in range(1, int(self._scenario.duration_s // _EVERY_S) + 1):
                self._at(minute * _EVERY_S, self._grow)
        for message, moment in enumerate(times):
            while self._events and self._events[0][0] <= moment:
                self._step()
            self._send(moment, message)
        while self._events:
            self._step()
        end = self._scenario.duration_s
        hours = tuple(
            ((len(one.machines) - len(one.added)) * end + sum(end - at for at in one.added)) / 3600
            for one in self._centres
        )
        return Served(
            np.array(self._centre, np.int16), np.array(self._arrived), np.array(self._done), np.array(self._returned),
            hours,
        )  # fmt: skip

    def _at(self, moment: float, action: Callable[..., None], *what: object) -> None:
        self._number += 1
        heapq.heappush(self._events, (moment, self._number, action, what))

    def _step(self) -> None:
        moment, _, action, what = heapq.heappop(self._events)
        action(moment, *what)

    def _send(self, now: float, message: int) -> None:
        self._centre[message] = self._choose(now, self._base[message])
        self._travel(now, message, out=True)

    def _choose(self, now: float, base: int) -> int:
        """The centre that the broker sends a message to."""
        closest = self._world.closest(base)
        first = int(closest[0]) if len(closest) == 1 else int(self._random.choice(closest))
        if self._scenario.broker is not Broker.BEST:
            return first
        estimates = []
        for at, one in enumerate(self._centres):
            factor = jitter(self._random) if self._scenario.cloudanalyst else 1.0
            known = one.last if now - one.known_at <= _FORGET_S else 0.0
            way = self._world.latency[base, at] * factor
            # CloudAnalyst adds one way; a request takes both.
            estimates.append((way if self._scenario.cloudanalyst else 2 * way) + known)
        quickest = int(np.argmin(estimates))
        if self._scenario.cloudanalyst and quickest != first:
            return int(self._random.choice([quickest, first]))
        return first if estimates[first] == estimates[quickest] else quickest

    def _travel(self, now: float, message: int, *, out: bool) -> None:
        """Put a message, or its reply, on its link; it arrives after the transfer and the latency."""
        base, centre = self._base[message], self._centre[message]
        one = self._scenario.bases[base]
        size = one.request_bytes if out else one.response_bytes
        factor = float((self._sent.out if out else self._sent.back)[message])
        latency = float(self._world.latency[base, centre]) * factor
        link = int(self._world.links[base, centre])
        seconds = size / float(self._world.bandwidth[base, centre])
        arrive = self._arrive if out else self._return
        if self._scenario.cloudanalyst:
            self._under_way[link] += self._requests[message]
            self._at(now + latency + seconds * self._under_way[link], arrive, message)
        elif not size:
            self._at(now + latency, arrive, message)
        else:
            server = self._links[0 if out else 1][link]
            self._number += 1
            server.add(now, seconds * self._requests[message], message, self._number)
            self._at(server.next(), self._leave_link, server, server.version, out)

    def _leave_link(self, now: float, server: _Server, version: int, out: bool) -> None:
        if version != server.version:
            return
        message = server.remove(now)
        factor = float((self._sent.out if out else self._sent.back)[message])
        way = float(self._world.latency[self._base[message], self._centre[message]]) * factor
        self._at(now + way, self._arrive if out else self._return, message)
        if len(server):
            self._at(server.next(), self._leave_link, server, server.version, out)

    def _arrive(self, now: float, message: int) -> None:
        """Split a message that has arrived into tasks for the machines."""
        self._arrived[message] = now
        self._take_off(message, 1)
        centre = self._centres[self._centre[message]]
        for task in range(self._ends[message] - self._counts[message], self._ends[message]):
            seconds = self._sizes[task] / centre.speed(len(centre.machines))
            machine = self._machine(centre)
            if machine is None:
                centre.waiting.append((task, seconds))
            else:
                self._start(now, centre, machine, task, seconds)

    def _machine(self, centre: _Centre) -> _Server | None:
        """The machine for the next task; None if it has to wait."""
        if self._scenario.balancing is Balancing.ROUND_ROBIN:
            centre.turn += 1
            return centre.machines[(centre.turn - 1) % len(centre.machines)]
        least = min(centre.machines, key=len)
        return None if self._scenario.balancing is Balancing.THROTTLED and len(least) else least

    def _start(self, now: float, centre: _Centre, machine: _Server, task: int, seconds: float) -> None:
        self._number += 1
        machine.add(now, seconds, task, self._number)
        self._at(machine.next(), self._finish, centre, machine, machine.version)

    def _finish(self, now: float, centre: _Centre, machine: _Server, version: int) -> None:
        """End a task, and with the last one of its message send the reply; in CloudAnalyst with the first one."""
        if version != machine.version:
            return
        message = self._owner[machine.remove(now)]
        if len(machine):
            self._at(machine.next(), self._finish, centre, machine, machine.version)
        elif centre.waiting:
            self._start(now, centre, machine, *centre.waiting.pop(0))
        first = self._left[message] == self._counts[message]
        self._left[message] -= 1
        if first if self._scenario.cloudanalyst else not self._left[message]:
            self._done[message] = now
            took = now - self._arrived[message]
            centre.last, centre.known_at, centre.best = took, now, min(centre.best, took)
            self._travel(now, message, out=False)

    def _return(self, now: float, message: int) -> None:
        self._returned[message] = now
        self._take_off(message, 2)

    def _take_off(self, message: int, times: int) -> None:
        """Reduce CloudAnalyst's count of requests on their way, which it does twice for a reply."""
        if self._scenario.cloudanalyst:
            link = int(self._world.links[self._base[message], self._centre[message]])
            self._under_way[link] = max(0.0, self._under_way[link] - times * self._requests[message])

    def _grow(self, now: float) -> None:
        """Add a machine to each centre whose last processing time is above its best so far."""
        for one in self._centres:
            if one.last > one.best and len(one.machines) < _MOST_MACHINES:
                one.machines.append(_Server(self._in_order))
                one.added.append(now)
