"""The verdict on one pair: which rule holds first, and what is said beside it."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.analysis.planted import CHASE, FMA, LOSS, estimate_of, plan_of
from tests.compare.by_performance import compare

from cloudcmp.catalog import METRICS
from cloudcmp.compare import REPLICATION_UNKNOWN
from cloudcmp.model.cell import Cell
from cloudcmp.model.plan import Plan
from cloudcmp.model.result import Comparison, Verdict
from cloudcmp.model.study import Decide

BETTER, WORSE, SAME, CANNOT_TELL = Verdict.BETTER, Verdict.WORSE, Verdict.SAME, Verdict.CANNOT_TELL


def planned(values: Sequence[Sequence[float]], cell: str = FMA, **study: object) -> Plan:
    rounds = max(len(some) for some in values)
    return plan_of(candidates=len(values), rounds=rounds, cells=(cell,), **study)  # type: ignore[arg-type]


def pair(a: Sequence[float], b: Sequence[float], cell: str = FMA, **study: object) -> Comparison:
    """The comparison of two candidates in one deciding cell."""
    found, _ = compare(planned((a, b), cell, **study), [estimate_of(0, a, cell), estimate_of(1, b, cell)], METRICS, {})
    return found[0]


def test_what_did_not_happen_is_no_failure() -> None:
    for cell, words in (
        (FMA, "6 of 12 trials failed"),
        ("bucket_bytes path=zone;streams=1", "6 of 12 trials gave no value"),
    ):
        estimates = [estimate_of(at, (1.0,) * 6, cell, n_ok=6) for at in range(2)]
        found, _ = compare(planned(((1.0,) * 6,) * 2, cell), estimates, METRICS, {})
        assert found[0].verdict is CANNOT_TELL
        assert words in found[0].reason


# --- the order of the verdicts

STEADY = (10.0, 10.1, 9.9, 10.05, 9.95, 10.0)


def scaled(factor: float, values: Sequence[float] = STEADY) -> tuple[float, ...]:
    """About `factor` times the values, with a spread of its own."""
    return tuple(value * factor * (1.0 + 0.001 * (-1) ** at) for at, value in enumerate(values))


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_fewer_than_six_launches_cannot_tell_however_large_the_difference(n: int) -> None:
    one = pair(STEADY[:n], scaled(3.0)[:n])
    assert (one.verdict, one.n) == (CANNOT_TELL, n)
    assert f"{n} of at least 6 launches" in one.reason
    assert one.effect is not None
    assert (one.p_paired is None) == (n == 1)


@pytest.mark.parametrize("n", [6, 7])
def test_six_launches_are_enough(n: int) -> None:
    one = pair((*STEADY, 10.0)[:n], scaled(3.0, (*STEADY, 10.0))[:n])
    assert (one.verdict, one.reason) == (WORSE, "")


def test_rounds_with_both_are_what_counts() -> None:
    plan = plan_of(candidates=2, rounds=10)
    a, b = (replace(estimate_of(at, STEADY), rounds=tuple(range(3 * at, 6 + 3 * at))) for at in (0, 1))
    found, _ = compare(replace(plan, imported=True), [a, b], METRICS, {})
    assert (found[0].verdict, found[0].reason) == (CANNOT_TELL, "3 of at least 6 rounds with both")


def test_more_than_a_tenth_failed_comes_before_everything_else() -> None:
    plan = plan_of(candidates=2, rounds=6)
    fine = estimate_of(0, STEADY)
    for n_ok, verdict in ((108, WORSE), (107, CANNOT_TELL)):
        other = replace(estimate_of(1, scaled(3.0)), n_started=120, n_ok=n_ok)
        found, _ = compare(plan, [fine, other], METRICS, {})
        assert found[0].verdict is verdict
    assert found[0].reason == "c1: 13 of 120 trials failed"


def test_launches_that_never_came_count_as_failed() -> None:
    """A capacity that ran out started no trial, so that the counts of trials look perfect."""
    plan = plan_of(candidates=2, rounds=8)
    values = (*STEADY, 10.0, 10.0)
    late = replace(estimate_of(1, scaled(3.0, values)[:7]), rounds=(0, 1, 2, 3, 4, 5, 7))
    found, winners = compare(plan, [estimate_of(0, values), late], METRICS, {})
    assert (found[0].verdict, found[0].reason) == (CANNOT_TELL, "c1: 1 of 8 launches gave no value")
    assert winners[0].winners == ()
    not_yet = replace(late, rounds=tuple(range(7)))
    found, _ = compare(plan, [estimate_of(0, values), not_yet], METRICS, {})
    assert found[0].verdict is WORSE


def test_a_clear_difference_within_three_percent_is_practically_the_same() -> None:
    one = pair(STEADY, scaled(1.01))
    assert one.p_adjusted is not None
    assert one.p_adjusted < 0.001
    assert one.verdict is SAME


def test_the_90_percent_interval_must_lie_inside_not_just_touch() -> None:
    inside, outside = pair(STEADY, scaled(1.0288)), pair(STEADY, scaled(1.0295))
    for one, verdict in ((inside, SAME), (outside, WORSE)):
        assert one.bounds_90 is not None
        assert (one.bounds_90.low > 1 / 1.03 and one.bounds_90.high < 1.03) == (verdict is SAME)
        assert one.verdict is verdict


def test_a_wide_interval_cannot_tell() -> None:
    one = pair((1.0, 2.0, 3.0, 1.0, 2.0, 3.0), (2.0, 1.0, 3.0, 2.0, 3.0, 1.0))
    assert (one.verdict, one.reason) == (CANNOT_TELL, "interval too wide")


def test_direction_follows_the_metric() -> None:
    assert pair(STEADY, scaled(2.0), FMA).verdict is WORSE
    assert pair(STEADY, scaled(2.0), CHASE).verdict is BETTER
    assert pair(scaled(2.0), STEADY, FMA).verdict is BETTER


def test_all_equal_values() -> None:
    same = pair((5.0,) * 6, (5.0,) * 6)
    assert (same.verdict, same.effect, same.p_paired, same.detectable) == (SAME, 1.0, 1.0, None)
    apart = pair((5.0,) * 6, (6.0,) * 6)
    assert (apart.verdict, apart.p_paired) == (WORSE, 0.0)
    for one in (same, apart):
        assert "no spread at all: coarse or copied values" in one.marks


# --- signed metrics


def test_a_metric_that_can_be_zero_is_compared_by_differences() -> None:
    a, b = (0.0, 0.01, 0.0, 0.02, 0.01, 0.0), (0.05, 0.06, 0.05, 0.08, 0.06, 0.05)
    one = pair(a, b, LOSS)
    assert one.by_difference
    assert one.effect == pytest.approx(np.mean(a) - np.mean(b))
    assert one.p_paired == pytest.approx(float(scipy.stats.ttest_rel(a, b).pvalue))
    assert one.p_welch == pytest.approx(float(scipy.stats.ttest_ind(a, b, equal_var=False).pvalue))
    assert one.verdict is BETTER


def test_differences_are_the_same_only_within_a_margin_that_the_study_gives() -> None:
    a, b = (0.010, 0.011, 0.009, 0.010, 0.011, 0.009), (0.009, 0.010, 0.011, 0.010, 0.009, 0.011)
    assert pair(a, b, LOSS).verdict is CANNOT_TELL
    assert pair(a, b, LOSS, decide=(Decide("", LOSS, 0.01),)).verdict is SAME
    assert pair(a, b, LOSS, decide=(Decide("", "udp_loss_ratio", 0.01),)).verdict is SAME
    assert pair(a, b, LOSS, decide=(Decide("", LOSS, 0.0001),)).verdict is CANNOT_TELL


def test_no_loss_at_all_on_either_side_is_no_difference_yet_not_called_the_same_without_a_margin() -> None:
    one = pair((0.0,) * 6, (0.0,) * 6, LOSS)
    assert (one.effect, one.p_paired, one.verdict) == (0.0, 1.0, CANNOT_TELL)
    assert pair((0.0,) * 6, (0.0,) * 6, LOSS, decide=(Decide("", LOSS, 0.001),)).verdict is SAME


def test_a_zero_in_a_ratio_is_no_number() -> None:
    one = pair((0.0, *STEADY[1:]), STEADY)
    assert (one.effect, one.p_paired, one.p_adjusted, one.verdict) == (None, None, None, CANNOT_TELL)


# --- imported tables


def test_without_rounds_welch_decides_and_says_so() -> None:
    rng = np.random.default_rng(4)
    a, b = rng.lognormal(0.0, 0.05, 9), rng.lognormal(0.2, 0.08, 12)
    plan = plan_of(candidates=2, rounds=12, imported=True)
    some = [replace(estimate_of(at, x), rounds=(None,) * len(x)) for at, x in enumerate((a, b))]
    (one,), _ = compare(plan, some, METRICS, {})
    test = scipy.stats.ttest_ind(np.log(a), np.log(b), equal_var=False)
    assert one.p_paired is None
    assert one.p_welch == one.p_adjusted == pytest.approx(float(test.pvalue))
    expected = test.confidence_interval(0.95)
    assert one.bounds is not None
    assert (one.bounds.low, one.bounds.high) == pytest.approx((np.exp(expected.low), np.exp(expected.high)))
    assert one.hodges_lehmann == pytest.approx(np.exp(np.median(np.subtract.outer(np.log(a), np.log(b)))))
    assert (one.n, one.verdict) == (9, WORSE)
    assert one.marks == ("no rounds: Welch's t decides",)
    assert one.detectable is not None
    assert one.detectable > 1.0


def test_unknown_replication_is_marked() -> None:
    plan = plan_of(candidates=2, rounds=6, imported=True)
    some = [estimate_of(0, STEADY), estimate_of(1, STEADY)]
    found, _ = compare(plan, some, METRICS, {}, replication_known=False)
    assert REPLICATION_UNKNOWN in found[0].marks
    for kept in (found, found.only([found[0].cell]), found.worded(str)):
        assert not kept.replication_known
    assert compare(plan, some, METRICS, {})[0].replication_known


def test_several_launches_of_a_round_are_averaged_before_they_are_paired() -> None:
    plan = plan_of(candidates=2, rounds=6, imported=True)
    twice = [value for x in STEADY for value in (x * 0.9, x / 0.9)]
    double = replace(estimate_of(0, twice), rounds=tuple(at // 2 for at in range(12)))
    (one,), _ = compare(plan, [double, estimate_of(1, STEADY)], METRICS, {})
    assert (one.n, one.verdict) == (6, SAME)
    assert one.effect == pytest.approx(1.0)


# --- properties


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.floats(1e-12, 1e12), max_size=8),
    st.lists(st.floats(1e-12, 1e12), max_size=8),
    st.sampled_from([FMA, CHASE, LOSS]),
)
def test_nothing_unknown_is_ever_a_number(a: list[float], b: list[float], cell: str) -> None:
    one = pair(a, b, cell) if a or b else None
    if one is None:
        return
    numbers = [one.effect, one.p_paired, one.p_adjusted, one.p_welch]
    numbers += [one.hodges_lehmann, one.cliffs_delta, one.detectable]
    numbers += [end for bounds in (one.bounds, one.bounds_90) if bounds for end in (bounds.low, bounds.high)]
    assert all(value is None or np.isfinite(value) for value in numbers)
    assert (one.effect is None) == (min(len(a), len(b)) == 0)
    assert one.verdict is not None
    if one.bounds is not None and one.bounds_90 is not None and one.effect is not None:
        slack = 1e-9 * abs(one.effect) + 1e-300
        assert one.bounds.low - slack <= one.bounds_90.low <= one.effect + slack
        assert one.effect - slack <= one.bounds_90.high <= one.bounds.high + slack
    if min(len(a), len(b)) < 6:
        assert one.verdict is CANNOT_TELL
    assert str(Cell.parse(one.cell)) == cell
