"""Sets of regions of which none is both cheaper and better than another one."""

import math
from collections.abc import Iterator
from itertools import combinations, islice

import numpy as np

from cloudcmp.answer.placement.choose import best_set, only, rows_of, seen_times, value_of
from cloudcmp.answer.placement.money import Traffic
from cloudcmp.model.placement import Goal, GoalKind, Service
from cloudcmp.stats.p_median import Sites, p_median

MOST = 6000
"""So many sets are tried one by one; of more, only those that weights of money and time select."""
_WEIGHTS = 12
_ROUNDING = 1e-9


def front(
    service: Service, goal: Goal, traffic: Traffic, most: int
) -> tuple[list[tuple[Sites, float, float]], int, bool]:
    """Sets of at most `most` sites by rising money with falling value; how many were tried; and whether all were.

    Each is a set, its value of the goal, and its money a month. Sites without a price are left out. If there are too
    many sets to try all, sets are tried that make a weighted sum of mean time and money least: a front of these lacks
    sets that no weight selects.
    """
    priced = [at for at in range(len(service.sites)) if traffic.known(at)]
    most = min(most, len(priced))
    if not priced:
        return [], 0, False
    whole = sum(math.comb(len(priced), k) for k in range(1, most + 1)) <= MOST
    rows, shares = rows_of(service), service.counts / service.counts.sum()
    tried = list(_all(priced, most) if whole else _selected(service, goal, traffic, priced, most))
    rated = []
    for sites in tried:
        least = rows[list(sites)].min(axis=0)
        if not np.isfinite(least).all():
            continue
        money, _ = traffic.of(rows, sites)
        if money is not None:
            rated.append((sites, float(value_of(goal, least[:, None], shares)[0]), money))
    return undominated(rated), len(tried), whole


def _all(priced: list[int], most: int) -> Iterator[Sites]:
    for k in range(1, most + 1):
        yield from combinations(priced, k)


def _selected(service: Service, goal: Goal, traffic: Traffic, priced: list[int], most: int) -> Iterator[Sites]:
    """The best sets for weights of money between none and all, for each number of sites."""
    narrow = only(service, priced)
    times, shares = seen_times(narrow), service.counts / service.counts.sum()
    price = np.array([traffic.tiers[at][0].per_gb if traffic.tiers[at] else 0.0 for at in priced])
    cost = traffic.gb[:, None] * price[None, :]
    found = dict[Sites, None]()
    for k in range(1, most + 1):
        if goal.kind is not GoalKind.MEAN and (best := best_set(narrow, goal, k)):
            found[best.sites] = None
        for weight in _weights(float(np.ptp(cost.sum(axis=0))), float(np.ptp(shares @ narrow.times))):
            chosen = p_median(shares[:, None] * times + weight * cost, k, nodes=2000).sites
            if chosen:
                found[chosen] = None
    yield from (tuple(priced[one] for one in sites) for sites in islice(found, MOST))


def _weights(money: float, time: float) -> list[float]:
    """Seconds of mean time for one unit of money, from none to a hundred times what the extremes would exchange."""
    if money <= 0 or time <= 0:
        return [0.0]
    return [0.0, *(time / money * 10 ** (-2 + 4 * at / (_WEIGHTS - 1)) for at in range(_WEIGHTS))]


def undominated(rated: list[tuple[Sites, float, float]]) -> list[tuple[Sites, float, float]]:
    """Those of sets with their values and money of which none is both cheaper and better, by rising money.

    Sums of one amount in another order differ by rounding: money and values that differ by less than that are equal.
    """
    kept = list[tuple[Sites, float, float]]()
    for one in sorted(rated, key=lambda one: (one[2], one[1], len(one[0]))):
        if kept and one[1] >= kept[-1][1] * (1 - _ROUNDING):
            continue
        if kept and one[2] <= kept[-1][2] * (1 + _ROUNDING):
            kept.pop()
        kept.append(one)
    return kept
