"""Work for money: a question of its own in the same family, as sure as the measurement."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from tests.analysis.planted import CHASE, FMA, LOSS, TASK, estimate_of, plan_of, price
from tests.compare.witness import FIRST_LOOK
from tests.slices import examples

from cloudcmp.catalog import METRICS
from cloudcmp.compare import Compared, compare
from cloudcmp.model.offering import Price
from cloudcmp.model.result import Basis, Verdict
from cloudcmp.model.study import Decide

STEADY = np.array([10.0, 10.1, 9.9, 10.05, 9.95, 10.0])


def priced(values: Sequence[Sequence[float]], prices: Sequence[Price | None], cell: str = FMA) -> Compared:
    plan = plan_of(candidates=len(values), rounds=len(values[0]), cells=(cell,), prices=prices)
    return compare(plan, [estimate_of(at, some, cell) for at, some in enumerate(values)], METRICS, {})


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([FMA, TASK]), st.floats(0.01, 10.0), st.floats(0.01, 10.0))
def test_every_figure_agrees_with_scipy_on_work_divided_by_price(
    seed: int, cell: str, first: float, second: float
) -> None:
    rng = np.random.default_rng(seed)
    a, b = rng.lognormal(0.0, 0.1, (2, 8))
    found = priced((a, b), (price(repr(first)), price(repr(second))), cell)
    work = [1 / (one * cost) if cell == TASK else one / cost for one, cost in ((a, first), (b, second))]
    test = stats.ttest_rel(np.log(work[0]), np.log(work[1]))
    (one,) = found.money
    assert (one.basis, one.n) == (Basis.MONEY, 8)
    assert one.effect == pytest.approx(stats.gmean(work[0]) / stats.gmean(work[1]))
    assert one.p_paired == pytest.approx(float(test.pvalue), rel=1e-6, abs=1e-15)
    assert one.bounds is not None
    expected = test.confidence_interval(0.95)
    assert (math.log(one.bounds.low), math.log(one.bounds.high)) == pytest.approx((expected.low, expected.high))


def test_the_faster_one_may_lose_for_the_money() -> None:
    found = priced((STEADY, 1.25 * np.roll(STEADY, 1)), (price("0.10"), price("0.20")))
    (speed,), (money,) = found.pairs, found.money
    assert (speed.verdict, money.verdict) == (Verdict.WORSE, Verdict.BETTER)
    assert [one.winners for one in (*found.winners, *found.money_winners)] == [(1,), (0,)]


def test_the_family_grows_by_the_questions_of_money() -> None:
    values = (STEADY, 1.02 * np.roll(STEADY, 1), 1.04 * np.roll(STEADY, 2))
    prices = (price("0.1"), price("0.1"), None)
    with_money, without = priced(values, prices), priced(values, ())
    assert (without.pairs.family, with_money.pairs.family) == (3, 4)
    assert len(with_money.money) == 1
    least = min(one.p_paired or 1.0 for one in with_money.pairs)
    assert min(one.p_adjusted or 1.0 for one in without.pairs) == pytest.approx(3 * least / FIRST_LOOK)
    assert min(one.p_adjusted or 1.0 for one in with_money.pairs) == pytest.approx(4 * least / FIRST_LOOK)


@pytest.mark.parametrize("prices", [(), (price("0.1"), None), (price("0.1"), price("0")),
                                    (price("0.1"), price("0.1", "EUR"))])  # fmt: skip
def test_without_two_prices_in_one_currency_there_is_no_question(prices: Sequence[Price | None]) -> None:
    found = priced((STEADY, 2 * STEADY), prices)
    assert (len(found.money), found.money_winners, found.pairs.family) == (0, (), 1)


@pytest.mark.parametrize("cell", [CHASE, LOSS])
def test_a_latency_or_a_loss_is_no_work(cell: str) -> None:
    assert not priced((STEADY, 2 * STEADY), (price("0.1"), price("0.2")), cell).money.cells


def test_exploratory_cells_have_no_verdict_on_money() -> None:
    plan = plan_of(candidates=2, cells=(FMA, TASK), prices=(price("0.1"), price("0.2")), decide=(Decide("", FMA),))
    some = [estimate_of(at, (1.0 + at) * STEADY, cell) for cell in (FMA, TASK) for at in range(2)]
    assert set(compare(plan, some, METRICS, {}).money.cells) == {FMA}


def test_what_bars_a_candidate_bars_it_for_the_money_too() -> None:
    plan = plan_of(candidates=2, prices=(price("0.1"), price("0.2")))
    failing = replace(estimate_of(1, 3 * STEADY), n_started=12, n_ok=6)
    found = compare(plan, [estimate_of(0, STEADY), failing], METRICS, {})
    assert [one.verdict for one in found.money] == [Verdict.CANNOT_TELL]
    assert found.money_winners[0].winners == ()


def test_equals_for_the_money_are_seldom_told_apart() -> None:
    """Twice as fast at twice the price: equals, in a family of six questions."""
    n, wrong = examples(400), 0
    for seed in range(n):
        rng = np.random.default_rng(seed)
        values = [factor * rng.lognormal(0.0, 0.08, 6) for factor in (1.0, 2.0, 4.0)]
        found = priced(values, (price("0.1"), price("0.2"), price("0.4")))
        wrong += any(one.verdict in (Verdict.BETTER, Verdict.WORSE) for one in found.money)
    assert wrong <= 0.05 * n + 3 * (n * 0.05 * 0.95) ** 0.5
