"""The best sets of regions: against trying every set, within rules and money, and how sure they are."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from tests.answer.placement.worlds import SITES, crowd, world

from cloudcmp.answer.placement.answer import RegionsQuestion, Rule, behind, best_regions
from cloudcmp.answer.placement.choose import percentiles
from cloudcmp.answer.placement.front import Rated, undominated
from cloudcmp.answer.placement.money import Traffic, tiered
from cloudcmp.answer.placement.sentences import certainty_words, with_sentences
from cloudcmp.answer.placement.times import PeopleTimes, times_of
from cloudcmp.errors import UserMistake
from cloudcmp.model.placement import Delivery, Goal, GoalKind, Lack, People, PriceTier
from cloudcmp.model.wide_area import PathTime, Phase, Site, VantagePoint, WideArea

PEOPLE = crowd(60)
TIMES = times_of(world(0.3, seed=3), PEOPLE)
COUNTS = np.array([one.count for one in PEOPLE])
SHARES = COUNTS / COUNTS.sum()
GOALS = (
    Goal(GoalKind.MEAN),
    Goal(GoalKind.BEYOND, 0.06),
    Goal(GoalKind.PERCENTILE, 0.9),
    Goal(GoalKind.PERCENTILE, 1.0),
)


def rated(goal: Goal, sites: tuple[int, ...], times: PeopleTimes = TIMES) -> float:
    """The value of a set, in plain Python."""
    least = times.times[:, list(sites)].min(axis=1)
    if goal.kind is GoalKind.MEAN:
        return float((SHARES * least).sum())
    if goal.kind is GoalKind.BEYOND:
        return float(sum(share for share, time in zip(SHARES, least, strict=True) if time > goal.at))
    total = 0.0
    for time, share in sorted(zip(least, SHARES, strict=True)):
        total += share
        if total >= goal.at - 1e-9:
            return float(time)
    raise AssertionError


def traffic(per_site: float = 0.0, tiers: list[tuple[PriceTier, ...]] | None = None) -> Traffic:
    prices = tiers or [(PriceTier(0.0, 0.05 + 0.03 * at),) for at in range(len(SITES))]
    return Traffic(SHARES * 10_000, prices, per_site, "USD")


@pytest.mark.parametrize("goal", GOALS, ids=str)
@pytest.mark.parametrize("k", [1, 2, 3])
def test_no_set_of_all_is_better(goal: Goal, k: int) -> None:
    found = best_regions(PEOPLE, TIMES, RegionsQuestion(goal, k, mix=True)).best
    least = min(rated(goal, sites) for sites in combinations(range(len(SITES)), k))
    assert found.proven
    assert found.value == pytest.approx(least, abs=1.1e-4 if goal.kind is GoalKind.PERCENTILE else 1e-9)
    chosen = tuple(TIMES.sites.index(one.site) for one in found.regions)
    assert rated(goal, chosen) == pytest.approx(found.value)
    assert found.bound == pytest.approx(found.value, abs=1.1e-4)


def test_a_set_is_of_one_provider_unless_they_may_be_mixed() -> None:
    goal = GOALS[0]
    apart, mixed = (best_regions(PEOPLE, TIMES, RegionsQuestion(goal, 2, mix=mix)) for mix in (False, True))
    assert {one.providers for one in apart.by_provider} == {"a", "b"}
    assert apart.best == apart.by_provider[0]
    assert mixed.best.value <= apart.best.value
    for name, one in (("a", (0, 1, 2)), ("b", (3, 4, 5))):
        least = min(rated(goal, sites) for sites in combinations(one, 2))
        assert next(some for some in apart.by_provider if some.providers == name).value == pytest.approx(least)


def test_people_of_a_country_are_served_where_the_rule_says() -> None:
    rule = Rule(frozenset({"DE"}), frozenset({"DE", "DK"}), "DE=EU")
    question = RegionsQuestion(GOALS[0], 2, mix=True, rules=(rule,))
    found = best_regions(PEOPLE, TIMES, question).best
    assert {one.site.country for one in found.regions} & {"DE", "DK"}

    def kept(sites: tuple[int, ...]) -> float:
        times = TIMES.times.copy()
        for row, one in enumerate(PEOPLE):
            if one.country == "DE":
                times[row, [at for at, site in enumerate(SITES) if site.country not in {"DE", "DK"}]] = np.inf
        return float(SHARES @ times[:, list(sites)].min(axis=1))

    assert found.value == pytest.approx(min(kept(sites) for sites in combinations(range(6), 2)))
    with pytest.raises(UserMistake, match="no region that can be chosen is where 'DE=EU' asks for one; name another"):
        best_regions(PEOPLE, TIMES, replace(question, within=frozenset({"US", "JP", "AU"})))
    rules = (*question.rules, Rule(frozenset({"US"}), frozenset({"US"}), "US=US"))
    with pytest.raises(UserMistake, match="no set of 1 region serves everyone with DE=EU, US=US; ask for more regions"):
        best_regions(PEOPLE, TIMES, replace(question, k=1, rules=rules))


def test_regions_outside_an_area_are_left_out_by_name_and_those_of_other_providers_silently() -> None:
    question = RegionsQuestion(GOALS[0], 1, providers=("a",), within=frozenset({"DK", "ES"}))
    found = best_regions(PEOPLE, TIMES, question)
    assert [(str(site), why) for site, why in found.left_out] == [("a/west", Lack.AREA)]
    assert found.sites == 2
    with pytest.raises(UserMistake, match="--sites: 3 regions are asked for, and 2 of one provider can be chosen"):
        best_regions(PEOPLE, TIMES, replace(question, k=3))


def test_the_best_within_a_budget_and_the_front_are_those_of_all_sets() -> None:
    paid = traffic(per_site=150.0)

    def money(sites: tuple[int, ...]) -> float:
        served = TIMES.times[:, list(sites)].argmin(axis=1)
        volume = [float(paid.gb[served == place].sum()) for place in range(len(sites))]
        return 150.0 * len(sites) + sum((0.05 + 0.03 * at) * gb for at, gb in zip(sites, volume, strict=True))

    sets = [sites for k in (1, 2, 3) for sites in combinations(range(6), k)]
    budget = sorted(money(sites) for sites in sets if len(sites) == 2)[4]
    found = best_regions(PEOPLE, TIMES, RegionsQuestion(GOALS[0], 2, mix=True, budget=budget), traffic=paid).best
    least = min(rated(GOALS[0], sites) for sites in sets if len(sites) == 2 and money(sites) <= budget)
    assert found.value == pytest.approx(least)
    assert (found.money or 0) <= budget
    answer = best_regions(PEOPLE, TIMES, RegionsQuestion(GOALS[0], 3, mix=True), traffic=paid)
    assert answer.whole
    assert answer.tried == len(sets)
    points = [(one.money or 0, one.value) for one in answer.front]
    assert points == sorted(points)
    for sites in sets:
        assert any(cost <= money(sites) + 1e-9 and value <= rated(GOALS[0], sites) + 1e-12 for cost, value in points)
    with pytest.raises(UserMistake, match="--budget: no set of regions costs so little"):
        best_regions(PEOPLE, TIMES, RegionsQuestion(GOALS[0], 2, mix=True, budget=10.0), traffic=paid)


def test_a_region_without_a_price_is_unknown_and_never_free() -> None:
    tiers = [(PriceTier(0.0, 0.1),)] * 5 + [()]
    answer = best_regions(PEOPLE, TIMES, RegionsQuestion(GOALS[0], 6, mix=True), traffic=traffic(tiers=tiers))
    assert answer.best.money is None
    assert all(SITES[5] not in [one.site for one in some.regions] for some in answer.front)
    limited = RegionsQuestion(GOALS[0], 5, mix=True, budget=1e9)
    found = best_regions(PEOPLE, TIMES, limited, traffic=traffic(tiers=tiers))
    assert (SITES[5], Lack.PRICE) in found.left_out


def test_tiers_are_paid_each_for_what_lies_in_it() -> None:
    tiers = (PriceTier(0.0, 0.09), PriceTier(10_000.0, 0.085), PriceTier(50_000.0, 0.07))
    assert tiered(tiers, 5_000) == pytest.approx(450)
    assert tiered(tiers, 60_000) == pytest.approx(900 + 40_000 * 0.085 + 700)
    assert tiered((PriceTier(100.0, 0.09),), 50) == pytest.approx(4.5)


def test_behind_a_delivery_network_misses_go_on_to_the_regions() -> None:
    cdn = Delivery("cdn", 0.8, 0.01, (PriceTier(0.0, 0.02),), "USD", "given", origin_per_gb=0.005)
    answer = best_regions(PEOPLE, TIMES, RegionsQuestion(GOALS[0], 2), traffic=traffic(), delivery=cdn)
    direct, edge = answer.by_count[1], answer.delivered[1]
    assert edge.value == pytest.approx(0.01 + 0.2 * direct.value)
    assert edge.money == pytest.approx(10_000 * 0.02 + 2_000 * 0.005)
    assert sum(one.gb or 0 for one in edge.regions) == pytest.approx(2_000)
    assert behind(cdn, np.array([0.1])) == pytest.approx([0.03])
    limited = RegionsQuestion(GOALS[0], 2, budget=300.0)
    with pytest.raises(UserMistake, match="--budget: only behind cdn does a set of regions cost so little: "):
        best_regions(PEOPLE, TIMES, limited, traffic=traffic(), delivery=cdn)


@pytest.mark.parametrize("per_gb", [0.001, 0.02, 0.05, 5.0])
def test_a_delivery_network_is_a_candidate_of_the_front(per_gb: float) -> None:
    cdn = Delivery("cdn", 0.8, 0.01, (PriceTier(0.0, per_gb),), "USD", "given", origin_per_gb=0.005)
    question = RegionsQuestion(GOALS[0], 2, mix=True)
    plain = best_regions(PEOPLE, TIMES, question, traffic=traffic())
    both = best_regions(PEOPLE, TIMES, question, traffic=traffic(), delivery=cdn)
    assert both.tried == 2 * plain.tried
    points = [(one.money or 0, one.value) for one in both.front]
    assert points == sorted(points, key=lambda one: (one[0], -one[1]))
    for one in (*plain.front, *both.delivered):
        assert any(cost <= (one.money or 0) + 1e-9 and value <= one.value + 1e-12 for cost, value in points), one
    assert any(one.delivery for one in both.front), "its times are the lowest of all"
    cheaper = 10_000 * per_gb + 2_000 * 0.005 < 10_000 * 0.05
    assert cheaper != any(not one.delivery for one in both.front), "a dearer one leaves the cheap sets their place"


def test_percentiles_are_the_least_times_of_enough_people() -> None:
    times = np.array([[3.0, 1.0], [1.0, 2.0], [2.0, 3.0]])
    shares = np.array([0.2, 0.5, 0.3])
    assert percentiles(times, shares, 0.5).tolist() == [1.0, 2.0]
    assert percentiles(times, shares, 1.0).tolist() == [3.0, 3.0]


def test_an_answer_is_sure_of_itself_if_the_model_is_right_and_not_if_it_is_far_off() -> None:
    question = RegionsQuestion(GOALS[0], 2)
    exact = best_regions(PEOPLE, times_of(world(), PEOPLE), question).certainty
    vague = best_regions(PEOPLE, times_of(world(0.8, seed=9), PEOPLE), question).certainty
    assert exact is not None
    assert vague is not None
    assert (exact.unbeaten, exact.near) == (1.0, 1.0)
    assert exact.value.low == pytest.approx(exact.value.high)
    assert exact.rivals == ()
    assert vague.unbeaten < 0.8
    assert vague.value.low < vague.value.high
    assert vague.rivals[0].better >= vague.rivals[-1].better >= 0.05
    names = {one.name for one in PEOPLE}
    for rival in vague.rivals:
        assert {name for name, _ in rival.measure} <= names
        assert 0 < sum(share for _, share in rival.measure) <= 1 + 1e-9
    assert best_regions(PEOPLE, times_of(world(0.8, seed=9), PEOPLE), question).certainty == vague


def test_people_at_vantage_points_have_nothing_uncertain() -> None:
    measured = [replace(PEOPLE[at], name=f"v{at}", at=None) for at in range(10)]
    answer = best_regions(measured, times_of(world(0.3), measured), RegionsQuestion(GOALS[0], 2, mix=True))
    assert answer.certainty is None
    assert answer.model.measured == 10


def test_sets_that_are_about_as_good_are_named_though_every_time_is_measured() -> None:
    sites = tuple(Site("a", f"r{at}", (10.0 * at, 0.0)) for at in range(4))
    who = tuple(VantagePoint(f"v{at}", (10.0 * at, 5.0)) for at in range(2))
    rows = ((0.0260, 0.0262, 0.0260, 0.09), (0.0260, 0.0261, 0.0260, 0.09))
    paths = tuple(PathTime(v, s, Phase.RTT, time, 1, 1) for v, row in enumerate(rows) for s, time in enumerate(row))
    people = tuple(People(one.name, 1.0) for one in who)
    times = times_of(WideArea(who, sites, paths, "planted"), people)
    found = best_regions(people, times, RegionsQuestion(GOALS[0], 1))
    assert (str(found.best), found.certainty) == ("a/r0", None)
    assert [([str(site) for site in one.sites], round(one.value, 5)) for one in found.close] == [
        (["a/r2"], 0.026), (["a/r1"], 0.02615)
    ]  # fmt: skip
    assert certainty_words(found) == (
        "times are taken as exact, as they were measured: how much they vary is not in it; cannot tell it from 2 sets "
        "within 3 %"
    )
    (said,) = [one for one in with_sentences(found).cautions if "practically the same" in one]
    assert said.endswith("within 3 %: a/r2 26.0 ms (as good); a/r1 26.1 ms (+0.6 %)")


def test_rounding_of_money_keeps_no_set_that_another_one_beats() -> None:
    rated = [Rated((0,), 0.0418, 121_202.00000000001 - 1e-10), Rated((1,), 0.0216, 121_202.00000000003)]
    assert [one.sites for one in undominated([*rated, Rated((2,), 0.1, 5.0)])] == [(2,), (1,)]
