"""A study that grew after it was seen: its error rate holds however often somebody looked."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from tests.analysis.planted import estimate_of, plan_of
from tests.compare.peeking import MOST_LOOKS, found_better, looked_at
from tests.slices import examples

from cloudcmp.catalog import METRICS
from cloudcmp.compare import compare, share_of
from cloudcmp.model.result import Verdict
from cloudcmp.stats.looks import share_of_look


def test_all_looks_together_spend_no_more_than_the_error_rate() -> None:
    shares = [share_of_look(look) for look in range(60)]
    assert shares == sorted(shares, reverse=True)
    assert sum(shares) == pytest.approx(1.0)
    assert sum(shares[:MOST_LOOKS]) <= 1.0
    plan = plan_of(candidates=2)
    assert [share_of(plan, look) for look in range(3)] == pytest.approx([0.8, 0.1, 0.05])
    assert share_of(replace(plan, imported=True), 0) == 1.0


def test_equals_that_are_looked_at_ten_times_are_seldom_told_apart() -> None:
    """The control: with each look taken for the first, several times as many are called better."""
    n = examples(500, 30)
    honest = sum(found_better(seed) for seed in range(n))
    naive = sum(found_better(seed, counted=False) for seed in range(n))
    assert honest <= 0.05 * n + 3 * (n * 0.05 * 0.95) ** 0.5
    assert naive > 2 * max(1, honest)


def test_an_earlier_look_keeps_what_it_found() -> None:
    """Six clear rounds decided; six wild ones after them widen the interval, and the verdict stands."""
    rng = np.random.default_rng(2)
    clear, wild = rng.lognormal(0.2, 0.01, 6), rng.lognormal(0.2, 1.5, 6)
    some = [estimate_of(0, np.concatenate([clear, wild])), estimate_of(1, np.ones(12))]
    (grown,) = compare(looked_at(2), some, METRICS, {}).pairs
    assert grown.p_paired is not None
    assert grown.p_paired > 0.05
    assert grown.verdict is Verdict.BETTER
    (unlooked,) = compare(replace(looked_at(2), looks=()), some, METRICS, {}).pairs
    assert unlooked.verdict is Verdict.CANNOT_TELL


def test_an_earlier_look_in_the_other_direction_does_not_count() -> None:
    up, down = [1.2, 1.21, 1.19, 1.2, 1.22, 1.18], [0.2, 0.3, 0.25, 0.2, 0.3, 0.2]
    (pair,) = compare(looked_at(2), [estimate_of(0, up + down), estimate_of(1, np.ones(12))], METRICS, {}).pairs
    assert pair.effect is not None
    assert pair.effect < 1.0
    assert pair.verdict is Verdict.CANNOT_TELL


@given(st.integers(0, 10_000), st.integers(1, 4))
def test_p_values_are_those_of_scipy_over_the_looks(seed: int, looks: int) -> None:
    rng, plan = np.random.default_rng(seed), looked_at(looks)
    a, b = rng.lognormal(rng.normal(0.0, 0.03), 0.03, (2, plan.rounds))
    (pair,) = compare(plan, [estimate_of(0, a), estimate_of(1, b)], METRICS, {}).pairs
    d, found = np.log(a) - np.log(b), []
    for look in range(looks):
        seen = d[: 6 + 6 * look]
        if np.sign(seen.mean()) == np.sign(d.mean()):
            found.append(float(stats.ttest_1samp(seen, 0.0).pvalue) / share_of_look(look))
    assert pair.p_adjusted == pytest.approx(min(1.0, *found, 1.0), rel=1e-9)
