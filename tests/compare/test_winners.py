"""Who wins a cell, and who cannot."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.analysis.planted import CHASE, FMA, FMA_ALL, TASK, estimate_of, plan_of, price, values_of
from tests.compare.by_performance import compare

from cloudcmp.analysis import estimate
from cloudcmp.catalog import METRICS
from cloudcmp.compare import winner_rows
from cloudcmp.model.offering import Price
from cloudcmp.model.result import Estimate, Winner
from cloudcmp.model.study import Decide

STEADY = np.array([10.0, 10.1, 9.9, 10.05, 9.95, 10.0])
WOBBLE = np.array([1.001, 0.999, 1.0, 1.001, 0.999, 1.0])
WIDE = np.array([1.0, 1.6, 0.7, 1.2, 0.8, 1.1])


def won(values: Sequence[Sequence[float]], prices: Sequence[Price | None] = (), cell: str = FMA) -> Winner:
    plan = plan_of(candidates=len(values), rounds=6, cells=(cell,), prices=prices)
    _, (winner,) = compare(plan, [estimate_of(at, some, cell) for at, some in enumerate(values)], METRICS, {})
    return winner


def times(*factors: float) -> list[list[float]]:
    """Steady launch values at these levels, each with a little spread of its own."""
    return [list(STEADY * factor * np.roll(WOBBLE, at)) for at, factor in enumerate(factors)]


def test_the_fastest_wins_alone() -> None:
    assert won(times(1.0, 1.5, 1.2)) == Winner(FMA, (1,), None, "")
    assert won(times(1.0, 1.5, 1.2), cell=CHASE) == Winner(CHASE, (0,), None, "")


def test_ties_are_all_winners_and_the_cheapest_gets_the_star() -> None:
    prices = (price("0.30"), price("0.20"), price("0.01"))
    assert won(times(1.01, 1.0, 0.5), prices) == Winner(FMA, (0, 1), 1, "")
    assert won(times(1.0, 1.01, 0.5), prices) == Winner(FMA, (1, 0), 1, "")


def test_equal_prices_need_no_star() -> None:
    assert won(times(1.01, 1.0), (price("0.2"), price("0.2"))) == Winner(FMA, (0, 1), None, "")


@pytest.mark.parametrize(
    ("prices", "reason"),
    [
        ((price("0.2"), None), "no cheapest: the price of c1 is unknown"),
        ((price("0.2"), price("0")), "no cheapest: the price of c1 is unknown"),
        ((price("0.2"), price("-1")), "no cheapest: the price of c1 is unknown"),
        ((price("0.2"), price("NaN")), "no cheapest: the price of c1 is unknown"),
        ((price("0.2"), price("0.1", "EUR")), "no cheapest: prices are in several currencies"),
    ],
)
def test_p13_no_star_on_a_price_that_is_unknown_or_in_another_currency(
    prices: tuple[Price | None, ...], reason: str
) -> None:
    assert won(times(1.01, 1.0), prices) == Winner(FMA, (0, 1), None, reason)


def test_who_is_not_shown_to_be_behind_stays_in_with_what_is_open() -> None:
    steady, slow = times(1.0, 0.1)
    winner = won([steady, slow, list(9.0 * WIDE)])
    assert winner.winners == (0, 2)
    assert winner.reason == "cannot tell c0 from c2 yet (interval too wide)"


def test_nobody_wins_before_anything_is_told() -> None:
    winner = won([list(9.0 * WIDE), list(10.0 * np.roll(WIDE, 2))])
    assert winner == Winner(FMA, (), None, "cannot tell yet: interval too wide")


def test_one_candidate_has_nothing_to_win() -> None:
    assert won(times(1.0)) == Winner(FMA, (), None, "one candidate: nothing to compare")


def test_exploratory_cells_have_no_winner() -> None:
    plan = plan_of(candidates=2, cells=(FMA, CHASE), decide=(Decide("", FMA),))
    fast, slow = times(1.0, 0.5)
    estimates = [estimate_of(at, some, cell) for cell in (FMA, CHASE) for at, some in enumerate((fast, slow))]
    _, winners = compare(plan, estimates, METRICS, {})
    assert [winner.winners for winner in winners] == [(0,), ()]
    assert winners[1].reason == "exploratory: no verdict"


# --- failures


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2), st.floats(0.11, 1.0), st.integers(0, 10_000), st.booleans(), st.booleans())
def test_p31_failed_is_never_fast(faulty: int, share: float, seed: int, fastest: bool, whole_launches: bool) -> None:
    """Whatever fails on one of three clouds, it never wins for what is missing, and every count is told."""
    rng = np.random.default_rng(seed)
    plan = plan_of(rounds=20, runs=2, cells=(FMA, CHASE))
    bad = {(at.round, run) for at in plan.launches for run in range(2)}
    units = sorted({(round_, 0 if whole_launches else run) for round_, run in bad})
    # The slow ones fail, so that what is left of the faulty cloud looks fast.
    failing = {units[at] for at in rng.permutation(len(units))[: int(np.ceil(share * len(units)))]}

    def value(cell: str, launch: object, run: int) -> float | None:
        candidate, round_ = launch.candidate, launch.round  # type: ignore[attr-defined]
        if candidate == faulty and (round_, 0 if whole_launches else run) in failing:
            return None
        better = 3.0 if cell == FMA else 1 / 3.0
        return (better if candidate == faulty and fastest else 1.0) * rng.lognormal(0.0, 0.01)

    estimates = estimate(plan, *values_of(plan, value), METRICS)
    comparisons, winners = compare(plan, estimates, METRICS, {})
    assert all(faulty not in winner.winners and winner.starred != faulty for winner in winners)
    assert all(one.n_started == 40 for one in estimates)
    assert all(one.n_ok < 36 for one in estimates if one.candidate == faulty)
    others = {at for at in range(3) if at != faulty}
    assert all(set(winner.winners) == others and f"left out: c{faulty}" in winner.reason for winner in winners)
    for one in comparisons:
        assert ("failed" in one.reason) == (faulty in (one.a, one.b))


def test_a_candidate_without_any_value_is_not_the_best_of_those_that_want_little() -> None:
    nothing = replace(estimate_of(1, ()), n_started=12, n_ok=0, reason="12 of 12 trials failed")
    plan = plan_of(candidates=2, cells=(TASK,))
    some: list[Estimate] = [replace(one, cell=TASK) for one in (estimate_of(0, times(1.0)[0]), nothing)]
    _, (winner,) = compare(plan, some, METRICS, {})
    assert winner == Winner(TASK, (), None, "cannot tell yet: c1: 12 of 12 trials failed")


# --- tables


def test_rows_by_operation_class_and_threads() -> None:
    """As Rodamilans et al. print their tables 6 and 7: each class has a winner of its own."""
    plan = plan_of(
        candidates=4, cells=(FMA, FMA_ALL), categories=("small", "small", "large", "large"),
        prices=(price("0.06"), price("0.06"), price("0.90"), price("3.10")),
    )  # fmt: skip
    one, all_ = times(1.0, 1.2, 3.0, 3.01), times(1.0, 1.2, 3.0, 4.0)
    estimates = [estimate_of(at, x, cell) for cell, some in ((FMA, one), (FMA_ALL, all_)) for at, x in enumerate(some)]
    comparisons, winners = compare(plan, estimates, METRICS, {})
    assert [winner.winners for winner in winners] == [(3, 2), (3,)]
    rows = winner_rows(plan, estimates, comparisons, METRICS)
    assert [(row.operation, row.group, row.threads, row.winner.winners, row.winner.starred) for row in rows] == [
        ("fma_flop_per_s precision=f64", "large", "one", (3, 2), 2),
        ("fma_flop_per_s precision=f64", "small", "one", (1,), None),
        ("fma_flop_per_s precision=f64", "large", "all", (3,), None),
        ("fma_flop_per_s precision=f64", "small", "all", (1,), None),
    ]


def test_without_classes_there_is_one_group_of_all() -> None:
    plan = plan_of(candidates=2, cells=(CHASE,))
    estimates = [estimate_of(at, some, CHASE) for at, some in enumerate(times(1.0, 2.0))]
    comparisons, winners = compare(plan, estimates, METRICS, {})
    (row,) = winner_rows(plan, estimates, comparisons, METRICS)
    assert (row.group, row.threads, row.winner) == ("", None, winners[0])
