"""Steadiness: planted spreads, pandas on real machines, and what goes with two levels."""

import numpy as np
import pytest
from tests.analysis.planted import FMA, LOSS, estimate_of, plan_of, values_of
from tests.azure_vm_noise import fresh, needs_data
from tests.late import Late

from cloudcmp.analysis import estimate, steadiness
from cloudcmp.analysis.levels import LaunchFacts
from cloudcmp.catalog import METRICS
from cloudcmp.model.history import Facts
from cloudcmp.model.plan import Launch
from cloudcmp.stats.many import cliffs_delta
from cloudcmp.stats.tests import welch_t

scipy_stats = Late("scipy.stats")


def test_spreads_between_and_within_launches_are_those_planted() -> None:
    plan = plan_of(candidates=1, rounds=200, runs=3)
    random = np.random.default_rng(1)
    level, noise = random.normal(0, 0.05, 200), random.normal(0, 0.02, 600)

    def value(cell: str, launch: Launch, run: int) -> float:
        return float(100.0 * np.exp(level[launch.round] + noise[3 * launch.round + run]))

    values, histograms = values_of(plan, value)
    (one,) = steadiness(plan, estimate(plan, values, histograms, METRICS), METRICS, values)
    assert one.between == pytest.approx(0.05, abs=0.007)
    assert one.within == pytest.approx(0.02, abs=0.002)
    assert one.between_bounds is not None
    assert one.within_bounds is not None
    assert one.between_bounds.low < one.between < one.between_bounds.high
    assert one.within_bounds.low < one.within < one.within_bounds.high
    assert [(each.share, each.measured) for each in one.needed] == [(0.01, True), (0.02, True), (0.05, True)]
    assert one.needed[0].launches > one.needed[1].launches > one.needed[2].launches
    assert one.levels is None


def test_a_metric_that_can_be_zero_has_standard_deviations() -> None:
    plan = plan_of(candidates=1, cells=(LOSS,), runs=1)
    values = np.array([0.0, 0.1, 0.2, 0.0, 0.1, 0.2])
    (one,) = steadiness(plan, [estimate_of(0, values, LOSS)], METRICS, None)
    assert one.by_difference
    assert one.between == pytest.approx(values.std(ddof=1))
    assert one.needed == ()


def test_few_launches_have_the_rule_of_thumb_and_one_launch_has_nothing() -> None:
    plan = plan_of(candidates=1)
    (one,) = steadiness(plan, [estimate_of(0, np.array([90.0, 95.0, 100.0, 105.0, 110.0, 115.0]), FMA)], METRICS, None)
    assert [each.measured for each in one.needed] == [False, False, False]
    assert steadiness(plan, [estimate_of(0, np.array([90.0]), FMA)], METRICS, None) == ()


def facts(cpus: list[str]) -> tuple[Facts, ...]:
    return tuple((("cpu", cpu), ("kernel", "6.1")) for cpu in cpus)


def test_two_levels_are_named_with_the_processor_that_goes_with_them() -> None:
    plan = plan_of(candidates=1, rounds=12, runs=1)
    high = np.arange(12) % 3 == 0
    values = np.where(high, 130.0, 100.0) + np.random.default_rng(2).normal(0, 1.0, 12)
    cpus = ["8370C" if one else "8171M" for one in high]
    (one,) = steadiness(plan, [estimate_of(0, values, FMA)], METRICS, None, LaunchFacts(plan, facts(cpus)))
    assert one.levels is not None
    assert one.levels.share_high == pytest.approx(1 / 3)
    (fact,) = one.levels.facts
    assert (fact.fact, fact.low, fact.high, fact.share) == ("cpu", ("8171M",), ("8370C",), 1.0)
    (other,) = steadiness(plan, [estimate_of(0, values, FMA)], METRICS, None, LaunchFacts(plan, facts(["a", "b"] * 6)))
    assert other.levels is not None
    assert other.levels.facts == ()


def test_two_levels_are_named_with_the_hour_that_goes_with_them() -> None:
    plan = plan_of(candidates=1, rounds=16, runs=1)
    begun = {at: at * 6 * 3600.0 + 60.0 for at in range(16)}
    values = np.where(np.arange(16) % 4 == 2, 130.0, 100.0) + np.random.default_rng(3).normal(0, 1.0, 16)
    (one,) = steadiness(plan, [estimate_of(0, values, FMA)], METRICS, None, LaunchFacts(plan, (), begun.get))
    assert one.levels is not None
    assert [(fact.fact, fact.high) for fact in one.levels.facts] == [("hour (UTC)", ("12 to 18 h",))]


@needs_data
def test_figures_of_real_machines_are_those_of_pandas_and_scipy() -> None:
    rows = fresh()
    plan = plan_of(candidates=1)
    sides = {}
    for (sku, metric), group in rows.groupby(["offering", "metric"]):
        launches = group.groupby("instance").value.median()
        (one,) = steadiness(plan, [estimate_of(0, launches.to_numpy(), FMA)], METRICS, None)
        assert one.between == pytest.approx(launches.std() / launches.mean(), rel=1e-12)
        sides[sku, metric] = launches.to_numpy()
    for metric in rows.metric.unique():
        a, b = sides["D8s_v5", metric], sides["B8ms", metric]
        found, witness = welch_t(a, b), scipy_stats.ttest_ind(a, b, equal_var=False)
        assert found is not None
        assert found.statistic == pytest.approx(witness.statistic, rel=1e-9)
        assert found.df == pytest.approx(witness.df, rel=1e-9)
        assert found.p_value == pytest.approx(witness.pvalue, rel=1e-6, abs=1e-300)
        u = scipy_stats.mannwhitneyu(a, b).statistic
        assert cliffs_delta(a, b) == pytest.approx(2 * u / (a.size * b.size) - 1, abs=1e-12)
