"""Sets of regions of which none is both cheaper and better than another one."""

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, islice
from typing import NamedTuple

import numpy as np

from cloudcmp.answer.placement.choose import best_set, only, rows_of, seen_times, value_of
from cloudcmp.answer.placement.money import Traffic, behind
from cloudcmp.model.placement import Delivery, Goal, GoalKind, Service
from cloudcmp.stats.p_median import Sites, p_median

MOST = 6000
"""So many sets are tried one by one; of more, only those that weights of money and time select."""
_WEIGHTS = 12
_ROUNDING = 1e-9


class Rated(NamedTuple):
    """A set with its value of the goal and its money a month, behind a delivery network or without one."""

    sites: Sites
    value: float
    money: float
    delivery: Delivery | None = None


def front(
    service: Service, goal: Goal, traffic: Traffic, most: int, delivery: Delivery | None = None
) -> tuple[list[Rated], int, bool]:
    """Sets of at most `most` sites by rising money with falling value; how many were tried; and whether all were.

    Sites without a price are left out. If there are too many sets to try all, sets are tried that make a weighted sum
    of mean time and money least: a front of these lacks sets that no weight selects.
    """
    if delivery is not None:
        service = replace(service, times=behind(delivery, service.times))
    priced = [at for at in range(len(service.sites)) if traffic.known(at, delivery)]
    most = min(most, len(priced))
    if not priced:
        return [], 0, False
    whole = sum(math.comb(len(priced), k) for k in range(1, most + 1)) <= MOST
    rows, shares = rows_of(service), service.counts / service.counts.sum()
    tried = list(_all(priced, most) if whole else _selected(service, goal, traffic, priced, most, delivery))
    rated = list[Rated]()
    for sites in tried:
        least = rows[list(sites)].min(axis=0)
        if not np.isfinite(least).all():
            continue
        money, _ = traffic.of(rows, sites, delivery)
        if money is not None:
            rated.append(Rated(sites, float(value_of(goal, least[:, None], shares)[0]), money, delivery))
    return undominated(rated), len(tried), whole


def _all(priced: list[int], most: int) -> Iterator[Sites]:
    for k in range(1, most + 1):
        yield from combinations(priced, k)


def _selected(
    service: Service, goal: Goal, traffic: Traffic, priced: list[int], most: int, delivery: Delivery | None
) -> Iterator[Sites]:
    """The best sets for weights of money between none and all, for each number of sites."""
    narrow = only(service, priced)
    times, shares = seen_times(narrow), service.counts / service.counts.sum()
    price = np.array([traffic.first_per_gb(at, delivery) for at in priced])
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


def undominated(rated: list[Rated]) -> list[Rated]:
    """Those of which none is both cheaper and better, by rising money.

    Sums of one amount in another order differ by rounding: money and values that differ by less than that are equal.
    """
    kept = list[Rated]()
    for one in sorted(rated, key=lambda one: (one.money, one.value, len(one.sites))):
        if kept and one.value >= kept[-1].value * (1 - _ROUNDING):
            continue
        if kept and one.money <= kept[-1].money * (1 + _ROUNDING):
            kept.pop()
        kept.append(one)
    return kept
