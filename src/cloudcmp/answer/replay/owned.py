"""Owned machines below, cloud machines above: the number of owned ones that costs least."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cloudcmp.answer.replay.lives import billed_seconds
from cloudcmp.answer.replay.policies import MONTH_S, Replayed, Server
from cloudcmp.answer.replay.target import HOUR_S, Floats
from cloudcmp.model.replay import Load, OwnedBase, Policy

_EQUAL = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """What each place for a machine costs a month if a cloud machine fills it while it is wanted; the steadiest first.

    Place n is wanted exactly while at least n machines are.
    """

    policy: Policy
    money: Floats

    @property
    def cloud_only(self) -> float:
        """The money of a month without owned machines."""
        return float(self.money.sum())

    def total(self, owned: int, cost: float) -> float:
        """The money of a month with so many owned machines in the first places."""
        return owned * cost + float(self.money[owned:].sum())

    def best(self, cost: float) -> int:
        """The number of owned machines with the least total; the fewest of equal ones."""
        totals = np.arange(len(self.money) + 1) * cost + np.append(_sums_from(self.money), 0.0)
        return int(np.flatnonzero(totals <= totals.min() * (1 + _EQUAL))[0])

    def turning(self, owned: int) -> tuple[float | None, float | None]:
        """The costs of an owned machine below which more are worth it, and above which fewer are; None without."""
        sums = np.append(0.0, np.cumsum(self.money))
        sizes = np.arange(len(sums)) - owned
        means = (sums - sums[owned]) / np.where(sizes, sizes, 1)
        more, fewer = means[owned + 1 :], means[:owned]
        return float(more.max()) if len(more) else None, float(fewer.min()) if len(fewer) else None


def _sums_from(values: Floats) -> Floats:
    return np.cumsum(values[::-1])[::-1]


def places_of(load: Load, server: Server, one: Replayed, idle: int) -> Places:
    """The places of a policy with its idle machines, which are wanted all the time.

    The price must be known. Every launch is unpaid for the mean time until a machine was called running.
    """
    assert server.price is not None
    running = server.launches.running
    unpaid = np.full(len(one.lives.start), 0.0 if running is None else float(running.mean()))
    paid = billed_seconds(one.lives, unpaid, server.billing)
    by_place = np.bincount(one.lives.place.astype(np.int64) - 1, paid, one.steps.most)
    seconds = np.concatenate([np.full(idle, load.seconds), by_place])
    return Places(one.policy, seconds / HOUR_S * server.price * (MONTH_S / load.seconds))


def owned_base(cost: float, places: Sequence[Places], others: Sequence[tuple[float, Sequence[Places]]]) -> OwnedBase:
    """The best number of owned machines of a monthly cost, each carrying as much as one cloud machine.

    `places` are those of each policy for the cloud machines above; `others` the same for other loads, by factor.
    """
    own, owned = _cheapest(places, cost)
    below, above = own.turning(owned)
    return OwnedBase(
        cost=cost,
        owned=owned,
        most=len(own.money),
        policy=own.policy,
        total=own.total(owned, cost),
        cloud_only=min(one.cloud_only for one in places),
        owned_only=min(len(one.money) for one in places) * cost,
        own_below=below,
        own_above=above,
        at_loads=tuple(_at_load(factor, some, cost) for factor, some in others),
    )


def _cheapest(places: Sequence[Places], cost: float) -> tuple[Places, int]:
    best = min(places, key=lambda one: one.total(one.best(cost), cost))
    return best, best.best(cost)


def _at_load(factor: float, places: Sequence[Places], cost: float) -> tuple[float, int, float]:
    best, owned = _cheapest(places, cost)
    return factor, owned, best.total(owned, cost)
