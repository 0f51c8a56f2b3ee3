"""Who is steadier: the verdicts, their family, and who gets none."""

import numpy as np
import pytest
import scipy
from tests.analysis.planted import FMA, LU, estimate_of, plan_of
from tests.azure_vm_noise import fresh, needs_data
from tests.slices import examples

from cloudcmp.catalog import METRICS
from cloudcmp.compare import steady_pairs
from cloudcmp.model.result import Estimate
from cloudcmp.model.steadiness import Steady
from cloudcmp.stats.adjust import holm


def launches(seed: int, n: int, spread: float) -> np.ndarray:
    return 100.0 * np.exp(np.random.default_rng(seed).normal(0, spread, n))


def both(a: np.ndarray, b: np.ndarray, cell: str = FMA) -> list[Estimate]:
    return [estimate_of(0, a, cell), estimate_of(1, b, cell)]


def test_a_much_smaller_spread_is_steadier_whoever_is_faster() -> None:
    plan = plan_of(candidates=2, rounds=30)
    (one,) = steady_pairs(plan, both(launches(1, 30, 0.01), 10.0 * launches(2, 30, 0.05)), METRICS)
    assert one.verdict is Steady.STEADIER
    assert one.ratio == pytest.approx(0.2, rel=0.5)
    (turned,) = steady_pairs(plan, both(launches(2, 30, 0.05), launches(1, 30, 0.01)), METRICS)
    assert turned.verdict is Steady.LESS_STEADY


def test_equal_spreads_are_as_steady_once_that_is_sure() -> None:
    plan = plan_of(candidates=2, rounds=200)
    (one,) = steady_pairs(plan, both(launches(1, 200, 0.03), launches(2, 200, 0.03)), METRICS)
    assert one.verdict is Steady.AS_STEADY
    (few,) = steady_pairs(plan, both(launches(1, 8, 0.03), launches(2, 8, 0.03)), METRICS)
    assert few.verdict is Steady.CANNOT_TELL
    assert few.reason == "the interval is too wide"


def test_p_values_are_brown_and_forsythes_corrected_for_all_pairs() -> None:
    plan = plan_of(candidates=2, rounds=20, cells=(FMA, LU))
    a, b, c = (launches(seed, 20, spread) for seed, spread in ((1, 0.02), (2, 0.05), (3, 0.025)))
    found = steady_pairs(plan, [*both(a, b), *both(a, c, LU)], METRICS)
    raw = [scipy.stats.levene(np.log(a), np.log(other), center="median").pvalue for other in (b, c)]
    assert [one.p for one in found] == pytest.approx(raw)
    assert [one.p_adjusted for one in found] == pytest.approx(list(holm(raw)))


def test_who_is_barred_or_never_varies_gets_no_verdict() -> None:
    plan = plan_of(candidates=2)
    (few,) = steady_pairs(plan, both(launches(1, 5, 0.02), launches(2, 6, 0.02)), METRICS)
    assert few.verdict is Steady.CANNOT_TELL
    assert few.reason == "c0: 5 of at least 6 launches"
    (constant,) = steady_pairs(plan, both(launches(1, 6, 0.02), np.full(6, 7.0)), METRICS)
    assert constant.ratio is None
    assert constant.reason == "all launches of one have the same value"


def test_many_candidates_are_compared_with_the_steadiest() -> None:
    plan = plan_of(candidates=7, rounds=20)
    estimates = [estimate_of(at, launches(at, 20, 0.01 if at == 3 else 0.05), FMA) for at in range(7)]
    found = steady_pairs(plan, estimates, METRICS)
    assert [(one.a, one.b) for one in found] == [(at, 3) for at in (0, 1, 2, 4, 5, 6)]
    assert {one.verdict for one in found} == {Steady.LESS_STEADY}


def test_equal_candidates_are_told_apart_in_at_most_five_of_a_hundred_studies() -> None:
    plan, studies = plan_of(candidates=2, rounds=12), examples(1000, 5)
    told = 0
    for seed in range(studies):
        random = np.random.default_rng(seed)
        a, b = (100.0 + random.standard_t(5, 12) for _ in range(2))
        (one,) = steady_pairs(plan, both(a, b), METRICS)
        told += one.verdict in {Steady.STEADIER, Steady.LESS_STEADY}
    assert told <= 0.05 * studies + 3 * np.sqrt(0.05 * 0.95 * studies)


@needs_data
def test_the_machines_without_credits_are_steadier_in_a_real_cloud() -> None:
    rows = fresh()
    rows = rows[rows.metric == "pgbench_read"]
    a, b = (rows[rows.offering == sku].groupby("instance").value.median().to_numpy() for sku in ("D8s_v5", "B8ms"))
    plan = plan_of(candidates=2, rounds=len(a))
    (one,) = steady_pairs(plan, both(a, b), METRICS)
    assert one.verdict is Steady.STEADIER
    assert one.ratio == pytest.approx(np.log(a).std(ddof=1) / np.log(b).std(ddof=1))
