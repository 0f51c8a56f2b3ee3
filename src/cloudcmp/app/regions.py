"""Where to put a service: the best set of regions for the people whom it has, from times between places."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from cloudcmp.analysis.wide_area.light import impossible_words, without_impossible
from cloudcmp.analysis.wide_area.people import read_people
from cloudcmp.app.option_values import above_zero, money_per_month
from cloudcmp.app.region_prices import egress_prices
from cloudcmp.app.wide_area import wide_area
from cloudcmp.catalog import hint
from cloudcmp.catalog.countries import area_of, known_areas
from cloudcmp.errors import UserMistake
from cloudcmp.model.placement import Delivery, Goal, GoalKind, Population, RegionsAnswer
from cloudcmp.model.wide_area import WideArea
from cloudcmp.store.egress_prices import EgressPrices
from cloudcmp.units import parse_seconds

if TYPE_CHECKING:
    from cloudcmp.answer.placement.answer import RegionsQuestion, Rule
    from cloudcmp.answer.placement.money import Traffic
    from cloudcmp.model.wide_area import Site

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class RegionsRequest:
    """What is asked about regions, as text: a goal, how many, which may be chosen, and what money is counted.

    `goal` is `mean`, `p95` (any percentile), `worst` or `within 100 ms`. `within` are areas of regions, `keep` rules
    such as `DE=EU`. `egress` is a table of prices, or `prices` for the price book. `gb` is what a user gets a month, in
    GB (10^9 bytes). `site_cost` and `budget` are money a month. `most` keeps the places with the most people.
    """

    people: Path
    sites: int = 3
    goal: str = "mean"
    limit: str = "100 ms"
    cities: Path | None = None
    vantages: Path | None = None
    targets: Path | None = None
    providers: tuple[str, ...] = ()
    mix: bool = False
    within: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    egress: str | None = None
    gb: float | None = None
    users: float | None = None
    site_cost: str | None = None
    budget: str | None = None
    cdn: Path | None = None
    last_mile: str | None = None
    most: int | None = None
    seed: int = 1


def regions(sources: Sequence[str], asked: RegionsRequest, *, progress: Say = lambda _: None) -> RegionsAnswer:
    """Answer where to put a service, from sources of times as `wan` reads them.

    Raises UserMistake for a file or an option that cannot be read, and if no set of regions does what is asked.
    """
    question = _question(asked)
    area, impossible = without_impossible(
        wide_area(sources, vantages=asked.vantages, targets=asked.targets, progress=progress)
    )
    _check_providers(asked.providers, area)
    progress(f"reading {asked.people}")
    people = _people(asked, area)
    delivery = _delivery(asked)
    from cloudcmp.answer.placement.answer import best_regions
    from cloudcmp.answer.placement.sentences import with_sentences
    from cloudcmp.answer.placement.times import times_of

    times = times_of(
        area,
        people.groups,
        above_zero("--last-mile", asked.last_mile, parse_seconds, "100 ms") if asked.last_mile else 0.0,
    )
    traffic, notes = _traffic(asked, people, times.sites, delivery)
    question = replace(question, budget=_budget(asked, traffic))
    progress(f"choosing {question.k} of {len(times.sites)} regions for {len(people.groups):,} places")
    found = best_regions(people.groups, times, question, traffic=traffic, delivery=delivery, source=area.source,
                         kind=area.kind)  # fmt: skip
    found = replace(found, notes=(*area.notes, *impossible_words(impossible), *people.notes, *notes))
    return with_sentences(found, delivery)


def _question(asked: RegionsRequest) -> "RegionsQuestion":
    from cloudcmp.answer.placement.answer import RegionsQuestion

    if asked.sites < 1:
        raise UserMistake.at("--sites", f"{asked.sites} regions", "ask for one or more")
    within = [_area("--within", one) for one in asked.within]
    return RegionsQuestion(
        goal=_goal(asked.goal), k=asked.sites, providers=asked.providers,
        within=frozenset[str]().union(*(codes for _, codes in within)) if within else None,
        rules=tuple(map(_rule, asked.keep)), mix=asked.mix,
        limit_s=above_zero("--limit", asked.limit, parse_seconds, "100 ms"), users=asked.users, seed=asked.seed,
    )  # fmt: skip


def _goal(text: str) -> Goal:
    words = text.strip().lower()
    if words == "mean":
        return Goal(GoalKind.MEAN)
    if words == "worst":
        return Goal(GoalKind.PERCENTILE, 1.0)
    if words.startswith("within "):
        return Goal(GoalKind.BEYOND, above_zero("--goal", words.removeprefix("within "), parse_seconds, "100 ms"))
    try:
        share = float(words.removeprefix("p")) / 100 if words.startswith("p") else math.nan
    except ValueError:
        share = math.nan
    if not 0 < share <= 1:
        raise UserMistake.at("--goal", f"{text!r} is no goal", "write mean, p95, worst or 'within 100 ms'")
    return Goal(GoalKind.PERCENTILE, share)


def _area(option: str, text: str) -> tuple[str, frozenset[str]]:
    found = area_of(text)
    if found is None:
        advice = f"write a country as of ISO 3166, such as DE, or one of {', '.join(known_areas())}"
        raise UserMistake.at(option, f"{text!r} is no area", advice)
    return found


def _rule(text: str) -> "Rule":
    from cloudcmp.answer.placement.answer import Rule

    of, sign, served = text.partition("=")
    if not sign:
        raise UserMistake.at("--keep", f"{text!r} does not say from where", "write e.g. DE=EU, or EU=EU")
    return Rule(_area("--keep", of)[1], _area("--keep", served)[1], text)


def _check_providers(providers: Sequence[str], area: WideArea) -> None:
    known = sorted({one.provider for one in area.sites})
    for one in providers:
        if one not in known:
            raise UserMistake.at(
                "--provider",
                f"no region of {one!r} was measured",
                hint(one, known) or f"write one of {', '.join(known)}",
            )


def _people(asked: RegionsRequest, area: WideArea) -> Population:
    """The people; those who have the name of a vantage point are placed where it is, which a map needs."""
    if asked.most is not None and asked.most < 1:
        raise UserMistake.at("--largest", f"{asked.most} places", "ask for one or more")
    cities = None if asked.cities is None else read_people(asked.cities)
    vantages = {one.name: one.country for one in area.vantages}
    found = read_people(asked.people, vantages=vantages, cities=cities, most=asked.most)
    places = {one.name.casefold(): one.at for one in area.vantages}
    groups = (one if one.at else replace(one, at=places.get(one.name.casefold())) for one in found.groups)
    return replace(found, groups=tuple(groups))


def _delivery(asked: RegionsRequest) -> Delivery | None:
    if asked.cdn is None:
        return None
    from cloudcmp.study.delivery import read_delivery

    return read_delivery(asked.cdn)


def _traffic(
    asked: RegionsRequest, people: Population, sites: "Sequence[Site]", delivery: Delivery | None
) -> "tuple[Traffic | None, tuple[str, ...]]":
    """The bytes and prices of the service, and notes on them; None if no money is asked about."""
    for option, value in (("--gb", asked.gb), ("--users", asked.users)):
        if value is not None and not (math.isfinite(value) and value > 0):
            raise UserMistake.at(option, f"{value:g} is not more than zero", "write e.g. 2")
    if asked.egress is None or asked.gb is None:
        _check_money(asked)
        return None, ()
    import numpy as np

    from cloudcmp.answer.placement.money import Traffic

    prices = egress_prices(asked.egress, sites)
    site_cost = None if asked.site_cost is None else money_per_month("--site-cost", asked.site_cost, "200 USD/month")
    for option, currency in (
        ("--site-cost", site_cost.currency if site_cost else ""),
        ("--cdn", delivery.currency if delivery else ""),
    ):
        if currency not in {"", prices.currency}:
            what = f"it is in {currency} and the prices are in {prices.currency}"
            raise UserMistake.at(option, what, f"write it in {prices.currency}")
    counts = np.array([one.count for one in people.groups])
    users = asked.users or float(counts.sum())
    tiers = [prices.of(one.provider, one.region) for one in sites]
    traffic = Traffic(counts / counts.sum() * users * asked.gb, tiers, float(site_cost.amount) if site_cost else 0.0,
                      prices.currency)  # fmt: skip
    return traffic, (
        *prices.notes,
        *_unpriced([one for one in sites if one.provider in (asked.providers or {one.provider})], prices),
    )


def _check_money(asked: RegionsRequest) -> None:
    """Raises UserMistake if an option about money is there without what it needs."""
    if asked.egress is not None:
        raise UserMistake.at("--egress", "how much is sent is unknown", "add --gb, the GB of one user a month")
    for option, value in (("--gb", asked.gb), ("--budget", asked.budget), ("--site-cost", asked.site_cost)):
        if value is not None:
            raise UserMistake.at(option, "prices are unknown", "add --egress FILE with the price of a GB by region")


def _unpriced(sites: "Sequence[Site]", prices: EgressPrices) -> tuple[str, ...]:
    missing = [str(one) for one in sites if not prices.of(one.provider, one.region)]
    if not missing:
        return ()
    more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
    return (f"{prices.source}: the price of {', '.join(missing[:3])}{more} is unknown",)


def _budget(asked: RegionsRequest, traffic: "Traffic | None") -> float | None:
    if asked.budget is None or traffic is None:
        return None
    money = money_per_month("--budget", asked.budget, "200 USD/month")
    if money.currency != traffic.currency:
        what = f"it is in {money.currency} and the prices are in {traffic.currency}"
        raise UserMistake.at("--budget", what, f"write it in {traffic.currency}")
    return float(money.amount)


def write_regions(found: RegionsAnswer, path: Path) -> Path:
    """Write an answer as one HTML file, as `report` writes a report; raises UserMistake if another file is there."""
    from cloudcmp.app.report import write_page
    from cloudcmp.report.placement_page import render

    return write_page(path, lambda: render(found))
