"""People, the regions that could serve them, and the set of regions that serves them best."""

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from cloudcmp.model.result import Bounds
from cloudcmp.model.wide_area import Continent, Position, Site

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class People:
    """People in one place: a city, a user base, or a whole country at its largest city.

    `count` is more than zero. `country` is a code of ISO 3166, empty if unknown. `at` is None only for a base that has
    the name of a vantage point of the measurements.
    """

    name: str
    count: float
    at: Position | None = None
    country: str = ""
    continent: Continent | None = None


@dataclass(frozen=True, slots=True)
class Population:
    """The people that a service has, with the file that says so, and in words what was left out of it."""

    groups: tuple[People, ...]
    source: str
    notes: tuple[str, ...] = ()

    @property
    def total(self) -> float:
        """All people."""
        return sum(one.count for one in self.groups)


class Lack(StrEnum):
    """Why a region cannot be chosen."""

    TIME = "no vantage point has a time to it"
    PLACE = "its place is unknown"
    COUNTRY = "its country is unknown"
    AREA = "outside the area that is asked for"
    PRICE = "its price is unknown"


class GoalKind(StrEnum):
    """What the best set makes least."""

    MEAN = "mean"
    PERCENTILE = "percentile"
    BEYOND = "beyond"


@dataclass(frozen=True, slots=True)
class Goal:
    """What the best set makes least: the mean round trip of people, a percentile of it, or the share beyond a limit.

    `at` is the percentile's share (0 to 1; 1 for the person who is farthest away) or the limit in seconds.
    """

    kind: GoalKind
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class PriceTier:
    """The price of a GB (10^9 bytes) from a volume a month on."""

    from_gb: float
    per_gb: float


@dataclass(frozen=True, slots=True)
class Delivery:
    """A content delivery network as its user describes it: what it answers itself, how near it is, and its price.

    `hit_ratio` is the share of requests, and of bytes, that an edge answers; the rest goes on to the nearest region of
    the set. `edge_s` is the round trip from people to their edge. `origin_per_gb` is what a region's provider takes for
    a GB that goes to an edge; None if it is the region's price to the internet. `example` is true for numbers that
    nobody negotiated or measured.
    """

    name: str
    hit_ratio: float
    edge_s: float
    tiers: tuple[PriceTier, ...]
    currency: str
    source: str
    as_of: str = ""
    origin_per_gb: float | None = None
    example: bool = False


@dataclass(frozen=True, slots=True)
class HeldOut:
    """How far modelled times are off: quantiles of time / model over vantage points that the model did not see.

    `median_error` is the median of the absolute difference, as a share; `low` and `high` are the 5th and 95th
    percentile of the ratio, weighted by the distances at which people are from their vantage point. So many `vantages`
    were held out.
    """

    median_error: float
    low: float
    high: float
    vantages: int


@dataclass(frozen=True, slots=True)
class TimeModel:
    """How the round trips of people to regions were obtained.

    `measured` of `groups` are vantage points themselves; the others take the times of the nearest vantage point,
    corrected by `s_per_km` for the difference of distances, the slope of a robust line with `intercept_s`.
    `distance_km` is the median distance of people from their vantage point. `filled` names the
    pairs of vantage points and sites that were not measured and are modelled as well. `held_out` is None if too few
    vantage points have positions.
    """

    groups: int
    measured: int
    vantages: int
    pairs: int
    filled: tuple[str, ...]
    s_per_km: float | None
    intercept_s: float | None
    distance_km: float | None
    held_out: HeldOut | None
    last_mile_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Region:
    """A region of a set: the share of people that it serves, their mean round trip, and the GB that it sends a month.

    `mean_s` is None for a region that serves nobody, `gb` if no traffic was given.
    """

    site: Site
    share: float
    mean_s: float | None
    gb: float | None


@dataclass(frozen=True, slots=True)
class RegionSet:
    """A set of regions with what it gives: round trips of people in seconds, shares of people, money a month.

    `value` is that of the goal, and `bound` the least that any set of as many regions can have: they are equal if
    `proven`. `money` is None if a price is unknown or nothing was asked of it; with `delivery`, people reach an edge
    first and `value` counts hits and misses.
    """

    regions: tuple[Region, ...]
    value: float
    bound: float
    proven: bool
    mean_s: float
    p50_s: float
    p95_s: float
    worst_s: float
    within: float
    money: float | None = None
    delivery: str = ""

    @property
    def providers(self) -> str:
        """The provider or providers of the set."""
        return ", ".join(dict.fromkeys(one.site.provider for one in self.regions))

    def __str__(self) -> str:
        behind = f", behind {self.delivery}" if self.delivery else ""
        return ", ".join(str(one.site) for one in self.regions) + behind


@dataclass(frozen=True, slots=True)
class ServedPlace:
    """A place of people with the region of the set that serves it, and their round trip."""

    people: People
    site: Site
    seconds: float


@dataclass(frozen=True, slots=True)
class Exchange:
    """A set that differs from the answer in one region, and in which share of the draws it is better.

    `value` is that of the goal. `measure` are places from which measurements would tell the two apart, each with the
    share of the variance of their difference that comes from the people there.
    """

    out: Site
    into: Site
    value: float
    better: float
    measure: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Certainty:
    """How sure the answer is, given how far modelled times are off.

    `unbeaten` is the share of `draws` in which no exchange of one region helps; `near` that in which none helps by more
    than 3 %. `value` is the interval of the goal's value over the draws. `ahead` has, for other providers, the share of
    draws in which their best set is better than the answer.
    """

    draws: int
    seed: int
    unbeaten: float
    near: float
    value: Bounds
    rivals: tuple[Exchange, ...]
    ahead: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class CloseSet:
    """A set whose value of the goal is within 3 % of the best one's."""

    sites: tuple[Site, ...]
    value: float


@dataclass(frozen=True, slots=True)
class RegionsAnswer:
    """The best set of regions for a population, and what else could be chosen.

    `limit_s` is the time of which each set has the share of people within. `users` are the people of whom money is
    counted. `by_provider` has the best set of each provider, best first; `by_count` those of fewer and of one more
    region, and `delivered` those behind a content delivery network. No set of `front`, of which some are behind it, is
    both cheaper and better than another one; `tried` sets were looked at for it, all there are if `whole`. `left_out`
    are regions that cannot be chosen, with the reason; those of providers that were not asked for are not among them.
    `served` has the largest places, for a map. `certainty` is None if no time was modelled, or its error is unknown.
    `close` are sets within 3 % of the best one by the given times, those of other providers and those that differ from
    it in one region. `notes` and `cautions` are in words.
    """

    goal: Goal
    limit_s: float
    people: float
    groups: int
    users: float
    sites: int
    best: RegionSet
    by_provider: tuple[RegionSet, ...]
    by_count: tuple[RegionSet, ...]
    delivered: tuple[RegionSet, ...]
    front: tuple[RegionSet, ...]
    tried: int
    whole: bool
    model: TimeModel
    certainty: Certainty | None
    currency: str
    left_out: tuple[tuple[Site, Lack], ...]
    served: tuple[ServedPlace, ...]
    source: str
    kind: str
    close: tuple[CloseSet, ...] = ()
    notes: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Service:
    """What is to be placed: people by group, sites, the times between them, and who may be served from where.

    `times` are seconds and `allowed` is true where a site may serve a group, both of shape (groups, sites).
    """

    people: tuple[People, ...]
    counts: "NDArray[np.float64]"
    sites: tuple[Site, ...]
    times: "NDArray[np.float64]"
    allowed: "NDArray[np.bool_]"
