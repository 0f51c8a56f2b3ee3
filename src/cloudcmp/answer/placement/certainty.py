"""How sure a set of regions is: how often an exchange of one region helps, when times are drawn with errors."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cloudcmp.answer.placement.choose import better_than, seen_times, value_of
from cloudcmp.answer.placement.close import NEAR
from cloudcmp.answer.placement.errors_of_model import Errors, ModelledTimes
from cloudcmp.model.placement import Certainty, Exchange, Goal, Service
from cloudcmp.model.result import Bounds
from cloudcmp.stats.p_median import Sites, exchanges

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cloudcmp.stats.check import Floats

DRAWS = 200
_TELLING_DRAWS = 50
_ROUNDING = 1 - 1e-12
RIVALS = 3
_PLACES = 3
_RIVAL_SHARE = 0.05


@dataclass(frozen=True, slots=True, eq=False)
class Doubt:
    """What the certainty of a set is computed from.

    `domain` are the sites that an exchange may bring in. `others` are sets of other providers, by name. `places` names
    a place for each cluster of people, from which a measurement would replace its modelled times.
    """

    service: Service
    goal: Goal
    domain: Sites
    model: ModelledTimes
    errors: Errors
    places: Sequence[str]
    others: tuple[tuple[str, Sites], ...] = ()
    seed: int = 1

    def times(self, random: np.random.Generator) -> "Floats":
        """One draw of the times, with infinity where a site may not serve a group."""
        return np.where(self.service.allowed, self.errors.drawn(self.model, random), np.inf)


def certainty(doubt: Doubt, sites: Sites) -> Certainty:
    """How often no exchange of one region for another one helps, over draws of all modelled times.

    Sets that differ in two regions or more are not tried, but for those of other providers.
    """
    shares = doubt.service.counts / doubt.service.counts.sum()
    place = tuple(doubt.domain.index(one) for one in sites)
    random = np.random.default_rng(doubt.seed)
    values, beaten = np.empty(DRAWS), np.zeros((len(sites), len(doubt.domain)))
    ahead, unbeaten, near = np.zeros(len(doubt.others)), 0, 0
    for at in range(DRAWS):
        times = doubt.times(random)
        value = values[at] = _value(doubt.goal, times, sites, shares)
        levels = exchanges(times[:, list(doubt.domain)], place, _levels(doubt.goal, shares, value))
        levels[:, list(place)] = 0  # these sites are of the set already
        beaten += levels > 0
        unbeaten += not levels.any()
        near += not (levels > 1).any()
        ahead += [_value(doubt.goal, times, other, shares) < value for _, other in doubt.others]
    low, high = np.quantile(values, [0.025, 0.975])
    return Certainty(
        draws=DRAWS, seed=doubt.seed, unbeaten=unbeaten / DRAWS, near=near / DRAWS,
        value=Bounds(float(low), float(high), 0.95),
        rivals=tuple(_rivals(doubt, sites, beaten / DRAWS)),
        ahead=tuple((name, float(many) / DRAWS) for (name, _), many in zip(doubt.others, ahead, strict=True)),
    )  # fmt: skip


def _levels(goal: Goal, shares: "Floats", value: float) -> "Callable[[Floats], NDArray[np.int64]]":
    """Judges sets against a value of the goal: 1 if they are better, 2 if by more than 3 %, else 0."""

    def judge(least: "Floats") -> "NDArray[np.int64]":
        better, much = (better_than(goal, least, shares, limit) for limit in (value * _ROUNDING, value / NEAR))
        return better.astype(np.int64) + much

    return judge


def _value(goal: Goal, times: "Floats", sites: Sites, shares: "Floats") -> float:
    return float(value_of(goal, times[:, list(sites)].min(axis=1)[:, None], shares)[0])


def _rivals(doubt: Doubt, sites: Sites, better: "Floats") -> list[Exchange]:
    shares = doubt.service.counts / doubt.service.counts.sum()
    times = seen_times(doubt.service)
    rivals = []
    for flat in np.argsort(-better, axis=None, kind="stable")[:RIVALS]:
        out, into = (int(one) for one in np.unravel_index(int(flat), better.shape))
        if better[out, into] < _RIVAL_SHARE:
            break
        new = doubt.domain[into]
        other = (*(one for one in sites if one != sites[out]), new)
        rivals.append(
            Exchange(
                doubt.service.sites[sites[out]], doubt.service.sites[new],
                _value(doubt.goal, times, other, shares), float(better[out, into]), _telling(doubt, sites, other),
            )
        )  # fmt: skip
    return rivals


def _telling(doubt: Doubt, sites: Sites, other: Sites) -> tuple[tuple[str, float], ...]:
    """The places whose people's times decide between two sets, by their part in the variance of the difference.

    The difference is that of mean times, whatever the goal is: it is a sum over people, and clusters are independent.
    """
    shares = doubt.service.counts / doubt.service.counts.sum()
    random = np.random.default_rng(doubt.seed)
    parts = np.empty((_TELLING_DRAWS, len(doubt.places)))
    for at in range(_TELLING_DRAWS):
        times = doubt.times(random)
        gain = shares * (times[:, list(sites)].min(axis=1) - times[:, list(other)].min(axis=1))
        parts[at] = np.bincount(doubt.model.cluster, gain, minlength=len(doubt.places))
    variance = parts.var(axis=0)
    whole = float(variance.sum())
    if whole <= 0:
        return ()
    order = np.argsort(-variance, kind="stable")[:_PLACES]
    return tuple((doubt.places[at], float(variance[at] / whole)) for at in order if variance[at] > 0)
