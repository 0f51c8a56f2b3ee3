"""What a study with a rule measures next, from its launch values: contests, bars, reasons, and what it concludes."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.analysis.planted import CHASE, FMA, LOSS, estimate_of, plan_of, price

from cloudcmp.catalog import METRICS
from cloudcmp.compare import came_back, next_round, rule_faults, to_decide
from cloudcmp.model.bill import BillLine
from cloudcmp.model.plan import LaunchUsage, Plan
from cloudcmp.model.result import Estimate
from cloudcmp.model.selection import Dropped, DropReason, EndReason, Stop, StopRule
from cloudcmp.model.study import Decide
from cloudcmp.units import Money

CERTIFY = Stop(StopRule.CERTIFY, 0.02)


def planned(candidates: int, *, stop: Stop = CERTIFY, rounds: int = 40, **more: object) -> Plan:
    return replace(plan_of(candidates=candidates, rounds=rounds, runs=1, **more), stop=stop)  # type: ignore[arg-type]


def priced(candidates: int, amounts: tuple[str, ...], spend: str, **more: object) -> Plan:
    """A plan of a budget rule, with a quote whose launches cost a hundredth of the hourly price."""
    stop = Stop(StopRule.BUDGET, 0.0, Money(price(spend).amount_per_hour, "USD"))
    plan = planned(candidates, stop=stop, prices=[price(one) for one in amounts], **more)
    usage = tuple(LaunchUsage(at, plan.rounds, 1, 36.0, 60.0) for at in range(candidates))
    lines = tuple(
        BillLine("instance", None, "", None, Money(plan.rounds * price(one).amount_per_hour / 100, "USD"), "", f"c{at}")
        for at, one in enumerate(amounts)
    )
    total = Money(sum(one.amount.amount for one in lines if one.amount), "USD")
    return replace(plan, usage=usage, quote=replace(plan.quote, expected_cost=total, lines=lines))


def drawn(means: tuple[float, ...], rounds: int = 10, cov: float = 0.01, cell: str = FMA) -> list[Estimate]:
    """Estimates of rates with these means; a launch varies by `cov`."""
    rng = np.random.default_rng(1)
    return [estimate_of(at, mean * rng.lognormal(0.0, cov, rounds), cell=cell) for at, mean in enumerate(means)]


def test_the_best_of_a_rate_is_the_largest_and_of_a_latency_the_least() -> None:
    for cell, best in ((FMA, 2), (CHASE, 0)):
        plan = planned(3, cells=(cell,))
        found = next_round(plan, drawn((1.0, 1.5, 2.0), cell=cell), METRICS, 10, range(3))
        (standing,) = found.standings
        assert found.over
        assert (standing.reason, standing.leader, standing.money) == (EndReason.BEST, best, False)
        assert standing.order == ((2, 1, 0) if cell == FMA else (0, 1, 2))


def test_later_rounds_are_not_looked_at() -> None:
    some = drawn((1.0, 1.5, 2.0), rounds=30)
    assert next_round(planned(3), some, METRICS, 5, range(3)).measured == {0, 1, 2}
    cut = [replace(one, values=one.values[:12], rounds=one.rounds[:12], sessions=one.sessions[:12]) for one in some]
    assert next_round(planned(3), some, METRICS, 12, range(3)) == next_round(planned(3), cut, METRICS, 12, range(3))


def test_who_leaves_says_why_and_against_whom() -> None:
    rng = np.random.default_rng(3)
    values = [mean * rng.lognormal(0.0, cov, 8) for mean, cov in ((1.0, 0.05), (0.985, 0.05), (0.5, 0.01))]
    some = [estimate_of(at, one) for at, one in enumerate(values)]
    found = next_round(planned(3), some, METRICS, 8, range(3))
    assert not found.over
    assert found.measured == {0, 1}
    assert found.leaving == (Dropped(2, 8, DropReason.BEHIND, found.leaving[0].against),)
    assert found.leaving[0].against in {0, 1}


def test_work_for_money_is_a_contest_of_its_own_where_prices_differ() -> None:
    """The slow one is by far the cheapest: it stays until both questions are settled, and wins the second."""
    some = drawn((1.0, 0.8))
    same = planned(2, prices=[price("1"), price("1")])
    assert [one.money for one in next_round(same, some, METRICS, 10, range(2)).standings] == [False]
    found = next_round(planned(2, prices=[price("1"), price("0.5")]), some, METRICS, 10, range(2))
    assert [(one.money, one.leader) for one in found.standings] == [(False, 0), (True, 1)]


def test_each_deciding_cell_is_a_contest_and_no_other_is() -> None:
    plan = planned(2, cells=(FMA, CHASE), decide=[Decide("", FMA)])
    some = [*drawn((1.0, 0.5)), *drawn((1.0, 1.0), cov=0.3, cell=CHASE)]
    assert next_round(plan, some, METRICS, 10, range(2)).over
    both = next_round(replace(plan, decide=()), some, METRICS, 10, range(2))
    assert not both.over
    assert both.measured == {0, 1}


def test_who_fails_too_often_leads_nothing_and_stays_while_others_are_open() -> None:
    some = drawn((1.0, 0.99, 5.0), cov=0.1)
    some[2] = replace(some[2], n_ok=5, n_started=10)
    found = next_round(planned(3), some, METRICS, 10, range(3))
    assert not found.over
    assert found.measured == {0, 1, 2}
    clear = [*drawn((1.0, 0.5)), some[2]]
    (standing,) = next_round(planned(3), clear, METRICS, 10, range(3)).standings
    assert standing.order == (0, 1)


def test_a_candidate_without_values_ends_nothing_by_itself() -> None:
    some = [*drawn((1.0, 0.5)), replace(drawn((1.0,))[0], candidate=2, values=(), rounds=(), sessions=(), n=0)]
    assert next_round(planned(3), some, METRICS, 10, range(3)).over
    nothing = [replace(one, values=(), rounds=(), sessions=(), n=0) for one in some]
    found = next_round(planned(3), nothing, METRICS, 10, range(3))
    assert (found.over, found.measured) == (False, {0, 1, 2})


def test_a_metric_that_can_be_0_has_its_margin_as_tolerance() -> None:
    plan = planned(2, cells=(LOSS,), decide=[Decide("", LOSS, 0.01)])
    rng = np.random.default_rng(5)
    some = [estimate_of(at, rng.normal(mean, 0.001, 10), cell=LOSS) for at, mean in enumerate((0.0, 0.001))]
    (standing,) = next_round(plan, some, METRICS, 10, range(2)).standings
    assert standing.reason in {EndReason.TIE, EndReason.BEST}
    assert "needs a margin" in rule_faults(replace(plan, decide=(Decide("", LOSS),)), METRICS)[0]
    assert rule_faults(plan, METRICS) == ()


def test_a_ranking_needs_ten_rounds_and_orders_all() -> None:
    plan = planned(3, stop=Stop(StopRule.RANKING, 0.03))
    some = drawn((1.0, 1.5, 2.0), rounds=12)
    assert not next_round(plan, some, METRICS, 9, range(3)).over
    (standing,) = next_round(plan, some, METRICS, 12, range(3)).standings
    assert (standing.reason, standing.order) == (EndReason.RANKED, (2, 1, 0))


def test_a_budget_weighs_work_for_money() -> None:
    """The fast one costs three times as much; with little at stake nothing more is measured."""
    plan = priced(2, ("1", "3"), "1000")
    (standing,) = next_round(plan, drawn((1.0, 1.5)), METRICS, 10, range(2)).standings
    assert (standing.reason, standing.leader, standing.money) == (EndReason.REGRET, 0, True)
    assert standing.regret is not None
    assert 0.0 <= standing.regret < 0.01
    close = drawn((1.0, 2.99), cov=0.2)
    assert not next_round(priced(2, ("1", "3"), "1000000"), close, METRICS, 10, range(2)).over
    assert next_round(priced(2, ("1", "3"), "0.01"), close, METRICS, 10, range(2)).over


def test_what_a_budget_cannot_weigh_is_a_fault() -> None:
    plan = priced(2, ("1", "3"), "1000")
    assert rule_faults(plan, METRICS) == ()
    unknown = replace(plan, quote=replace(plan.quote, expected_cost=None))
    assert "a price is unknown" in rule_faults(unknown, METRICS)[0]
    latency = priced(2, ("1", "3"), "1000", cells=(CHASE,))
    assert "is work for money" in rule_faults(latency, METRICS)[0]
    assert "nothing to choose" in rule_faults(planned(1), METRICS)[0]


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1000), st.integers(6, 20), st.floats(0.01, 0.2))
def test_asking_again_gives_the_same_answer(seed: int, rounds: int, cov: float) -> None:
    rng = np.random.default_rng(seed)
    values = rng.lognormal(0.0, cov, (4, 20)) * rng.lognormal(0.0, 0.05, (4, 1))
    some = [estimate_of(at, one) for at, one in enumerate(values)]
    first = next_round(planned(4), some, METRICS, rounds, range(4))
    again = next_round(planned(4), some, METRICS, rounds, first.measured)
    assert again.measured == first.measured
    assert again.leaving == ()
    assert again.standings == first.standings


def test_who_comes_back_is_told_with_the_round() -> None:
    dropped = (Dropped(1, 6, DropReason.NOT_BETTER, 0), Dropped(2, 6, DropReason.BEHIND, 0))
    assert came_back(dropped, {0, 1}, 9) == (replace(dropped[0], back=9), dropped[1])


@pytest.mark.parametrize("rule", [StopRule.CERTIFY, StopRule.RANKING])
def test_a_plan_says_what_its_rule_would_take(rule: StopRule) -> None:
    found = to_decide(planned(3, stop=Stop(rule, 0.02), rounds=60), 0.05)
    assert [one.ahead for one in found] == [0.10, 0.05, 0.02]
    assert [one.median for one in found] == sorted(one.median for one in found)
    assert all(18 <= one.median <= one.most <= 180 for one in found)
    assert found[0].decided >= found[2].decided
    assert found[0].right > 0.95
    assert to_decide(planned(3, stop=Stop(rule, 0.02), rounds=60), 0.05) == found
