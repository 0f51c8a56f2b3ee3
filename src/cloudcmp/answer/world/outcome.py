"""The outcome of a scenario and of its variants, with published means beside it, and the search among data centres."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import Decimal
from itertools import combinations

from cloudcmp.answer.world.summary import simulate
from cloudcmp.model.scenario import Deployment, Scenario, Search, Variant
from cloudcmp.model.simulation import (
    DeploymentTimes,
    Found,
    Outcome,
    PrintedMean,
    Reach,
    RunMean,
    SearchLack,
    SetOption,
)
from cloudcmp.units import Money

Progress = Callable[[str], None]
Printed = Mapping[tuple[str, str], float]
"""Published means in seconds by the name of a deployment and a row of the table."""
OVERALL = "overall"


def outcome(
    scenario: Scenario, printed: Printed, variant: Variant | None = None, progress: Progress = print
) -> Outcome:
    """Simulate every deployment of a scenario, or of a variant of it."""
    changed = scenario if variant is None else varied(scenario, variant)
    found = tuple(simulate(changed, one, progress) for one in changed.deployments)
    beside = tuple(_beside(scenario, found, printed))
    return Outcome(found, beside, variant.name if variant else "", variant.why if variant else "")


def _beside(scenario: Scenario, found: tuple[DeploymentTimes, ...], printed: Printed) -> list[PrintedMean]:
    if scenario.published is None:
        return []
    pairs = []
    for row, what in scenario.published.rows:
        for one in found:
            mean = (
                one.overall if what == OVERALL else next((each.mean for each in one.bases if each.base == what), None)
            )
            if mean is not None and (one.name, row) in printed:
                pairs.append(PrintedMean(one.name, row, printed[one.name, row], mean))
    return pairs


def varied(scenario: Scenario, variant: Variant) -> Scenario:
    """A scenario with the changes of a variant."""
    peaks = dict(variant.peaks)
    changed = replace(
        scenario,
        bases=tuple(replace(one, peak=peaks.get(one.name, one.peak)) for one in scenario.bases),
        latency=scenario.latency.changed(variant.latencies),
        deployments=tuple(
            one for one in scenario.deployments if not variant.deployments or one.name in variant.deployments
        ),
    )
    if not variant.corrected:
        return changed
    service = scenario.service
    if scenario.work is not None:
        instructions, millions = scenario.work
        service = replace(service, seconds=instructions / (millions * 1e6))
    return replace(changed, cloudanalyst=False, service=service)


def search(scenario: Scenario, wanted: Search, progress: Progress) -> Found:
    """Simulate every set of at most so many data centres, and name the best that surely meets what is wanted."""
    sets = [some for k in range(1, wanted.choose + 1) for some in combinations(scenario.centres, k)]
    options = []
    for number, some in enumerate(sets, 1):
        deployment = Deployment(
            " and ".join(one.name for one in some), tuple((one.name, one.machines) for one in some)
        )  # fmt: skip
        progress(f"set {number} of {len(sets)}: {deployment.name}")
        options.append(_option(simulate(scenario, deployment), wanted))
    return _chosen(options, wanted)


def _option(times: DeploymentTimes, wanted: Search) -> SetOption:
    """A set with the figure that is furthest from the target."""
    if wanted.share is not None:
        assert times.within is not None
        figures = [(one.base, one.within) for one in times.bases if one.within is not None] if wanted.each else []
        worst, figure = min(figures or [(OVERALL, times.within)], key=lambda one: one[1].value)
    else:
        means = [(one.base, one.mean) for one in times.bases] if wanted.each else []
        worst, figure = max(means or [(OVERALL, times.overall)], key=lambda one: one[1].value)
    names = tuple(one.centre for one in times.centres)
    limit = wanted.target_s if wanted.share is None else wanted.share
    if limit is not None:
        reach = _reach(figure, limit, higher=wanted.share is not None)
    else:
        assert wanted.budget is not None
        reach = Reach.MEETS if _cost(times.cost) <= wanted.budget.amount else Reach.MISSES
    if times.overloaded:  # its figure is that of this span alone
        reach = Reach.MISSES
    return SetOption(names, worst, figure, times.overall, times.cost, reach, overloaded=bool(times.overloaded))


def _reach(figure: RunMean, limit: float, *, higher: bool) -> Reach:
    """Whether the whole interval is on one side of a limit; one run has no interval, and tells nothing."""
    if figure.low is None or figure.high is None or figure.low <= limit <= figure.high != figure.low:
        return Reach.CANNOT_TELL
    return Reach.MEETS if (figure.value >= limit) == higher or figure.value == limit else Reach.MISSES


def _chosen(options: list[SetOption], wanted: Search) -> Found:
    by_cost = wanted.budget is None

    def worth(one: SetOption) -> tuple[float, float]:
        cost = float(_cost(one.cost))
        return (cost, one.overall.value) if by_cost else (one.figure.value, cost)

    ordered = tuple(sorted(options, key=worth))
    meets = [one for one in ordered if one.reach is Reach.MEETS]
    if by_cost:
        open_ = [
            one for one in ordered if one.reach is Reach.CANNOT_TELL and (not meets or worth(one) < worth(meets[0]))
        ]
    else:
        # Which of two sets is faster is not known while their intervals meet.
        best = meets[0].figure if meets else None
        open_ = [one for one in meets[1:] if best is not None and _overlap(best, one.figure)]
    if open_:
        return Found(ordered, None, SearchLack.UNDECIDED)
    return Found(ordered, meets[0] if meets else None, None if meets else SearchLack.NONE_MEETS)


def _cost(cost: Money | None) -> Decimal:
    """A cost that is known, because a search needs every price."""
    assert cost is not None
    return cost.amount


def _overlap(one: RunMean, other: RunMean) -> bool:
    if one.low is None or one.high is None or other.low is None or other.high is None:
        return True
    return one.low <= other.high and other.low <= one.high
