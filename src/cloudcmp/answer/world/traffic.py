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


def traffic(scenario: Scenario, random: np.random.Generator) -> Traffic:
    """Draw what all bases send during a simulation."""
    (whole,) = windows(scenario, random, 1)
    return whole


def windows(scenario: Scenario, random: np.random.Generator, count: int) -> Iterator[Traffic]:
    """Yield what all bases send, in so many equal stretches of time, one after the other."""
    together = scenario.arrivals is Arrivals.TOGETHER
    ticks = [_ticks(scenario, base, random) for base in scenario.bases] if together else []
    for begin, end in pairwise(np.linspace(0.0, scenario.duration_s, count + 1).tolist()):
        if together:
            parts = [_sent_together(scenario, one, begin, end) for one in ticks]
        else:
            parts = [_spread(scenario, base, begin, end, random) for base in scenario.bases]
        sent = np.concatenate([times for times, _ in parts])
        requests = np.concatenate([count for _, count in parts]).astype(np.int32)
        base = np.repeat(np.arange(len(parts), dtype=np.int16), [len(times) for times, _ in parts])
        if len(parts) > 1:
            order = np.argsort(sent, kind="stable")
            sent, base, requests = sent[order], base[order], requests[order]
        yield Traffic(sent, base, requests, _factors(len(sent), random), _factors(len(sent), random))


def group_of(scenario: Scenario) -> int:
    """The most requests of a message."""
    return scenario.grouping[0] if scenario.mode is Mode.MESSAGES else 1


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


def _ticks(scenario: Scenario, base: UserBase, random: np.random.Generator) -> tuple[Floats, Integers]:
    """The moments at which all online users of a base send, and how many they are."""
    every = 3600 / base.requests_per_hour
    if scenario.cloudanalyst:
        every = int(every * 1e3) / 1e3
    n = int(scenario.duration_s / every * 1.1) + 100
    ticks = np.cumsum(every * _factors(n, random).astype(np.float64))
    ticks = ticks[ticks < scenario.duration_s]
    online = np.where(in_peak(base, ticks, scenario.cloudanalyst), base.peak_users, base.off_peak_users)
    return ticks, (online * _factors(len(ticks), random).astype(np.float64)).astype(np.int64)


def _sent_together(
    scenario: Scenario, ticks: tuple[Floats, Integers], begin: float, end: float
) -> tuple[Floats, Integers]:  # fmt: skip
    """The messages of the ticks in a stretch of time: groups, and one message with the rest."""
    own = slice(*np.searchsorted(ticks[0], [begin, end]).tolist())
    moments, users = ticks[0][own], ticks[1][own]
    group = group_of(scenario)
    whole, rest = np.divmod(users, group)
    count = whole + (rest > 0)
    requests = np.full(int(count.sum()), group, np.int64)
    ends = np.cumsum(count)
    requests[ends[rest > 0] - 1] = rest[rest > 0]
    return np.repeat(moments, count), requests


def _spread(
    scenario: Scenario, base: UserBase, begin: float, end: float, random: np.random.Generator
) -> tuple[Floats, Integers]:  # fmt: skip
    """Messages at random times in a stretch, at a rate that follows the number of users who are online."""
    times = []
    group = group_of(scenario)
    for one, other, users in _stretches(scenario, base, begin, end):
        rate = users * base.requests_per_hour / 3600 / group
        times.append(np.sort(random.uniform(one, other, random.poisson(rate * (other - one)))))
    sent = np.concatenate(times)
    return sent, np.full(len(sent), group, np.int64)


def _stretches(scenario: Scenario, base: UserBase, begin: float, end: float) -> Iterator[tuple[float, float, int]]:
    """Yield stretches of time in which the number of online users stays."""
    days = int(scenario.duration_s // DAY_S) + 1
    edges = {begin, end, *(day * DAY_S + hour for day in range(days) for hour in base.peak)}
    for one, other in pairwise(sorted(edge for edge in edges if begin <= edge <= end)):
        peak = bool(in_peak(base, np.array([(one + other) / 2]), scenario.cloudanalyst)[0])
        yield one, other, base.peak_users if peak else base.off_peak_users


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
