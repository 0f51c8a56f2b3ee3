"""Verdicts of a study with a rule hold at whatever round it stops, and its figures are those of that evidence."""

import math
from dataclasses import replace

import numpy as np
import pytest
from tests.analysis.planted import estimate_of, plan_of

from cloudcmp.catalog import METRICS
from cloudcmp.compare import compare
from cloudcmp.model.plan import Plan
from cloudcmp.model.result import Verdict
from cloudcmp.model.selection import Stop, StopRule
from cloudcmp.stats.evidence import valid_p, valid_t

TOLD_APART = (Verdict.BETTER, Verdict.WORSE)


def planned(candidates: int, rounds: int) -> Plan:
    plan = plan_of(candidates=candidates, rounds=rounds, runs=1)
    return replace(plan, stop=Stop(StopRule.CERTIFY, 0.02), checks=tuple(range(6, rounds + 1)))


def drawn(seed: int, means: tuple[float, ...], rounds: int, cov: float = 0.05) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.array([mean * rng.lognormal(0.0, cov, rounds) for mean in means])


def test_equals_are_told_apart_in_a_twentieth_of_studies_at_most_whenever_they_stop() -> None:
    """The study of three equals stops at the first round at which any verdict tells two apart: the worst of rules."""
    wrong = 0
    for seed in range(60):
        values = drawn(seed, (1.0, 1.0, 1.0), 40)
        for rounds in range(6, 41, 5):
            some = [estimate_of(at, values[at, :rounds]) for at in range(3)]
            if any(pair.verdict in TOLD_APART for pair in compare(planned(3, rounds), some, METRICS, {}).pairs):
                wrong += 1
                break
    assert wrong <= 60 / 20


def test_a_pair_has_the_p_value_and_the_interval_of_every_look() -> None:
    values = drawn(3, (1.0, 1.1), 14)
    some = [estimate_of(at, values[at]) for at in range(2)]
    (pair,) = compare(planned(2, 14), some, METRICS, {}).pairs
    rows = np.log(values[0]) - np.log(values[1])
    above, below = valid_p(rows[None, :])
    assert pair.p_paired == pytest.approx(2.0 * min(float(above[0]), float(below[0])))
    assert pair.p_welch is None
    error = rows.std(ddof=1) / math.sqrt(14)
    half = float(valid_t(np.array(14.0), 0.95)) * error
    assert pair.bounds is not None
    assert (pair.bounds.low, pair.bounds.high) == pytest.approx(
        (math.exp(rows.mean() - half), math.exp(rows.mean() + half))
    )
    (fixed,) = compare(replace(planned(2, 14), stop=None, checks=()), some, METRICS, {}).pairs
    assert fixed.bounds is not None
    assert fixed.bounds.high - fixed.bounds.low < pair.bounds.high - pair.bounds.low
    assert (fixed.detectable or 0.0) < (pair.detectable or 0.0)


def test_clear_differences_and_clear_sameness_get_their_verdicts() -> None:
    values = drawn(4, (1.0, 1.4, 1.4), 40, cov=0.01)
    some = [estimate_of(at, values[at]) for at in range(3)]
    found = compare(planned(3, 40), some, METRICS, {})
    verdicts = {(pair.a, pair.b): pair.verdict for pair in found.pairs}
    assert verdicts[1, 2] is Verdict.SAME
    assert {verdicts[0, 1], verdicts[0, 2]} <= set(TOLD_APART)


def test_a_candidate_that_was_dropped_is_compared_over_the_rounds_that_have_both() -> None:
    values = drawn(5, (1.0, 1.5, 1.1), 30, cov=0.02)
    some = [estimate_of(0, values[0]), estimate_of(1, values[1, :6]), estimate_of(2, values[2])]
    found = compare(planned(3, 30), some, METRICS, {}).pairs
    assert {(pair.a, pair.b): pair.n for pair in found} == {(0, 1): 6, (0, 2): 30, (1, 2): 6}
    assert all(pair.verdict in TOLD_APART for pair in found)


def test_many_candidates_are_asked_for_the_best_at_every_look() -> None:
    values = drawn(6, (1.0, *(1.5 for _ in range(6))), 12, cov=0.01)
    some = [estimate_of(at, values[at]) for at in range(7)]
    found = compare(planned(7, 12), some, METRICS, {})
    (winner,) = found.winners
    assert winner.winners
    assert all(pair.verdict is not None for pair in found.pairs)
