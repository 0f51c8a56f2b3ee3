"""The replay of a load: its time by the length of the trace, and how often its interval holds what comes next.

Intervals: launch times are lognormal (median 60 s). A study sees a few of them; the replay of three days with a burst
each hour gives the share of requests over target with its 95 % interval. Then three more days come, with launch times
of their own from the same distribution. The interval should hold their share in 95 of 100 cases, and so should the
idle machines that were found keep the limit.

usage: python3 benchmarks/replay.py [STUDIES] [--seed N]      (300 studies for each row unless given)
"""

import argparse
import math
import sys
import time
from dataclasses import dataclass

import numpy as np

from cloudcmp.answer.replay.policies import Server, outcome_of, replayed
from cloudcmp.answer.replay.service import Replay
from cloudcmp.model.offering import Billing
from cloudcmp.model.replay import LaunchTimes, Load, Policy, Rules

MINUTE_S, DAY_ROWS = 60.0, 1440
MEDIAN_S, LIMIT = 60.0, 0.005
LENGTHS = {"a day": 1, "a month": 30, "a quarter": 91, "a year": 365}
BILLING = Billing(60.0, 1.0)


def days(count: int, random: np.random.Generator) -> Load:
    """Minutes with a daily cycle between 400 and 1,600 requests/s, and noise of 10 %."""
    times = np.arange(count * DAY_ROWS) * MINUTE_S
    cycle = 1000 * (1 + 0.6 * np.sin(2 * math.pi * times / 86_400))
    return Load(times, np.maximum(cycle * random.normal(1, 0.1, len(times)), 0.0), count * 86_400.0)


def bursts() -> Load:
    """Three days of minutes with 300 requests/s, and 2,000 for ten minutes of each hour."""
    times = np.arange(3 * DAY_ROWS) * MINUTE_S
    return Load(times, np.where(np.arange(len(times)) % 60 < 10, 2000.0, 300.0), 3 * 86_400.0)


@dataclass(frozen=True, slots=True)
class Held:
    """The shares of studies whose interval held the next share, and whose idle machines kept the limit next time."""

    interval: float
    limit: float


def held(launches: int, sigma: float, studies: int, seed: int) -> Held:
    """How often intervals and idle machines from so many launches hold for the next three days."""
    load, rules = bursts(), Rules(utilisation=1.0, watch_s=0.0, over=LIMIT)
    interval = limit = 0
    for study in range(studies):
        random = np.random.default_rng([seed, launches, study])
        measured = LaunchTimes(MEDIAN_S * random.lognormal(0.0, sigma, launches))
        server = Server(100.0, measured, 1.0, BILLING)
        found = next(one for one in replayed(load, server, rules, seed) if one.policy is Policy.REACTIVE)
        outcome = outcome_of(load, server, rules, found)
        coming = MEDIAN_S * random.lognormal(0.0, sigma, len(found.lives.start))
        over = Replay.of(load, server.capacity, found.lives, float(coming.max())).over(coming)
        bounds = outcome.alone.bounds
        interval += bounds is not None and bounds.low <= over[0] / load.requests <= bounds.high
        limit += (over[outcome.idle] if outcome.idle < len(over) else 0.0) <= LIMIT * load.requests
    return Held(interval / studies, limit / studies)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description="Time and intervals of the replay of a load.")
    parser.add_argument("studies", nargs="?", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    random = np.random.default_rng(asked.seed)
    server = Server(100.0, LaunchTimes(MEDIAN_S * random.lognormal(0.0, 0.3, 20)), 1.0, BILLING)
    sys.stdout.write("| trace of minutes | rows | launches | time |\n|---|---|---|---|\n")
    for name, count in LENGTHS.items():
        load, begun = days(count, random), time.perf_counter()
        every = list(replayed(load, server, Rules(), asked.seed))
        took = time.perf_counter() - begun
        starts = max(len(one.lives.start) for one in every)
        sys.stdout.write(f"| {name} | {len(load.times):,} | {starts:,} | {took:.2f} s |\n")
    sys.stdout.write("\n| launches | sigma | interval holds | limit kept | n |\n|---|---|---|---|---|\n")
    for launches, sigma in ((5, 0.3), (10, 0.3), (20, 0.1), (20, 0.3), (20, 1.0), (50, 0.3)):
        one = held(launches, sigma, asked.studies, asked.seed)
        sys.stdout.write(
            f"| {launches} | {sigma} | {one.interval * 100:.1f} % | {one.limit * 100:.1f} % | {asked.studies} |\n"
        )


if __name__ == "__main__":
    main()
