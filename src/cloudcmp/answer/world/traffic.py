"""When the users of each base send, and how much."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from cloudcmp.model.scenario import DAY_S, Arrivals, Mode, Scenario, UserBase

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

POISSON = 100
"""CloudAnalyst varies a time or a number by a Poisson variable of this mean, over this mean: by 10 %."""


@dataclass(frozen=True, slots=True)
class Traffic:
    """Messages in the order of their sending: when, by which base, and of how many requests; each of shape (n,).

    `out` and `back` are the factors of the latency of each way.
    """

    sent: Floats
    base: NDArray[np.int16]
    requests: NDArray[np.int32]
    out: NDArray[np.float32]
    back: NDArray[np.float32]

    def part(self, begin: int, end: int) -> "Traffic":
        """The messages from one place to another."""
        own = slice(begin, end)
        return Traffic(self.sent[own], self.base[own], self.requests[own], self.out[own], self.back[own])


def traffic(scenario: Scenario, random: np.random.Generator) -> Traffic:
    """Draw what all bases send during a simulation."""
    parts = [_of_base(scenario, base, random) for base in scenario.bases]
    sent = np.concatenate([times for times, _ in parts])
    requests = np.concatenate([count for _, count in parts]).astype(np.int32)
    base = np.repeat(np.arange(len(parts), dtype=np.int16), [len(times) for times, _ in parts])
    if len(parts) > 1:
        order = np.argsort(sent, kind="stable")
        sent, base, requests = sent[order], base[order], requests[order]
    return Traffic(sent, base, requests, _factors(len(sent), random), _factors(len(sent), random))


def _factors(n: int, random: np.random.Generator) -> NDArray[np.float32]:
    """Draws of a Poisson variable of mean 100 over its mean, from a table of 65,536 of its quantiles."""
    return _QUANTILES[random.integers(0, len(_QUANTILES), n, dtype=np.uint16)]


def _quantiles() -> NDArray[np.float32]:
    chances = [np.exp(-POISSON)]
    for k in range(1, 3 * POISSON):
        chances.append(chances[-1] * POISSON / k)
    levels = (np.arange(2**16) + 0.5) / 2**16
    return (np.searchsorted(np.cumsum(chances), levels) / POISSON).astype(np.float32)


_QUANTILES = _quantiles()


def _of_base(scenario: Scenario, base: UserBase, random: np.random.Generator) -> tuple[Floats, Integers]:
    """When a base sends messages, and the requests in each."""
    group = scenario.grouping[0] if scenario.mode is Mode.MESSAGES else 1
    if scenario.arrivals is Arrivals.SPREAD:
        return _spread(scenario, base, group, random)
    ticks = _ticks(scenario, base, random)
    online = np.where(in_peak(base, ticks, scenario.cloudanalyst), base.peak_users, base.off_peak_users)
    users = (online * _factors(len(ticks), random).astype(np.float64)).astype(np.int64)
    whole, rest = np.divmod(users, group)
    count = whole + (rest > 0)
    requests = np.full(int(count.sum()), group, np.int64)
    ends = np.cumsum(count)
    requests[ends[rest > 0] - 1] = rest[rest > 0]
    return np.repeat(ticks, count), requests


def _ticks(scenario: Scenario, base: UserBase, random: np.random.Generator) -> Floats:
    """The moments at which all online users of a base send."""
    every = 3600 / base.requests_per_hour
    if scenario.cloudanalyst:
        every = int(every * 1e3) / 1e3
    n = int(scenario.duration_s / every * 1.1) + 100
    ticks = np.cumsum(every * _factors(n, random).astype(np.float64))
    return ticks[ticks < scenario.duration_s]


def _spread(
    scenario: Scenario, base: UserBase, group: int, random: np.random.Generator
) -> tuple[Floats, Integers]:  # fmt: skip
    """Messages at random times, at a rate that follows the number of users who are online."""
    times = []
    for begin, end, users in _stretches(scenario, base):
        rate = users * base.requests_per_hour / 3600 / group
        times.append(np.sort(random.uniform(begin, end, random.poisson(rate * (end - begin)))))
    sent = np.concatenate(times)
    return sent, np.full(len(sent), group, np.int64)


def _stretches(scenario: Scenario, base: UserBase) -> Iterator[tuple[float, float, int]]:
    """Yield stretches of time in which the number of online users stays."""
    days = int(scenario.duration_s // DAY_S) + 1
    edges = {0.0, scenario.duration_s, *(day * DAY_S + hour for day in range(days) for hour in base.peak)}
    inside = sorted(one for one in edges if 0 <= one <= scenario.duration_s)
    for begin, end in pairwise(inside):
        peak = bool(in_peak(base, np.array([(begin + end) / 2]), scenario.cloudanalyst)[0])
        yield begin, end, base.peak_users if peak else base.off_peak_users


def in_peak(base: UserBase, times: Floats, cloudanalyst: bool) -> NDArray[np.bool_]:
    """True where a time, in seconds since midnight UTC of the first day, is in the peak hours of a base.

    Peak hours come each day and may go over midnight; in CloudAnalyst they come on the first day alone.
    """
    begin, end = base.peak
    if cloudanalyst:
        return np.asarray((times > begin) & (times < end))
    of_day = times % DAY_S
    if begin <= end:
        return np.asarray((of_day >= begin) & (of_day < end))
    return np.asarray((of_day >= begin) | (of_day < end))
