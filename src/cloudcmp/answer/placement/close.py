"""Sets of regions that are too close to the best one to be told from it."""

from collections.abc import Iterable, Iterator

import numpy as np

from cloudcmp.answer.placement.choose import Accept, Chosen, seen_times, value_of
from cloudcmp.model.placement import CloseSet, Goal, Service
from cloudcmp.stats.p_median import Sites, exchanges

NEAR = 1.03
"""Values within this ratio are practically the same, as in a study."""


def close_sets(
    service: Service, goal: Goal, best: Chosen, domain: Sites, others: Iterable[Chosen], accept: Accept
) -> tuple[CloseSet, ...]:
    """Sets whose value of the goal is within 3 % of the best one's, the best first.

    They are those that differ from it in one site of `domain` and that `accept` allows, and `others`, sets of other
    providers. Sets that differ in two sites or more are not tried.
    """
    shares = service.counts / service.counts.sum()
    times = seen_times(service)[:, list(domain)]
    place = tuple(domain.index(one) for one in best.sites)
    values = exchanges(times, place, lambda least: value_of(goal, least, shares))
    found = {one.sites: one.value for one in others if one.value <= best.value * NEAR}
    for sites, value in _exchanged(best.sites, domain, values):
        if value <= best.value * NEAR and accept(sites):
            found[sites] = value
    ordered = sorted(found.items(), key=lambda one: (one[1], one[0]))
    return tuple(CloseSet(tuple(service.sites[at] for at in sites), value) for sites, value in ordered)


def _exchanged(
    sites: Sites, domain: Sites, values: "np.ndarray[tuple[int, int], np.dtype[np.float64]]"
) -> Iterator[tuple[Sites, float]]:
    for row, out in enumerate(sites):
        for column, into in enumerate(domain):
            if into not in sites:
                yield tuple(sorted([*(one for one in sites if one != out), into])), float(values[row, column])
