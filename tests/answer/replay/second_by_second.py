"""A slow second witness of the replay: one second after the other, in plain Python."""

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass
class Machine:
    """One machine: whole seconds of its request and of its first service; None while it runs on."""

    asked: int
    serves: int
    gone: int | None = None


def rate_at(times: Sequence[int], rates: Sequence[float], second: int) -> float:
    """The load at a second; before the trace, its first one."""
    return max((time, rate) for time, rate in zip(times, rates, strict=True) if time <= max(second, times[0]))[1]


def wanted(rate: float, capacity: float) -> int:
    """The machines for a rate."""
    return max(1, math.ceil(rate / capacity - 1e-9))


def reactive(
    times: Sequence[int], rates: Sequence[float], end: int, capacity: float, watch_s: int, cool_down_s: int
) -> list[int]:
    """The number of machines that the reactive policy wants in each second."""
    return [
        max(wanted(rate_at(times, rates, now - watch_s - back), capacity) for back in range(cool_down_s + 1))
        for now in range(times[0], end)
    ]


def machines(counts: Sequence[int], begin: int, launch_s: Sequence[int]) -> list[Machine]:
    """The machines of a wanted number for each second; launches take the given times, in the order of requests."""
    running = [Machine(begin, begin) for _ in range(counts[0])]
    every, taken = list(running), iter(launch_s)
    for second, count in enumerate(counts):
        now = begin + second
        while len(running) > count:
            running.pop().gone = now
        while len(running) < count:
            running.append(Machine(now, now + next(taken)))
            every.append(running[-1])
    return every


def over(
    every: Sequence[Machine], times: Sequence[int], rates: Sequence[float], end: int, capacity: float, idle: int
) -> float:
    """The requests that exceed what the machines in service carry."""
    total = 0.0
    for now in range(times[0], end):
        serving = idle + sum(one.serves <= now and (one.gone is None or now < one.gone) for one in every)
        total += max(0.0, rate_at(times, rates, now) - serving * capacity)
    return total
