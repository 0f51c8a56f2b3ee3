"""What a plan takes: time, money, and what it could tell apart."""

import math
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.plan.bills import bills, wrong
from tests.plan.clouds import HOUR, planned

from cloudcmp.model.offering import Billing
from cloudcmp.model.plan import LEASE_MARGIN_S, Plan
from cloudcmp.plan.planner import ASSUMED_COV, TIMER_S
from cloudcmp.stats.looks import share_of_look

NAMES = (("aws", "small"), ("aws", "large"))
TWO = f"[{', '.join(f'{{provider: {one}, region: eu, offering: {name}}}' for one, name in NAMES)}]"
PROBES = "[{probe: fma, params: {duration_s: 100 s}}, {probe: udp}]"


def test_money_is_price_times_life() -> None:
    asked = "[{probe: fma, params: {duration_s: 100 s}}]", "launches: 10\nruns: 3"
    plan = planned(TWO, *asked, billing_of=lambda _: Billing(0.0, 0.0))
    hours = Decimal(repr((60 + 3 * 100.05) * 10)) / 3600
    assert plan.quote.expected_cost is not None
    assert plan.quote.expected_cost.currency == "USD"
    assert plan.quote.expected_cost.amount == pytest.approx(hours * Decimal("0.22"), abs=Decimal("0.000001"))
    assert plan.quote.worst_cost is not None
    assert plan.quote.worst_cost.amount > 2 * plan.quote.expected_cost.amount


def test_n_of_a_thing_cost_n_times_as_much() -> None:
    one = planned("[{provider: aws, offering: small}]").quote.worst_cost
    three = planned("[{provider: aws, offering: small, count: 3}]").quote.worst_cost
    assert one is not None
    assert three is not None
    assert three.amount == pytest.approx(3 * one.amount, abs=Decimal("0.00001"))


def test_the_expected_cost_pays_minimum_and_steps_too() -> None:
    asked = "[{probe: fma, params: {duration_s: 100 s}}]", "launches: 10\nruns: 3"
    for terms, paid_s in ((Billing(), 3600), (Billing(60.0, 300.0), 660), (Billing(600.0, 60.0), 600)):
        plan = planned(TWO, *asked, billing_of=lambda _, terms=terms: terms)
        assert plan.quote.expected_cost is not None
        hours = Decimal(10 * paid_s) / 3600
        assert plan.quote.expected_cost.amount == pytest.approx(hours * Decimal("0.22"), abs=Decimal("0.000001"))


@pytest.mark.parametrize("faults", [False, True])
def test_p14_what_simulated_studies_cost_is_what_was_said(tmp_path: Path, faults: bool) -> None:
    found = bills(6, 14, tmp_path, faults=faults)
    assert wrong(found, faults=faults) == []
    assert sum(one.machines for one in found) > 12


def billed(price: Decimal, life_s: float, minimum_s: float, step_s: float) -> Decimal:
    """A bill that a provider writes, counted step by step; times 3600, so that sums are exact."""
    paid_s = minimum_s
    while paid_s < life_s:
        paid_s += step_s
    return price * Decimal(repr(paid_s))


@given(
    st.integers(0, 2**32),
    st.sampled_from([(60.0, 1.0), (60.0, 60.0), (600.0, 60.0), (3600.0, 3600.0), (60.0, 3600.0)]),
    st.integers(1, 3),
)
@settings(max_examples=30, deadline=None)
def test_p14_the_worst_case_bounds_every_bill_of_what_the_launches_can_take(
    seed: int, terms: tuple[float, float], count: int
) -> None:
    several = f"{{provider: simulated, offering: small, count: {count}}}"
    one = "{provider: simulated, region: stratus, offering: medium}"
    plan = planned(f"[{several}, {one}]", PROBES, f"seed: {seed}\nlaunches: 6", billing_of=lambda _: Billing(*terms))
    rng = np.random.default_rng(seed)
    total = most = Decimal(0)
    for launch in plan.launches:
        candidate = plan.candidates[launch.candidate]
        assert candidate.truth is not None
        assert candidate.truth.boot_s is not None
        assert candidate.offering.price is not None
        assert candidate.truth.boot_s < LEASE_MARGIN_S
        trials = plan.trials_of(launch.index)
        # What a run can take: every trial up to its deadline, and the margin for coming and going.
        deadlines_s = sum(trial.deadline_s for trial in trials)
        life_s = candidate.truth.boot_s + sum(rng.uniform(0.0, trial.deadline_s) for trial in trials)
        price = candidate.offering.price.amount_per_hour * candidate.count
        total += billed(price, life_s, *terms)
        most += billed(price, deadlines_s + LEASE_MARGIN_S + TIMER_S, *terms)
    assert plan.quote.worst_cost is not None
    worst = plan.quote.worst_cost.amount * 3600
    assert total <= most <= worst <= most + Decimal("0.0036")


def test_finer_terms_make_the_worst_case_better() -> None:
    hourly, finer = (
        planned(TWO, billing_of=lambda _, one=one: one).quote.worst_cost for one in (Billing(), Billing(60.0, 1.0))
    )
    assert hourly is not None
    assert finer is not None
    assert finer.amount < hourly.amount
    assert planned(TWO).quote.worst_cost == hourly


def test_the_price_of_a_volume_is_counted() -> None:
    priced = "{provider: aws, offering: small, volume: {type: fast, price: 0.02 USD/h}}"
    alone = planned("[{provider: aws, offering: small}]").quote
    beside = planned(f"[{priced}]").quote
    assert alone.worst_cost is not None
    assert beside.worst_cost is not None
    assert beside.worst_cost.amount == pytest.approx(2 * alone.worst_cost.amount, abs=Decimal("0.00001"))
    assert not any("volume" in note for note in beside.notes)


def test_an_unknown_price_gives_no_cost_and_names_the_candidate() -> None:
    plan = planned("[{provider: aws, offering: small}, {provider: gcp, region: eu, offering: wide}]")
    assert (plan.quote.expected_cost, plan.quote.worst_cost) == (None, None)
    assert "no cost is quoted: no price is known for gcp/eu/wide" in plan.quote.notes


def test_without_any_price_one_line_says_so() -> None:
    plan = planned("[{provider: local, offering: 1cpu}, {provider: local, offering: 2cpu}]")
    assert plan.quote.expected_cost is None
    assert [note for note in plan.quote.notes if "cost" in note] == [
        "no cost is quoted: no price is known for local/local/1cpu, local/local/2cpu"
    ]


def test_currencies_are_never_added() -> None:
    euro = "{provider: gcp, region: eu, offering: wide, price: 0.30 EUR/h}"
    plan = planned(f"[{{provider: aws, offering: small}}, {euro}]")
    assert plan.quote.expected_cost is None
    assert "no cost is quoted: the prices are in EUR and USD" in plan.quote.notes


def test_a_volume_is_said_not_to_be_counted() -> None:
    with_volume = planned("[{provider: aws, offering: small, volume: fast}, {provider: aws, offering: large}]")
    assert "no cost counts the price of a volume: fast" in with_volume.quote.notes
    assert not any("volume" in note for note in planned(TWO).quote.notes)


def test_a_budget_below_the_worst_case_is_noted() -> None:
    plan = planned(TWO, PROBES, "budget: 0.01 USD")
    assert "the worst case is above the budget of 0.01 USD" in plan.quote.notes


def test_the_time_is_that_of_all_rounds() -> None:
    plan = planned("[{provider: aws, offering: small}]", "[{probe: fma, params: {duration_s: 100 s}}]", "launches: 6")
    assert plan.quote.expected_s == pytest.approx(6 * (60 + 2 * 100.05))
    spread = planned("[{provider: aws, offering: small}]", rest="launches: 6\nevery: 2 h\nfor: 1 day")
    assert spread.quote.expected_s == pytest.approx(10 * HOUR + 60 + 2 * 1.05)


def detectable(plan: Plan) -> float:
    assert len({ratio for _, ratio in plan.quote.detectable}) == 1
    return plan.quote.detectable[0][1]


QUESTIONS = 4
"""Of two cells: performance, and work for the planted prices."""


def test_the_detectable_difference_is_found_with_eighty_percent_power() -> None:
    # Simulated: so many launches of two candidates apart by that ratio, tested as the comparison will test them.
    plan = planned(TWO, "[{probe: fma, params: {threads: [one, all]}}]", "launches: 10")
    gap = math.log1p(detectable(plan))
    rng = np.random.default_rng(1)
    sd = math.sqrt(math.log1p(ASSUMED_COV**2))
    logs = rng.normal(gap, sd, (20_000, 10)) - rng.normal(0, sd, (20_000, 10))
    found = scipy.stats.ttest_1samp(logs, 0, axis=1).pvalue < 0.05 * share_of_look(0) / QUESTIONS
    assert found.mean() == pytest.approx(0.80, abs=0.015)


def test_more_rounds_tell_more_and_more_cells_tell_less() -> None:
    few = detectable(planned(TWO, "[{probe: fma}]", "launches: 6"))
    many = detectable(planned(TWO, "[{probe: fma}]", "launches: 30"))
    wide = detectable(planned(TWO, "[{suite: cpu}]", "launches: 6"))
    named = detectable(planned(TWO, "[{suite: cpu}]", "launches: 6\ndecide: [lu_flop_per_s]"))
    assert many < few < wide
    assert named == few


def test_cells_that_are_compared_by_differences_have_no_ratio() -> None:
    plan = planned(TWO, "[{probe: udp}]")
    assert [cell.partition(" ")[0] for cell, _ in plan.quote.detectable] == ["udp_bytes_per_s"]
    assert plan.quote.assumed_cov == ASSUMED_COV


def test_fewer_than_six_rounds_tell_nothing() -> None:
    plan = planned(TWO, rest="launches: 5")
    assert plan.quote.detectable == ()
    assert "fewer than 6 rounds: no verdict will be given" in plan.quote.notes
    assert planned("[{provider: aws, offering: small}]").quote.detectable == ()


def test_a_signed_metric_that_decides_without_a_margin_is_noted() -> None:
    noted = planned(TWO, "[{probe: udp}]", "decide: [udp_loss_ratio]").quote.notes
    assert "udp_loss_ratio has no margin: nothing can be practically the same in it" in noted
    given = planned(TWO, "[{probe: udp}]", "decide: [{cell: udp_loss_ratio, margin: 1 %}]").quote.notes
    assert not any("margin" in note for note in given)


def test_what_nobody_bills_leaves_the_cost_of_the_rest_known() -> None:
    mixed = "[{provider: aws, offering: small}, {provider: azure, region: eu, offering: own}]"
    paid = planned("[{provider: aws, offering: small}]").quote.worst_cost
    assert planned(mixed).quote.worst_cost is None
    free = planned(mixed, free=lambda one: one.runner == "azure").quote
    assert free.worst_cost == paid
    assert "the cost leaves out azure/eu/own: they have no price, and nobody bills them" in free.notes
    assert planned("[{provider: azure, region: eu, offering: own}]", free=lambda _: True).quote.worst_cost is None
