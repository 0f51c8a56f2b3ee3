"""Simulates deployments several times, and gives their means with the interval of the simulation itself."""

from collections.abc import Callable
from decimal import Decimal

import numpy as np

from cloudcmp.answer.world.feedback import serve_by_events
from cloudcmp.answer.world.serve import serve
from cloudcmp.answer.world.stream import serve_stream
from cloudcmp.answer.world.tally import HOURS, RunFigures, Tally
from cloudcmp.answer.world.traffic import traffic
from cloudcmp.errors import UserMistake
from cloudcmp.model.scenario import Balancing, Broker, Deployment, Mode, Scenario
from cloudcmp.model.simulation import BaseTimes, CentreUse, DeploymentTimes, RunMean
from cloudcmp.stats.describe import t_interval
from cloudcmp.units import Money

_MIB, _GB = 2**20, 10**9


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
        figures = _run(scenario, deployment, of_traffic, of_service)
        if not np.isfinite(figures.overall):
            raise UserMistake.at(scenario.name, "a run sent no request", "simulate longer, or more users")
        runs.append(figures)
    return _summary(scenario, deployment, runs)


def _run(
    scenario: Scenario, deployment: Deployment, of_traffic: np.random.Generator, of_service: np.random.Generator
) -> RunFigures:  # fmt: skip
    tally = Tally(scenario, deployment)
    if scenario.mode is Mode.REQUESTS and not by_events(scenario):
        for part, served in serve_stream(scenario, deployment, of_traffic, of_service):
            tally.add(part, served)
        return tally.figures()
    sent = traffic(scenario, of_traffic)
    way = serve_by_events if by_events(scenario) else serve
    tally.add(sent, way(scenario, deployment, sent, of_service))
    return tally.figures()


def _summary(scenario: Scenario, deployment: Deployment, runs: list[RunFigures]) -> DeploymentTimes:
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


def _use(scenario: Scenario, deployment: Deployment, at: int, runs: list[RunFigures]) -> CentreUse:
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
