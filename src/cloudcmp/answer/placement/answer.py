"""Where to put a service: the best set of regions, those of each provider, of fewer and of more, money, certainty."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from cloudcmp.answer.placement.certainty import Doubt, certainty
from cloudcmp.answer.placement.choose import Accept, Chosen, best_set, only, percentiles, rows_of
from cloudcmp.answer.placement.close import close_sets
from cloudcmp.answer.placement.errors_of_model import ModelledTimes
from cloudcmp.answer.placement.front import Rated, front, undominated
from cloudcmp.answer.placement.money import Traffic, behind, serving
from cloudcmp.answer.placement.times import PeopleTimes
from cloudcmp.errors import UserMistake
from cloudcmp.model.placement import (
    Certainty,
    CloseSet,
    Delivery,
    Goal,
    Lack,
    People,
    Region,
    RegionsAnswer,
    RegionSet,
    ServedPlace,
    Service,
)
from cloudcmp.model.wide_area import Site
from cloudcmp.stats.p_median import Sites

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cloudcmp.stats.check import Floats

LIMIT_S = 0.1
_MAPPED = 600
"""So many of the largest places are shown on a map."""


@dataclass(frozen=True, slots=True)
class Rule:
    """People of some countries that must be served from some countries; `words` are the rule as it was given."""

    of: frozenset[str]
    served_from: frozenset[str]
    words: str


@dataclass(frozen=True, slots=True)
class RegionsQuestion:
    """What is asked: a goal, how many regions, and which may be chosen.

    `providers` and `within` (countries) limit the regions; `mix` allows regions of several providers in one set.
    `limit_s` is the time of which each set shows the share of people within. `budget` is money a month.
    """

    goal: Goal
    k: int
    providers: tuple[str, ...] = ()
    within: frozenset[str] | None = None
    rules: tuple[Rule, ...] = ()
    mix: bool = False
    limit_s: float = LIMIT_S
    budget: float | None = None
    users: float | None = None
    seed: int = 1


def best_regions(
    people: Sequence[People], times: PeopleTimes, asked: RegionsQuestion, *, traffic: Traffic | None = None,
    delivery: Delivery | None = None, source: str = "", kind: str = "measured",
) -> RegionsAnswer:  # fmt: skip
    """Answer where to put a service; `traffic` has the prices of bytes, None if no money is asked about.

    Raises UserMistake if there are fewer regions than asked for, and if no set serves everyone within the rules and the
    budget.
    """
    choice = _Choice(people, times, asked, traffic)
    sets = choice.by_domain(asked.k)
    if not sets:
        raise UserMistake.at(*choice.why_none(delivery))
    best = min(sets, key=lambda one: (one[1].value, one[1].sites))
    domain = best[0]
    tried, whole, undominated = choice.fronts(delivery)
    return RegionsAnswer(
        goal=asked.goal, limit_s=asked.limit_s, people=float(choice.service.counts.sum()), groups=len(people),
        users=asked.users or float(choice.service.counts.sum()), sites=sum(map(len, choice.domains.values())),
        best=choice.described(best[1]),
        by_provider=tuple(choice.described(one) for _, one in sorted(sets, key=lambda one: one[1].value))
        if not asked.mix else (),
        by_count=tuple(choice.by_count(domain, asked.k + 1)),
        delivered=tuple(choice.delivered(domain, asked.k, delivery)) if delivery else (),
        front=undominated, tried=tried, whole=whole, model=times.model,
        certainty=choice.certainty(best[1].sites, domain, [(name, one.sites) for name, one in sets if name != domain]),
        currency=traffic.currency if traffic else "",
        close=choice.close(best[1], domain, [one for name, one in sets if name != domain]),
        left_out=tuple(choice.left_out), served=tuple(choice.served(best[1].sites)), source=source, kind=kind,
    )  # fmt: skip


class _Choice:
    """The sites that may be chosen, by domain: those of each provider, or all together if providers may be mixed."""

    def __init__(
        self, people: Sequence[People], times: PeopleTimes, asked: RegionsQuestion, traffic: Traffic | None
    ) -> None:
        self.asked, self._times, self._traffic = asked, times, traffic
        counts = np.array([one.count for one in people])
        self.service = Service(tuple(people), counts, times.sites, times.times, _allowed(people, times.sites, asked))
        self.left_out = [(site, why) for site, why in times.left_out if self._is_asked(site)]
        self.domains: dict[str, Sites] = {}
        for at, site in enumerate(times.sites):
            if not self._is_asked(site):
                continue
            if (why := self._lack(site, at)) is not None:
                self.left_out.append((site, why))
            else:
                name = "" if asked.mix else site.provider
                self.domains[name] = (*self.domains.get(name, ()), at)
        self._check_count()

    def _is_asked(self, site: Site) -> bool:
        return not self.asked.providers or site.provider in self.asked.providers

    def _lack(self, site: Site, at: int) -> Lack | None:
        asked = self.asked
        if asked.within is not None and site.country not in asked.within:
            return Lack.AREA if site.country else Lack.COUNTRY
        if asked.budget is not None and self._traffic is not None and not self._traffic.known(at):
            return Lack.PRICE
        return None

    def _check_count(self) -> None:
        most = max(map(len, self.domains.values()), default=0)
        if self.asked.k > most:
            whose = "" if self.asked.mix else " of one provider"
            what = f"{self.asked.k} regions are asked for, and {most}{whose} can be chosen"
            raise UserMistake.at("--sites", what, f"ask for at most {most}" if most else "allow more regions")

    def by_domain(self, k: int) -> list[tuple[str, Chosen]]:
        """The best set of each domain that has one, with at most all of its sites."""
        found = []
        for name, domain in self.domains.items():
            if (best := self._best(domain, min(k, len(domain)), self.service)) is not None:
                found.append((name, best))
        return [(name, one) for name, one in found if len(one.sites) == k or len(self.domains[name]) < k]

    def why_none(self, delivery: Delivery | None) -> tuple[str, str, str]:
        """The fault of a question without an answer; it names a set that is within the budget behind a network."""
        free = replace(self.asked, budget=None)
        if self.asked.budget is not None and any(
            self._best(domain, min(free.k, len(domain)), self.service, free) for domain in self.domains.values()
        ):
            what = "no set of regions costs so little, with the prices that are known"
            if delivery and (behind := self._within_budget(delivery)):
                what = f"only behind {delivery.name} does a set of regions cost so little: {behind}"
                return "--budget", what, "leave --budget out to see it, or give more"
            return "--budget", what, "give more, or ask for fewer regions with --sites"
        countries = {self.service.sites[at].country for domain in self.domains.values() for at in domain}
        for rule in self.asked.rules:
            if not countries & rule.served_from:
                what = f"no region that can be chosen is where {rule.words!r} asks for one"
                return "--keep", what, "name another area, or times to a region there"
        words = ", ".join(rule.words for rule in self.asked.rules)
        return (
            "--keep",
            f"no set of {self.asked.k} region{'s' * (self.asked.k > 1)} serves everyone with {words}",
            "ask for more regions",
        )

    def _within_budget(self, delivery: Delivery) -> str:
        """The regions of a set behind a network that is within the budget; empty if there is none."""
        budget = self.asked.budget or 0.0
        every = (one for name in self.domains for one in self.delivered(name, self.asked.k, delivery))
        fits = (one for one in every if one.money is not None and one.money <= budget)
        best = min(fits, key=lambda one: one.value, default=None)
        return ", ".join(str(one.site) for one in best.regions) if best else ""

    def _best(self, domain: Sites, k: int, service: Service, asked: RegionsQuestion | None = None) -> Chosen | None:
        asked = asked or self.asked
        narrow = only(service, domain)
        found = best_set(narrow, asked.goal, k, self._accept(domain, asked.budget))
        return None if found is None else replace(found, sites=tuple(domain[at] for at in found.sites))

    def _accept(self, domain: Sites, budget: float | None) -> Accept | None:
        traffic = self._traffic
        if budget is None or traffic is None:
            return None
        rows = rows_of(self.service)

        def accept(sites: Sites) -> bool:
            money, _ = traffic.of(rows, tuple(domain[at] for at in sites))
            return money is not None and money <= budget

        return accept

    def close(self, best: Chosen, domain: str, others: list[Chosen]) -> tuple[CloseSet, ...]:
        """The sets that are too close to the best one."""
        rows, traffic, budget = rows_of(self.service), self._traffic, self.asked.budget

        def accept(sites: Sites) -> bool:
            if budget is None or traffic is None:
                return True
            money, _ = traffic.of(rows, sites)
            return money is not None and money <= budget

        return close_sets(self.service, self.asked.goal, best, self.domains[domain], others, accept)

    def described(self, chosen: Chosen, delivery: Delivery | None = None) -> RegionSet:
        """A set with its regions, times and money."""
        rows, counts = rows_of(self.service), self.service.counts
        shares = counts / counts.sum()
        served = serving(rows, chosen.sites)
        least = rows[np.array(chosen.sites)[served], np.arange(len(counts))]
        seen = least if delivery is None else behind(delivery, least)
        money, volumes = self._traffic.of(rows, chosen.sites, delivery) if self._traffic else (None, None)
        p50, p95, worst = (float(percentiles(seen[:, None], shares, at)[0]) for at in (0.5, 0.95, 1.0))
        return RegionSet(
            regions=tuple(self._regions(chosen.sites, served, seen, volumes)),
            value=chosen.value, bound=chosen.bound, proven=chosen.proven,
            mean_s=float(shares @ seen), p50_s=p50, p95_s=p95, worst_s=worst,
            within=float(shares[seen <= self.asked.limit_s].sum()), money=money,
            delivery=delivery.name if delivery else "",
        )  # fmt: skip

    def _regions(
        self, sites: Sites, served: "NDArray[np.intp]", seen: "Floats", volumes: "Floats | None"
    ) -> list[Region]:
        counts = self.service.counts
        found = []
        for place, at in enumerate(sites):
            here = served == place
            many = float(counts[here].sum())
            mean = float(counts[here] @ seen[here]) / many if many else None
            gb = None if volumes is None else float(volumes[place])
            found.append(Region(self.service.sites[at], many / float(counts.sum()), mean, gb))
        return sorted(found, key=lambda one: -one.share)

    def served(self, sites: Sites) -> list[ServedPlace]:
        """The largest places with the region that serves each, largest first."""
        rows, people = rows_of(self.service), self.service.people
        chosen = serving(rows, sites)
        largest = np.argsort(-self.service.counts, kind="stable")[:_MAPPED]
        return [ServedPlace(people[at], self.service.sites[sites[chosen[at]]], float(rows[sites[chosen[at]], at]))
                for at in map(int, largest)]  # fmt: skip

    def by_count(self, name: str, most: int) -> list[RegionSet]:
        """The best sets of one region up to `most` of a domain."""
        domain = self.domains[name]
        found = (self._best(domain, k, self.service) for k in range(1, min(most, len(domain)) + 1))
        return [self.described(one) for one in found if one is not None]

    def delivered(self, name: str, most: int, delivery: Delivery) -> list[RegionSet]:
        """The best sets of one region up to `most` of a domain, behind a delivery network."""
        domain = self.domains[name]
        service = replace(self.service, times=behind(delivery, self.service.times))
        free = replace(self.asked, budget=None)
        found = (self._best(domain, k, service, free) for k in range(1, min(most, len(domain)) + 1))
        return [self.described(one, delivery) for one in found if one is not None]

    def fronts(self, delivery: Delivery | None) -> tuple[int, bool, tuple[RegionSet, ...]]:
        """Sets of all domains, also behind a network, of which none is both cheaper and better; how many were tried."""
        if self._traffic is None:
            return 0, True, ()
        rated, tried, whole = list[Rated](), 0, True
        for domain in self.domains.values():
            traffic = replace(self._traffic, tiers=[self._traffic.tiers[at] for at in domain])
            narrow = only(self.service, domain)
            for network in (None, delivery) if delivery else (None,):
                found, many, all_tried = front(narrow, self.asked.goal, traffic, self.asked.k, network)
                rated += [one._replace(sites=tuple(domain[at] for at in one.sites)) for one in found]
                tried, whole = tried + many, whole and all_tried
        kept = undominated(rated)
        return (
            tried,
            whole,
            tuple(self.described(Chosen(one.sites, one.value, one.value, proven=False), one.delivery) for one in kept),
        )

    def certainty(self, sites: Sites, domain: str, others: list[tuple[str, Sites]]) -> Certainty | None:
        """How sure a set is; None if no time is modelled or the error is unknown."""
        found = self._times
        if found.errors is None or not found.modelled.any():
            return None
        # Only these sites are drawn: the others cannot come into the answer.
        kept = sorted({*self.domains[domain], *(at for _, other in others for at in other)})
        place = {at: number for number, at in enumerate(kept)}

        def narrowed(some: Sites) -> Sites:
            return tuple(place[at] for at in some)

        clusters, cluster = np.unique(found.near, return_inverse=True)
        rank = np.argsort(np.argsort(found.times, axis=1, kind="stable"), axis=1, kind="stable")
        model = ModelledTimes(np.ascontiguousarray(found.times[:, kept]), np.ascontiguousarray(rank[:, kept]),
                              found.modelled, cluster, found.errors.class_of(found.distance_km))  # fmt: skip
        names = [self._largest(cluster == one) for one in range(len(clusters))]
        doubt = Doubt(
            only(self.service, kept), self.asked.goal, narrowed(self.domains[domain]), model, found.errors, names,
            tuple((name, narrowed(other)) for name, other in others), self.asked.seed,
        )  # fmt: skip
        return certainty(doubt, narrowed(sites))

    def _largest(self, here: "NDArray[np.bool_]") -> str:
        """The name of the largest group of a cluster."""
        rows = np.flatnonzero(here)
        return self.service.people[int(rows[np.argmax(self.service.counts[rows])])].name


def _allowed(people: Sequence[People], sites: Sequence[Site], asked: RegionsQuestion) -> "NDArray[np.bool_]":
    """Which site may serve which group, shape (groups, sites)."""
    found = np.ones((len(people), len(sites)), dtype=np.bool_)
    countries = np.array([one.country for one in sites])
    for rule in asked.rules:
        rows = np.array([one.country in rule.of for one in people])
        if not rows.any():
            raise UserMistake.at(
                "--keep", f"nobody is in the area of {rule.words!r}", "write the country as in the file"
            )
        found[rows] &= np.isin(countries, list(rule.served_from))[None, :]
    return found
