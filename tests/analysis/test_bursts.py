"""Trials that begin fast: planted credits are found with both levels, and neither noise nor one disturbed trial is."""

import numpy as np
from tests.analysis.planted import FMA, LOSS, plan_of

from cloudcmp.analysis import bursts
from cloudcmp.catalog import METRICS
from cloudcmp.model.values import Series


def trial(at: int, levels: list[tuple[int, float]], cell: str = FMA, noise: float = 0.01) -> Series:
    """A trial on launch `at` with a sample a second, as many of each level as given."""
    values = np.concatenate([np.full(count, level) for count, level in levels])
    values = values * (1.0 + noise * np.random.default_rng(at).standard_normal(values.size))
    return Series(at, at, cell, tuple(float(second) for second in range(values.size)), tuple(values.tolist()))


def test_credits_that_end_in_each_trial_are_found_with_both_levels() -> None:
    plan = plan_of(candidates=1, rounds=6, runs=1)
    (line,) = bursts(plan, [trial(at, [(30, 2e10), (60, 1e10)]) for at in range(6)], METRICS, {})
    assert line.startswith(f"c0: {FMA}: 20.0 Gflop/s for the first 30 s, then 10.0 Gflop/s, in 6 of 6 trials")


def test_a_time_that_grows_is_found_too() -> None:
    cell = "task_time_s task=fft;threads=1"
    (line,) = bursts(plan_of(candidates=1), [trial(at, [(30, 1.0), (30, 2.0)], cell) for at in range(4)], METRICS, {})
    assert "999 ms for the first 30 s, then 2.00 s, in 4 of 4 trials" in line


def test_one_disturbed_trial_a_dip_a_rise_and_noise_are_no_burst() -> None:
    plan = plan_of(candidates=1, rounds=6, runs=1)
    calm = [trial(at, [(90, 1e10)]) for at in range(1, 6)]
    assert bursts(plan, [trial(0, [(30, 2e10), (60, 1e10)]), *calm], METRICS, {}) == ()
    assert bursts(plan, [trial(at, [(30, 1e10), (30, 5e9), (30, 1e10)]) for at in range(6)], METRICS, {}) == ()
    assert bursts(plan, [trial(at, [(30, 5e9), (60, 1e10)]) for at in range(6)], METRICS, {}) == ()
    assert bursts(plan, [trial(0, [(30, 2e10), (60, 1e10)])], METRICS, {}) == ()
    for seed in range(20):
        noisy = [trial(at, [(60, 1e10)], noise=0.05 + 0.001 * seed) for at in range(6)]
        assert bursts(plan, noisy, METRICS, {}) == ()


def test_what_can_be_zero_is_not_looked_at() -> None:
    assert (
        bursts(plan_of(candidates=1), [trial(at, [(30, 0.2), (30, 0.1)], LOSS) for at in range(4)], METRICS, {}) == ()
    )
