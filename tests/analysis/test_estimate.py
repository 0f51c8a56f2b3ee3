import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.analysis.planted import CHASE, FMA, LOSS, RTT50, RTT95, TASK, Value, plan_of, values_of
from tests.late import Late

from cloudcmp.analysis import estimate
from cloudcmp.catalog import METRICS
from cloudcmp.errors import UserMistake
from cloudcmp.model.cell import Cell
from cloudcmp.model.metric import Reduce
from cloudcmp.model.plan import Launch, Plan
from cloudcmp.model.result import Estimate
from cloudcmp.model.values import TrialValues

pd = Late("pandas")


def of(plan: Plan, value: Value) -> dict[tuple[str, int], Estimate]:
    found = estimate(plan, *values_of(plan, value), METRICS)
    return {(one.cell, one.candidate): one for one in found}


def frame_of(plan: Plan, values: TrialValues) -> Any:
    """The trial values as a straightforward table."""
    launches = pd.DataFrame(
        [(at.index, at.candidate, at.round) for at in plan.launches], columns=["launch", "candidate", "round"]
    )
    rows = pd.DataFrame({"launch": values.launch, "cell": values.cell, "ok": values.ok, "value": values.value})
    return rows.merge(launches, on="launch").assign(cell=lambda table: [values.cells[at] for at in table.cell])


@pytest.mark.parametrize("seed", range(4))
def test_agrees_with_pandas_and_scipy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    plan = plan_of(candidates=4, rounds=9, runs=3, cells=(FMA, CHASE, TASK, LOSS))
    level = {cell: 10.0 ** rng.integers(-9, 10) for cell in (FMA, CHASE, TASK, LOSS)}
    values, _ = values_of(
        plan, lambda cell, launch, run: None if rng.random() < 0.1 else level[cell] * rng.lognormal(0.0, 0.1)
    )
    # The rows may come in any order.
    mixed = rng.permutation(values.launch.size)
    shuffled = TrialValues(values.cells, *(getattr(values, name)[mixed] for name in ("launch", "cell", "ok", "value")))
    found = estimate(plan, shuffled, (), METRICS)
    table = frame_of(plan, values)
    for one in found:
        mine = table[(table.candidate == one.candidate) & (table.cell == one.cell)]
        assert (one.n_started, one.n_ok) == (len(mine), int(mine.ok.sum()))
        by_round = mine[mine.ok].groupby("round").value.median()
        assert one.rounds == tuple(by_round.index)
        x = by_round.to_numpy()
        assert one.n == len(x)
        assert np.allclose(one.values, x, rtol=1e-14)
        assert one.median is not None
        assert one.mean_bounds is not None
        assert np.isclose(one.median, np.median(x), rtol=1e-14)
        assert np.isclose(one.value or 0.0, np.median(x), rtol=1e-14)
        expected = scipy.stats.quantile_test(x, q=np.median(x), p=0.5).confidence_interval(0.95)
        assert (one.median_bounds is None) == bool(np.isnan(expected.low))
        if one.median_bounds is not None:
            assert np.allclose((one.median_bounds.low, one.median_bounds.high), (expected.low, expected.high))
        low, high = scipy.stats.t.interval(0.95, len(x) - 1, x.mean(), scipy.stats.sem(x))
        assert np.allclose((one.mean_bounds.low, one.mean_bounds.high), (low, high))
        assert np.allclose((one.p5, one.p95), np.quantile(x, (0.05, 0.95)))
        assert np.isclose(one.cov or 0.0, scipy.stats.variation(x, ddof=1))


def test_the_between_launch_share_is_that_of_a_balanced_anova() -> None:
    rng = np.random.default_rng(5)
    plan = plan_of(candidates=1, rounds=40, runs=4)
    base = {at: rng.normal(0.0, 0.05) for at in range(40)}
    seen: list[tuple[int, float]] = []

    def value(cell: str, launch: Launch, run: int) -> float:
        seen.append((launch.round, 100.0 * (1.0 + base[launch.round] + rng.normal(0.0, 0.05))))
        return seen[-1][1]

    one = of(plan, value)[FMA, 0]
    x = np.array([value for _, value in seen]).reshape(40, 4)
    between, within = 4 * x.mean(axis=1).var(ddof=1), x.var(axis=1, ddof=1).mean()
    expected = (between - within) / 4 / ((between - within) / 4 + within)
    assert one.between_share == pytest.approx(expected)
    assert 0.3 < expected < 0.7


def test_a_percentile_is_read_from_the_launch_histograms_added_together() -> None:
    plan = plan_of(candidates=1, rounds=6, runs=2, cells=(RTT50, RTT95))
    # One run of 100 operations at 1 ms, one of 100 at 3 ms: the launch's median is 1 ms, its 95th percentile 3 ms,
    # while the mean or the median of the runs' percentiles would be 2 ms.
    found = of(plan, lambda cell, launch, run: 1e-3 if run == 0 else 3e-3)
    assert found[RTT50, 0].values == pytest.approx([1e-3] * 6, rel=1e-3)
    assert found[RTT95, 0].values == pytest.approx([3e-3] * 6, rel=1e-3)
    assert found[RTT50, 0].between_share == 0.0


def test_means_where_the_plan_says_mean() -> None:
    plan = plan_of(candidates=1, runs=3, aggregation=("runs:mean", "launch:mean", "session:median"))
    one = of(plan, lambda cell, launch, run: (1.0, 2.0, 9.0)[run] + launch.round)[FMA, 0]
    assert one.values == pytest.approx([4.0 + at for at in range(6)])
    assert one.value == pytest.approx(6.5)


def test_sessions_are_reduced_before_the_candidate() -> None:
    plan = plan_of(candidates=1, sessions=("peak", "off-peak", "weekend"), runs=1)
    level = {"peak": 1.0, "off-peak": 2.0, "weekend": 9.0}
    one = of(plan, lambda cell, launch, run: level[launch.session or ""] + launch.round / 100)[FMA, 0]
    assert (one.n, one.sessions[0], one.sessions[-1]) == (18, "peak", "weekend")
    assert one.value == pytest.approx(2.025)
    mean = of(
        replace(plan, aggregation=("runs:median", "launch:median", "session:mean")),
        lambda cell, launch, run: level[launch.session or ""] + launch.round / 100,
    )[FMA, 0]
    assert mean.value == pytest.approx(4.025)
    assert mean.median == one.median


@pytest.mark.parametrize("wrong", [("runs:mode", "launch:mean", "session:mean"), ("runs:mean",), ()])
def test_an_unknown_order_of_aggregation_is_refused(wrong: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="aggregation"):
        of(plan_of(aggregation=wrong), lambda *_: 1.0)


def test_what_is_not_offered_has_its_own_reason_and_no_figures() -> None:
    plan = plan_of(cells=(FMA, CHASE), not_offered={CHASE: {1}})
    one = of(plan, lambda *_: 1.0)[CHASE, 1]
    assert (one.offered, one.n_started, one.n, one.median, one.mean, one.cov) == (False, 0, 0, None, None, None)
    assert one.reason == "not offered"


def test_failures_leave_no_figures_and_no_zero() -> None:
    plan = plan_of()
    found = of(plan, lambda cell, launch, run: None if launch.candidate == 1 else 5.0)
    one = found[FMA, 1]
    assert (one.n_started, one.n_ok, one.n, one.values) == (12, 0, 0, ())
    assert one.reason == "12 of 12 trials failed"
    figures = (one.median, one.median_bounds, one.mean, one.mean_bounds, one.p5, one.p95, one.cov, one.between_share)
    assert figures == (None,) * 8
    assert found[FMA, 0].median == 5.0


def test_nothing_started_yet_is_said() -> None:
    plan = plan_of()
    values, _ = values_of(plan, lambda *_: 1.0)
    none = TrialValues(values.cells, *(getattr(values, name)[:0] for name in ("launch", "cell", "ok", "value")))
    assert {one.reason for one in estimate(plan, none, (), METRICS)} == {"no trial was started"}


def test_a_plan_without_launches_gives_no_figures() -> None:
    plan = replace(plan_of(), launches=(), trials=())
    empty = TrialValues((), np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0, bool), np.zeros(0))
    assert estimate(plan, empty, (), METRICS) == ()


def test_an_unknown_metric_is_named() -> None:
    plan = plan_of(cells=("beauty_score x=1",))
    values, _ = values_of(plan_of(), lambda *_: 1.0)
    with pytest.raises(UserMistake, match="beauty_score"):
        estimate(plan, values, (), METRICS)


def test_a_value_that_is_not_a_number_is_refused_not_averaged() -> None:
    plan = plan_of()
    with pytest.raises(ValueError, match="finite"):
        of(plan, lambda cell, launch, run: float("nan") if launch.round == 3 else 1.0)


def test_an_imported_table_brings_its_percentiles_along() -> None:
    plan = plan_of(candidates=1, runs=1, cells=(RTT95,), imported=True)
    launch, cell = np.arange(6, dtype=np.int32), np.zeros(6, np.int32)
    values = TrialValues((RTT95,), launch, cell, np.ones(6, bool), np.arange(1.0, 7.0))
    (one,) = estimate(plan, values, (), METRICS)
    assert one.values == tuple(np.arange(1.0, 7.0))


def test_imported_percentiles_of_several_runs_are_warned_of() -> None:
    plan = plan_of(candidates=1, runs=2, cells=(RTT95,), imported=True)
    # A table's metric holds one value a row, whatever it once was read from.
    metrics = {"rtt_s": replace(METRICS["rtt_s"], reduce=Reduce.MEDIAN)}
    launch, cell = np.repeat(np.arange(6, dtype=np.int32), 2), np.zeros(12, np.int32)
    values = TrialValues((RTT95,), launch, cell, np.ones(12, bool), np.arange(1.0, 13.0))
    (one,) = estimate(plan, values, (), metrics)
    assert "percentiles of several runs were reduced as values: the table holds no histograms" in one.warnings


# --- warnings


def warned(value: Value, **study: int) -> tuple[str, ...]:
    return of(plan_of(candidates=1, **study), value)[FMA, 0].warnings


def test_quiet_values_raise_no_warning() -> None:
    rng = np.random.default_rng(2)
    assert warned(lambda *_: rng.normal(100.0, 1.0), rounds=20) == ()


def test_few_launches_failures_and_single_runs_are_warned_of() -> None:
    rng = np.random.default_rng(2)
    found = warned(lambda cell, launch, run: None if launch.round == 2 else rng.normal(100.0, 1.0), rounds=4, runs=1)
    assert found[0].startswith("too few launches: 3 of at least 6")
    assert found[1] == "1 of 4 trials failed"
    assert found[2].startswith("one run a launch")


def test_two_levels_are_warned_of_with_both() -> None:
    (found,) = warned(lambda cell, launch, run: (1.004e9 if run else 2.01e9) + 1e6 * (launch.round % 3), rounds=10)
    assert found == "two levels: 1.00 Gflop/s and 2.01 Gflop/s, 50 % of the values in the upper one"


@pytest.mark.parametrize("rounds", [8, 40, 333])
def test_drift_over_rounds_is_warned_of(rounds: int) -> None:
    rng = np.random.default_rng(2)
    slope = 0.3 / rounds
    found = warned(lambda cell, launch, run: (1.0 + slope * launch.round) * rng.normal(1.0, 0.004), rounds=rounds)
    (line,) = [text for text in found if text.startswith("drift")]
    assert float(line.split()[3]) == pytest.approx(100 * slope / 1.15, rel=0.15)


def test_drift_is_seldom_seen_where_there_is_none() -> None:
    rng = np.random.default_rng(7)
    studies = [warned(lambda *_: rng.normal(100.0, 1.0), rounds=int(rng.choice([6, 7, 12, 50]))) for _ in range(150)]
    assert sum("drift" in text for found in studies for text in found) <= 3


# --- properties


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_each_candidates_figures_depend_on_its_own_trials_only(data: st.DataObject) -> None:
    numbers = data.draw(st.lists(st.floats(1e-6, 1e6), min_size=36, max_size=36))
    bad = data.draw(st.sets(st.integers(0, 35), max_size=20))
    plan = plan_of()
    order = {(at.candidate, at.round, run): 12 * at.candidate + 2 * at.round + run
             for at, run in itertools.product(plan.launches, range(2))}  # fmt: skip

    def value(cell: str, launch: Launch, run: int) -> float | None:
        at = order[launch.candidate, launch.round, run]
        return None if at in bad else numbers[at]

    found = of(plan, value)
    alone = of(plan, lambda cell, launch, run: value(cell, launch, run) if launch.candidate == 1 else None)
    assert found[FMA, 1] == alone[FMA, 1]
    for one in found.values():
        assert one.n_ok <= one.n_started == 12
        assert (one.n == 0) == (one.median is None) == bool(one.reason)
        if one.median is not None and one.mean is not None:
            assert min(one.values) <= one.median <= max(one.values)
            assert min(one.values) <= one.mean <= max(one.values)
            assert (one.median_bounds is None) == (one.n < 6)
        if one.between_share is not None:
            assert 0.0 <= one.between_share <= 1.0


def test_cells_come_in_the_plans_order_and_parse() -> None:
    plan = plan_of(cells=(TASK, FMA, CHASE))
    found = estimate(plan, *values_of(plan, lambda *_: 2.0), METRICS)
    assert [one.cell for one in found[::3]] == [TASK, FMA, CHASE]
    assert all(str(Cell.parse(one.cell)) == one.cell for one in found)
