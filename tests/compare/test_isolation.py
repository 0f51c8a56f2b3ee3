"""What neighbours take: a planted loss is recovered, none gives no verdict, and each figure has a second witness."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st
from tests.analysis.planted import plan_of, values_of

from cloudcmp.analysis import estimate
from cloudcmp.catalog import METRICS
from cloudcmp.compare import effects_of
from cloudcmp.model.cell import Cell
from cloudcmp.model.isolation import Effect
from cloudcmp.model.plan import Launch, Plan
from cloudcmp.model.result import Estimate, Verdict
from cloudcmp.model.study import Decide
from cloudcmp.model.values import TrialValues

TRIAD, TIME = "triad_bytes_per_s store=nontemporal;threads=all", "pi_time_s digits=1000"


def cells_of(victim: str, loads: Sequence[str]) -> list[str]:
    metric, params = victim.split(" ")
    beside = [f"intensity=1;neighbour={load}" for load in loads]
    return [str(Cell.parse(f"{metric} {params};{one}")) for one in ("neighbour=none", *beside)]


def study_of(
    seed: int, losses: dict[str, float], *, victim: str = TRIAD, rounds: int = 8, runs: int = 2, spread: float = 1.0,
    decide: Sequence[Decide] = (), failing: str = "",
) -> tuple[Plan, tuple[Estimate, ...], TrialValues]:  # fmt: skip
    """A study in which each load takes its share of a victim; launches differ by 5 %, runs by 2 %.

    Beside a load, runs differ `spread` times as much; a load named `failing` fails in every other launch.
    """
    cells = cells_of(victim, list(losses))
    plan = plan_of(candidates=1, rounds=rounds, runs=runs, cells=cells, decide=decide)
    random = np.random.default_rng(seed)
    level = {launch.index: random.lognormal(0.0, 0.05) for launch in plan.launches}
    slower = -1 if METRICS[victim.split(" ", maxsplit=1)[0]].better == "higher" else 1

    def value(cell: str, launch: Launch, run: int) -> float | None:
        load = Cell.parse(cell).get("neighbour") or ""
        if load == failing and launch.index % 2:
            return None
        kept = 1.0 + slower * losses.get(load, 0.0)
        return float(1e9 * level[launch.index] * kept * random.lognormal(0.0, 0.02 * (spread if load != "none" else 1)))

    values, histograms = values_of(plan, value)
    return plan, estimate(plan, values, histograms, METRICS), values


def measured(seed: int, losses: dict[str, float], **more: Any) -> list[Effect]:
    """The effects of such a study."""
    return list(effects_of(*study_of(seed, losses, **more), METRICS))


@pytest.mark.parametrize("victim", [TRIAD, TIME])
@pytest.mark.parametrize("planted", [0.05, 0.2, 0.5])
def test_a_planted_loss_lies_in_its_interval_as_often_as_it_says(planted: float, victim: str) -> None:
    inside = slower = 0
    for seed in range(100):
        [one] = measured(seed, {"memory": planted}, victim=victim)
        assert one.lost_bounds is not None
        inside += one.lost_bounds.low <= planted <= one.lost_bounds.high
        slower += one.verdict is Verdict.WORSE
    assert inside >= 90  # of 95 expected, three standard deviations below
    assert slower >= 95


def test_no_loss_gives_no_verdict_of_slower_or_faster_in_95_of_100() -> None:
    false = 0
    for seed in range(100):
        some = measured(seed, dict.fromkeys(("cpu", "memory", "disk_read"), 0.0))
        false += any(one.verdict in {Verdict.WORSE, Verdict.BETTER} for one in some)
    assert false <= 5


@given(seed=st.integers(0, 2**32))
def test_every_figure_agrees_with_scipy(seed: int) -> None:
    plan, estimates, values = study_of(seed, {"memory": 0.1, "cpu": 0.0})
    found = effects_of(plan, estimates, values, METRICS)
    assert [one.load for one in found] == ["cpu", "memory"]
    launches = {one.cell: np.log(one.values) for one in estimates}
    for one in found:
        test = scipy.stats.ttest_rel(launches[one.beside], launches[one.alone])
        ends = test.confidence_interval(0.95)
        assert one.n == 8
        assert one.bounds is not None
        assert one.lost_bounds is not None
        assert one.change == pytest.approx(np.expm1(np.mean(launches[one.beside] - launches[one.alone])))
        assert (one.bounds.low, one.bounds.high) == pytest.approx((np.expm1(ends.low), np.expm1(ends.high)))
        assert (one.lost_bounds.low, one.lost_bounds.high) == pytest.approx((-one.bounds.high, -one.bounds.low))


def test_a_spread_that_grows_is_found_by_ratio_and_test() -> None:
    [one] = measured(1, {"memory": 0.0}, rounds=12, runs=6, spread=4.0)
    assert one.sd_ratio is not None
    assert one.sd_bounds is not None
    assert one.sd_bounds.low < 4.0 < one.sd_bounds.high
    assert one.sd_bounds.low > 1.5
    assert (one.sd_p or 0.0) < 0.001


def test_one_run_has_no_spread() -> None:
    [one] = measured(1, {"memory": 0.1}, runs=1)
    assert (one.sd_ratio, one.sd_bounds, one.sd_p) == (None, None, None)
    assert one.verdict is Verdict.WORSE


def test_few_launches_and_failed_trials_give_no_verdict_and_say_why() -> None:
    [few] = measured(1, {"memory": 0.3}, rounds=4)
    assert (few.verdict, "4 of at least 6 launches" in few.reason) == (Verdict.CANNOT_TELL, True)
    [failed] = measured(1, {"memory": 0.3}, rounds=16, failing="memory")
    assert (failed.verdict, "trials failed" in failed.reason) == (Verdict.CANNOT_TELL, True)


def test_what_does_not_decide_has_no_verdict_and_costs_the_others_nothing() -> None:
    cell = cells_of(TRIAD, ["memory"])[1]
    some = {one.load: one for one in measured(3, {"memory": 0.2, "cpu": 0.2}, decide=[Decide("", cell)])}
    assert (some["memory"].verdict, some["memory"].decides) == (Verdict.WORSE, True)
    assert (some["cpu"].verdict, some["cpu"].decides) == (Verdict.CANNOT_TELL, False)


def test_a_study_without_neighbours_has_no_effects() -> None:
    plan = plan_of()
    values, histograms = values_of(plan, lambda *_: 1.0)
    assert effects_of(plan, estimate(plan, values, histograms, METRICS), values, METRICS) == ()
