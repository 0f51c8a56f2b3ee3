"""A simulated day of Delgado's Twitter case: its time as CloudAnalyst's messages and request by request, and its means.

The peer is CloudAnalyst, whose own time for that day no source that we know prints. Its program (GPL, Java, with a
window) is not bundled: its classes, run without the window by a main that states the day of two data centres, give a
time of processor to pass with --theirs. benchmarks/README.md has what was seen.

usage: python3 benchmarks/simulate.py [ROUNDS] [--theirs SECONDS] [--requests]      (5 rounds unless given)
"""

import argparse
import resource
import statistics
import sys
import time
from dataclasses import replace
from pathlib import Path

from cloudcmp.answer.world.summary import simulate
from cloudcmp.app.simulate import scenario_of
from cloudcmp.model.scenario import Arrivals, Deployment, Mode, Scenario

FILE = Path(__file__).parents[1] / "studies" / "scenarios" / "delgado-twitter.yaml"
GOAL = 100
COMPARED = "2 DC (US&EU)"
"""The deployment whose time is set beside CloudAnalyst's."""


def timed(scenario: Scenario, deployment: Deployment) -> tuple[float, float, float]:
    """The processor seconds that one day took, its mean response time in ms, and its requests."""
    begun = time.process_time()
    found = simulate(scenario, deployment)
    return time.process_time() - begun, found.overall.value * 1e3, sum(one.requests for one in found.bases)


def day(name: str, scenario: Scenario, rounds: int) -> dict[str, list[float]]:
    """Print the processor time of a day of each deployment; returns all times by deployment."""
    every = {}
    for deployment in scenario.deployments:
        tried = [timed(replace(scenario, seed=seed), deployment) for seed in range(1, rounds + 1)]
        seconds = [one[0] for one in tried]
        every[deployment.name] = seconds
        print(f"{name:14} {deployment.name:13} {statistics.median(seconds):8.3f} s ({min(seconds):.3f} to "
              f"{max(seconds):.3f}, n = {rounds}), {tried[0][1]:.2f} ms, {tried[0][2]:,.0f} requests")  # fmt: skip
    return every


def main() -> int:
    """Time the days."""
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    asked.add_argument("rounds", nargs="?", type=int, default=5)
    asked.add_argument("--theirs", type=float, help="processor seconds of CloudAnalyst for the day")
    asked.add_argument("--requests", action="store_true", help="also each of 65 million requests")
    options = asked.parse_args()
    scenario = replace(scenario_of(FILE), runs=1)
    simulate(scenario, scenario.deployments[0])  # the first one also loads what all need
    seconds = statistics.median(day("messages", scenario, options.rounds)[COMPARED])
    if options.theirs:
        ratio = options.theirs / seconds
        print(f"{COMPARED}: {ratio:.0f} times as fast as CloudAnalyst's {options.theirs:g} s; the goal is {GOAL}")
    else:
        print(f"{COMPARED}: {GOAL} times as fast as CloudAnalyst if that takes more than {seconds * GOAL:.0f} s")
    if options.requests:
        # The true units do not change the service time, so that the two differ in what is simulated alone.
        alike = replace(scenario, cloudanalyst=False, arrivals=Arrivals.TOGETHER)
        day("messages, true", alike, options.rounds)
        day("requests", replace(alike, mode=Mode.REQUESTS, grouping=(1, 1)), 1)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"peak of memory {peak:.1f} GiB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
