"""All comparisons of a study: every figure against a second witness, and what the verdicts promise."""

import itertools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.analysis.planted import CHASE, FMA, FMA_ALL, LOSS, LU, TASK, estimate_of, plan_of
from tests.compare.by_performance import compare
from tests.compare.witness import FIRST_LOOK
from tests.slices import examples

from cloudcmp.catalog import METRICS
from cloudcmp.model.plan import Plan
from cloudcmp.model.result import Estimate, Verdict, Winner
from cloudcmp.model.study import Decide

BETTER, WORSE, SAME, CANNOT_TELL = Verdict.BETTER, Verdict.WORSE, Verdict.SAME, Verdict.CANNOT_TELL
CELLS = (FMA, CHASE, TASK, LU)


def study_of(rng: np.random.Generator, factors: Sequence[float], n: int, cov: float, cells: Sequence[str] = CELLS,
             drift: float = 0.0) -> tuple[Plan, list[Estimate]]:  # fmt: skip
    """Lognormal launch values; `drift` is the spread of a random walk that all candidates of a round share."""
    plan = plan_of(candidates=len(factors), rounds=n, cells=cells)
    estimates = []
    for cell in cells:
        level = 10.0 ** rng.uniform(-9, 9) * np.exp(np.cumsum(rng.normal(0.0, drift, n)))
        for at, factor in enumerate(factors):
            estimates.append(estimate_of(at, level * factor * rng.lognormal(0.0, cov, n), cell))
    return plan, estimates


# --- second witness


@pytest.mark.parametrize("seed", range(5))
def test_every_figure_agrees_with_scipy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(6, 15))
    plan, estimates = study_of(rng, (1.0, 1.05, 0.97), n, 0.04)
    plan = replace(plan, decide=(Decide("", FMA), Decide("", CHASE)))
    found, _ = compare(plan, estimates, METRICS, {})
    values = {(one.cell, one.candidate): np.array(one.values) for one in estimates}
    paired = {}
    for one in found:
        a, b = values[one.cell, one.a], values[one.cell, one.b]
        d = np.log(a) - np.log(b)
        test = scipy.stats.ttest_rel(np.log(a), np.log(b))
        paired[one] = float(test.pvalue)
        assert one.n == n
        assert one.effect == pytest.approx(scipy.stats.gmean(a) / scipy.stats.gmean(b), rel=1e-12)
        assert one.p_paired == pytest.approx(float(test.pvalue), rel=1e-9)
        for bounds, level in ((one.bounds, 0.95), (one.bounds_90, 0.90)):
            expected = test.confidence_interval(level)
            assert bounds is not None
            assert (bounds.low, bounds.high) == pytest.approx((np.exp(expected.low), np.exp(expected.high)), rel=1e-9)
            assert bounds.confidence == level
        assert one.p_welch == pytest.approx(float(scipy.stats.ttest_ind(np.log(a), np.log(b), equal_var=False).pvalue))
        walsh = [(x + y) / 2 for x, y in itertools.combinations_with_replacement(d, 2)]
        assert one.hodges_lehmann == pytest.approx(np.exp(np.median(walsh)), rel=1e-12)
        u = scipy.stats.mannwhitneyu(a, b).statistic
        assert one.cliffs_delta == pytest.approx(2 * u / (n * n) - 1)
    deciding = [one for one in found if one.decides]
    assert {one.cell for one in deciding} == {FMA, CHASE}
    p = np.sort([paired[one] / FIRST_LOOK for one in deciding])
    holm = np.minimum(1.0, np.maximum.accumulate(p * np.arange(len(p), 0, -1)))
    assert sorted(one.p_adjusted or 0.0 for one in deciding) == pytest.approx(list(holm))
    others = [one for one in found if not one.decides]
    bh = scipy.stats.false_discovery_control([paired[one] for one in others])
    assert [one.p_adjusted for one in others] == pytest.approx(list(bh))
    assert all(one.verdict is None for one in others)


def test_the_detectable_difference_is_found_with_80_percent_power() -> None:
    rng = np.random.default_rng(11)
    n, sd, family = 8, 0.03, 3
    plan, estimates = study_of(rng, (1.0, 1.0, 1.0), n, 0.02, (FMA,))
    found, _ = compare(plan, estimates, METRICS, {})
    one = found[0]
    d = np.log(estimates[0].values) - np.log(estimates[1].values)
    assert one.detectable is not None
    per_spread = np.log(one.detectable) / d.std(ddof=1)
    drawn = rng.normal(per_spread * sd, sd, (20_000, n))
    power = (scipy.stats.ttest_1samp(drawn, 0.0, axis=1).pvalue < FIRST_LOOK * 0.05 / family).mean()
    assert power == pytest.approx(0.8, abs=0.015)


STEADY = (10.0, 10.1, 9.9, 10.05, 9.95, 10.0)


def scaled(factor: float, values: Sequence[float] = STEADY) -> tuple[float, ...]:
    """About `factor` times the values, with a spread of its own."""
    return tuple(value * factor * (1.0 + 0.001 * (-1) ** at) for at, value in enumerate(values))


# --- what the verdicts promise


def test_tied_clouds_seldom_show_any_winner() -> None:
    """Family-wise: at most 5 % of studies (and sampling error, three sigmas) show any better or worse."""
    wrong, uncorrected, n = 0, 0, examples(400)
    for seed in range(n):
        plan, estimates = study_of(np.random.default_rng(seed), (1.0, 1.0, 1.0), 6, 0.10, drift=0.05)
        found, _ = compare(plan, estimates, METRICS, {})
        wrong += any(one.verdict in (BETTER, WORSE) for one in found)
        uncorrected += any(one.p_paired is not None and one.p_paired < 0.05 for one in found)
    assert wrong <= 0.05 * n + 3 * (n * 0.05 * 0.95) ** 0.5
    # The control: without the correction most of them would have been misled at one time or another.
    assert uncorrected > n / 4


def test_a_planted_winner_is_found() -> None:
    found = 0
    for seed in range(60):
        plan, estimates = study_of(np.random.default_rng(seed), (1.0, 1.25, 1.0), 8, 0.03)
        comparisons, winners = compare(plan, estimates, METRICS, {})
        best = {winner.cell: winner.winners for winner in winners}
        fast = best[FMA] == best[LU] == (1,)
        slow = all(1 not in best[cell] for cell in (CHASE, TASK))
        found += fast and slow
        by = {(one.cell, one.a, one.b): one for one in comparisons}
        bounds = by[FMA, 0, 1].bounds
        assert bounds is not None
        assert by[FMA, 0, 1].verdict is WORSE
        assert by[CHASE, 0, 1].verdict is BETTER
    assert found == 60


def test_pairing_by_round_sees_through_a_drift_that_hides_the_difference_from_welch() -> None:
    paired = unpaired = 0
    for seed in range(40):
        plan, estimates = study_of(np.random.default_rng(seed), (1.0, 1.06), 10, 0.01, (FMA,), drift=0.15)
        found, _ = compare(plan, estimates, METRICS, {})
        paired += found[0].verdict is WORSE
        unpaired += (found[0].p_welch or 0.0) < 0.05
    assert paired == 40
    assert unpaired <= 4


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 9), st.permutations(range(3)), st.sampled_from([FMA, CHASE, LOSS]))
def test_the_order_of_candidates_does_not_matter(seed: int, n: int, order: list[int], cell: str) -> None:
    rng = np.random.default_rng(seed)
    values = [rng.lognormal(0.0, 0.05, n) * factor for factor in (1.0, 1.1, 1.2)]
    plan = plan_of(rounds=n, cells=(cell,))
    found, winners = compare(plan, [estimate_of(at, values[at], cell) for at in range(3)], METRICS, {})
    turned, turned_winners = compare(plan, [estimate_of(at, values[order[at]], cell) for at in range(3)], METRICS, {})
    by = {(order[one.a], order[one.b]): one for one in turned}
    opposite = {BETTER: WORSE, WORSE: BETTER, SAME: SAME, CANNOT_TELL: CANNOT_TELL}
    for one in found:
        swapped = (one.b, one.a) in by
        other = by[(one.b, one.a) if swapped else (one.a, one.b)]
        assert one.verdict is not None
        assert other.verdict is (opposite[one.verdict] if swapped else one.verdict)
        assert other.p_paired == pytest.approx(one.p_paired)
        assert other.p_adjusted == pytest.approx(one.p_adjusted)
        assert one.effect is not None
        assert other.effect is not None
        assert one.cliffs_delta == pytest.approx((other.cliffs_delta or 0.0) * (-1 if swapped else 1))
        back = (-other.effect if one.by_difference else 1 / other.effect) if swapped else other.effect
        assert one.effect == pytest.approx(back)
    assert {order[at] for at in turned_winners[0].winners} == set(winners[0].winners)


# --- the family


def test_exploratory_cells_change_no_verdict_of_the_deciding_ones() -> None:
    rng = np.random.default_rng(3)
    plan, estimates = study_of(rng, (1.0, 1.03, 1.06), 8, 0.03)
    plan = replace(plan, decide=(Decide("", FMA),))
    all_found, _ = compare(plan, estimates, METRICS, {})
    alone, _ = compare(plan, [one for one in estimates if one.cell == FMA], METRICS, {})
    assert [one for one in all_found if one.cell == FMA] == list(alone)


def test_leaving_deciding_cells_out_would_change_what_is_told() -> None:
    """Why `compare` must be given everything, and filters are for display."""
    plan, estimates = study_of(np.random.default_rng(3), (1.0, 1.03, 1.06), 8, 0.03)
    whole, _ = compare(plan, estimates, METRICS, {})
    part, _ = compare(plan, [one for one in estimates if one.cell == FMA], METRICS, {})
    assert all((one.p_adjusted or 0.0) < (two.p_adjusted or 0.0) for one, two in zip(part, whole[:3], strict=True))


def test_a_metric_stands_for_all_its_cells_and_params_may_come_in_any_order() -> None:
    plan, estimates = study_of(np.random.default_rng(1), (1.0, 1.1), 6, 0.01, (FMA, FMA_ALL, CHASE))
    by_name = compare(replace(plan, decide=(Decide("", "fma_flop_per_s"),)), estimates, METRICS, {})[0]
    assert [one.decides for one in by_name] == [True, True, False]
    metric, _, params = FMA.partition(" ")
    turned = f"{metric} {';'.join(reversed(params.split(';')))}"
    by_cell = compare(replace(plan, decide=(Decide("", turned),)), estimates, METRICS, {})[0]
    assert [one.decides for one in by_cell] == [True, False, False]


def test_what_cannot_be_tested_stays_in_the_family_with_p_of_one() -> None:
    plan = plan_of(rounds=6)
    a, b = estimate_of(0, STEADY), estimate_of(1, scaled(1.2))
    dead = replace(estimate_of(2, ()), n_started=12, n_ok=0, reason="12 of 12 trials failed")
    found, _ = compare(plan, [a, b, dead], METRICS, {})
    p = found[0].p_paired
    assert p is not None
    assert found[0].p_adjusted == pytest.approx(3 * p / FIRST_LOOK)
    assert [(one.p_adjusted, one.verdict) for one in found[1:]] == [(None, CANNOT_TELL)] * 2
    assert "c2: 12 of 12 trials failed" in found[1].reason


def test_what_the_plan_does_not_ask_of_both_is_no_part_of_the_family() -> None:
    plan = plan_of(rounds=6, not_offered={FMA: {2}})
    a, b = estimate_of(0, STEADY), estimate_of(1, scaled(1.2))
    missing = replace(estimate_of(2, ()), n_started=0, n_ok=0, reason="not offered", offered=False)
    found, winners = compare(plan, [a, b, missing], METRICS, {})
    assert found[0].p_adjusted == pytest.approx((found[0].p_paired or 0.0) / FIRST_LOOK)
    assert (found[1].verdict, found[1].reason) == (CANNOT_TELL, "c2: not offered")
    assert winners[0] == Winner(FMA, (1,), None, "")
