"""The best set of regions by a goal, with the proof that no other one is better."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cloudcmp.model.placement import Goal, GoalKind, Service
from cloudcmp.stats.p_median import PMedian, Sites, exchanges, p_median

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cloudcmp.stats.check import Floats

STEP_S = 1e-4
"""A percentile is proven to be the least to this many seconds."""
_LIKELY = 1e-9

Accept = Callable[[Sites], bool]


@dataclass(frozen=True, slots=True)
class Chosen:
    """A set by its sites, with its value of the goal, and a bound below which no set's value is."""

    sites: Sites
    value: float
    bound: float
    proven: bool


def seen_times(service: Service) -> "Floats":
    """The times with infinity where a site may not serve a group."""
    return np.where(service.allowed, service.times, np.inf)


def rows_of(service: Service) -> "Floats":
    """`seen_times` by site, shape (sites, groups), which is quicker to read for one set after another."""
    return np.ascontiguousarray(seen_times(service).T)


def value_of(goal: Goal, times: "Floats", shares: "Floats") -> "Floats":
    """The value of a goal for each column of `times` (groups, sets); `shares` of people by group add up to one."""
    if goal.kind is GoalKind.MEAN:
        return np.asarray(shares @ times)
    if goal.kind is GoalKind.BEYOND:
        return np.asarray(shares @ (times > goal.at))
    return percentiles(times, shares, goal.at)


def better_than(goal: Goal, times: "Floats", shares: "Floats", value: float) -> "NDArray[np.bool_]":
    """Whether each column of `times` (groups, sets) has a value of the goal below `value`; quicker than the values."""
    if goal.kind is GoalKind.PERCENTILE:
        return np.asarray(shares @ (times < value) >= goal.at - _LIKELY)
    return value_of(goal, times, shares) < value


def percentiles(times: "Floats", shares: "Floats", at: float) -> "Floats":
    """The least time of each column within which at least the share `at` of people is; shape (sets,)."""
    order = np.argsort(times, axis=0)
    summed = np.cumsum(shares[order], axis=0)
    # Sums of shares may miss a whole share by rounding.
    place = np.argmax(summed >= at - _LIKELY, axis=0)
    return np.asarray(np.take_along_axis(times, order, axis=0)[place, np.arange(times.shape[1])])


def best_set(service: Service, goal: Goal, k: int, accept: Accept | None = None) -> Chosen | None:
    """The best set of `k` sites; None if no set serves everyone or none is accepted.

    `accept` may refuse sets, such as those over a budget; the bound then holds for sets without that condition.
    """
    times, shares = seen_times(service), service.counts / service.counts.sum()
    if goal.kind is GoalKind.PERCENTILE:
        return _least_percentile(times, shares, goal.at, k, accept)
    costs = shares[:, None] * (times if goal.kind is GoalKind.MEAN else (times > goal.at).astype(float))
    if goal.kind is GoalKind.BEYOND:
        costs = np.where(service.allowed, costs, np.inf)
    return _chosen(p_median(costs, k, accept=accept))


def _chosen(found: PMedian) -> Chosen | None:
    return Chosen(found.sites, found.value, found.bound, found.proven) if found.sites else None


def _least_percentile(
    times: "Floats", shares: "Floats", at: float, k: int, accept: Accept | None
) -> Chosen | None:  # fmt: skip
    """Halves the time within which enough people must be, until a set that does so is known to be the last one."""
    start = p_median(shares[:, None] * times, k, accept=accept)
    if not start.sites:
        return None
    best = start.sites
    if accept is None:
        best = _exchanged(times, shares, at, best)
    value = _percentile(times, shares, at, best)
    low, proven = 0.0, True
    while value - low > STEP_S:
        limit = (low + value) / 2
        costs = np.where(np.isfinite(times), shares[:, None] * (times > limit), np.inf)
        found = p_median(costs, k, accept=accept, enough=1 - at + _LIKELY)
        if found.sites and found.value <= 1 - at + _LIKELY:
            best, value = found.sites, _percentile(times, shares, at, found.sites)
        elif found.bound > 1 - at + _LIKELY:
            low = limit
        else:
            proven = False
            break
    return Chosen(best, value, value if proven else low, proven)


def _percentile(times: "Floats", shares: "Floats", at: float, sites: Sites) -> float:
    return float(percentiles(times[:, list(sites)].min(axis=1)[:, None], shares, at)[0])


def _exchanged(times: "Floats", shares: "Floats", at: float, sites: Sites) -> Sites:
    """The set after exchanges of one site for as long as they lower the percentile."""
    while True:
        values = exchanges(times, sites, lambda least: percentiles(least, shares, at))
        out, into = np.unravel_index(int(np.argmin(values)), values.shape)
        if not values[out, into] < _percentile(times, shares, at, sites):
            return sites
        sites = tuple(sorted([*(one for one in sites if one != sites[out]), int(into)]))


def only(service: Service, kept: Sequence[int]) -> Service:
    """The service with some of its sites."""
    columns = list(kept)
    return Service(
        service.people, service.counts, tuple(service.sites[at] for at in columns), service.times[:, columns],
        service.allowed[:, columns],
    )  # fmt: skip
