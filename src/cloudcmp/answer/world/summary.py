"""Simulates deployments several times, and gives their means with the interval of the simulation itself."""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloudcmp.answer.world.feedback import serve_by_events
from cloudcmp.answer.world.serve import Served, serve
from cloudcmp.answer.world.traffic import Floats, Traffic, traffic
from cloudcmp.errors import UserMistake
from cloudcmp.model.scenario import Balancing, Broker, Deployment, Scenario
from cloudcmp.model.simulation import BaseTimes, CentreUse, DeploymentTimes, RunMean
from cloudcmp.stats.describe import t_interval
from cloudcmp.units import Money

HOURS = 24
_MIB, _GB = 2**20, 10**9


@dataclass(frozen=True, slots=True)
class _Run:
    """One run's figures: means by base, by base and hour (bases, 24), and by centre; NaN where there is none."""

    overall: float
    within: float
    base_mean: Floats
    base_within: Floats
    lowest: Floats
    highest: Floats
    requests: Floats
    by_hour: Floats
    processing: Floats
    centre_requests: Floats
    centre_bytes: Floats
    machine_hours: tuple[float, ...]


def by_events(scenario: Scenario) -> bool:
    """True if a decision depends on earlier processing times, so that the simulation goes event by event."""
    return scenario.broker is not Broker.CLOSEST or scenario.balancing is Balancing.EQUALLY_SPREAD


def simulate(
    scenario: Scenario, deployment: Deployment, progress: Callable[[str], None] = lambda _: None
) -> DeploymentTimes:
    """Simulate a deployment as often as the scenario says; run k of every deployment has the same traffic.

    Raises UserMistake if a run sends no request.
    """
    runs = []
    for number in range(scenario.runs):
        progress(f"simulating {deployment.name}: run {number + 1} of {scenario.runs}")
        of_traffic, of_service = map(np.random.default_rng, np.random.SeedSequence((scenario.seed, number)).spawn(2))
        sent = traffic(scenario, of_traffic)
        if not len(sent.sent):
            raise UserMistake.at(scenario.name, "a run sent no request", "simulate longer, or more users")
        way = serve_by_events if by_events(scenario) else serve
        runs.append(_tally(scenario, deployment, sent, way(scenario, deployment, sent, of_service)))
    return _summary(scenario, deployment, runs)


def _tally(scenario: Scenario, deployment: Deployment, sent: Traffic, served: Served) -> _Run:
    """The figures of a run. Means are weighted by requests; CloudAnalyst's means of a base are over its messages."""
    bases, centres = len(scenario.bases), len(deployment.machines)
    times, weights = served.returned - sent.sent, sent.requests.astype(float)
    target = scenario.search.target_s if scenario.search and scenario.search.share else None
    inside = (times <= target).astype(float) if target is not None else np.full(len(times), np.nan)
    own = np.ones_like(weights) if scenario.cloudanalyst else weights
    hour = sent.base.astype(np.int32) * HOURS + (sent.sent % 86400 // 3600).astype(np.int32)
    sizes = np.array([one.request_bytes + one.response_bytes for one in scenario.bases], float)
    lowest, highest = np.full(bases, np.nan), np.full(bases, np.nan)
    for base in range(bases):
        if (some := times[sent.base == base]).size:
            lowest[base], highest[base] = some.min(), some.max()
    return _Run(
        float(np.average(times, weights=weights)),
        float(np.average(inside, weights=weights)),
        _mean(sent.base, times, own, bases),
        _mean(sent.base, inside, weights, bases),
        lowest,
        highest,
        _sum(sent.base, weights, bases),
        _mean(hour, times, own, bases * HOURS).reshape(bases, HOURS),
        _mean(served.centre, served.done - served.arrived, weights, centres),
        _sum(served.centre, weights, centres),
        _sum(served.centre, weights * sizes[sent.base], centres),
        served.machine_hours,
    )


def _sum(group: NDArray[Any], values: Floats, groups: int) -> Floats:
    return np.bincount(group, values, groups).astype(np.float64)


def _mean(group: NDArray[Any], values: Floats, weights: Floats, groups: int) -> Floats:
    """The weighted mean of each group; NaN for one without values."""
    total = _sum(group, weights, groups)
    mean: Floats = np.divide(_sum(group, values * weights, groups), total, out=np.full(groups, np.nan), where=total > 0)
    return mean


def _summary(scenario: Scenario, deployment: Deployment, runs: list[_Run]) -> DeploymentTimes:
    bases = tuple(
        BaseTimes(
            base.name, mean, float(min(one.lowest[at] for one in runs)), float(max(one.highest[at] for one in runs)),
            float(np.mean([one.requests[at] for one in runs])),
            tuple(over_runs([one.by_hour[at, hour] for one in runs]) for hour in range(HOURS)),
            over_runs([one.base_within[at] for one in runs]),
        )
        for at, base in enumerate(scenario.bases)
        if (mean := over_runs([one.base_mean[at] for one in runs])) is not None
    )  # fmt: skip
    centres = tuple(_use(scenario, deployment, at, runs) for at in range(len(deployment.machines)))
    overall = over_runs([one.overall for one in runs])
    assert overall is not None  # a run without requests is refused
    return DeploymentTimes(
        deployment.name, overall, min(one.lowest for one in bases), max(one.highest for one in bases), bases, centres,
        _total([cost for one in centres for cost in (one.machine_cost, one.transfer_cost)]),
        over_runs([one.within for one in runs]),
    )  # fmt: skip


def over_runs(values: list[float]) -> RunMean | None:
    """The mean over runs with its interval; None if a run has no value."""
    if not values or not np.isfinite(values).all():
        return None
    interval = t_interval(values) if len(values) > 1 else None
    low, high = (interval.low, interval.high) if interval else (None, None)
    return RunMean(float(np.mean(values)), low, high, len(values))


def _use(scenario: Scenario, deployment: Deployment, at: int, runs: list[_Run]) -> CentreUse:
    """The work and cost of a centre in a mean run; CloudAnalyst counts MiB and calls them GB."""
    name, machines = deployment.machines[at]
    centre = next(one for one in scenario.centres if one.name == name)
    hours = float(np.mean([one.machine_hours[at] for one in runs]))
    moved = float(np.mean([one.centre_bytes[at] for one in runs]))
    requests = float(np.mean([one.centre_requests[at] for one in runs]))
    unit = _MIB if scenario.cloudanalyst else _GB
    busy = requests * scenario.service.seconds / centre.speed(machines) / (hours * 3600)
    return CentreUse(
        name, machines, over_runs([one.processing[at] for one in runs]), requests, moved, hours, busy,
        _times(centre.price, hours), _times(centre.transfer, moved / unit),
    )  # fmt: skip


def _times(price: Money | None, amount: float) -> Money | None:
    return None if price is None else price * Decimal(repr(round(amount, 9)))


def _total(costs: list[Money | None]) -> Money | None:
    known = [one for one in costs if one is not None]
    if len(known) < len(costs):
        return None
    return Money(sum((one.amount for one in known), Decimal(0)), known[0].currency)
