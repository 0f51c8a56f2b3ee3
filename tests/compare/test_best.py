"""Of many candidates, the question is which is the best: the truly best one is not called behind."""

from collections.abc import Sequence

import numpy as np
import pytest
from tests.analysis.planted import CHASE, FMA, estimate_of, plan_of
from tests.slices import examples

from cloudcmp.catalog import METRICS
from cloudcmp.compare import Compared, compare
from cloudcmp.compare.best import MOST_FOR_PAIRS
from cloudcmp.model.result import Verdict

ROUNDS = 8


def compared(
    rng: np.random.Generator, factors: Sequence[float], cells: Sequence[str] = (FMA,), sd: float = 0.02, **more: bool
) -> Compared:
    """Candidates at these factors of goodness, by rounds that share a drift."""
    plan = plan_of(candidates=len(factors), rounds=ROUNDS, cells=cells)
    estimates = []
    for cell in cells:
        shared = np.exp(np.cumsum(rng.normal(0.0, 0.03, ROUNDS)))
        for at, factor in enumerate(factors):
            good = factor * shared * rng.lognormal(0.0, sd, ROUNDS)
            estimates.append(estimate_of(at, 1 / good if cell == CHASE else good, cell))
    return compare(plan, estimates, METRICS, {}, **more)


def behind(found: Compared, cell: str) -> set[int]:
    return set(found.pairs.of(cell).beaten())


@pytest.mark.parametrize("count", [MOST_FOR_PAIRS + 1, 12, 30])
def test_the_family_is_one_question_for_each_candidate_but_one(count: int) -> None:
    rng = np.random.default_rng(1)
    assert compared(rng, [1.0] * count, (FMA, CHASE)).pairs.family == 2 * (count - 1)
    assert compared(rng, [1.0] * count, (FMA,), all_pairs=True).pairs.family == count * (count - 1) // 2


def test_up_to_five_candidates_every_pair_is_a_question() -> None:
    assert compared(np.random.default_rng(1), [1.0] * MOST_FOR_PAIRS).pairs.family == 10


def test_a_clear_best_wins_alone_and_the_others_are_behind() -> None:
    found = compared(np.random.default_rng(2), [1.0, 1.01, 1.02, 1.5, 0.9, 0.8, 0.7], (FMA, CHASE))
    for winner in found.winners:
        assert winner.winners == (3,)
        assert behind(found, winner.cell) == {0, 1, 2, 4, 5, 6}
        table = found.pairs.of(winner.cell)
        assert {table.verdict(3, at) for at in range(7) if at != 3} == {Verdict.BETTER}


def test_the_truly_best_is_seldom_called_behind() -> None:
    """With a truth that spans 10 %, in two cells: at most one study in twenty, and sampling error."""
    n, wrong = examples(300), 0
    for seed in range(n):
        rng = np.random.default_rng(seed)
        factors = np.exp(rng.uniform(0.0, 0.1, 12))
        found = compared(rng, list(factors), (FMA, CHASE), sd=0.04)
        wrong += any(int(factors.argmax()) in behind(found, cell) for cell in (FMA, CHASE))
    assert wrong <= 0.05 * n + 3 * (n * 0.05 * 0.95) ** 0.5


def test_what_is_three_percent_behind_is_seldom_called_the_same() -> None:
    n, wrong = examples(300), 0
    for seed in range(n):
        found = compared(np.random.default_rng(seed), [1.03, *[1.0] * 7], sd=0.008)
        table = found.pairs.of(FMA)
        wrong += any(table.verdict(0, at) is Verdict.SAME for at in range(1, 8))
    assert wrong <= 0.05 * n + 3 * (n * 0.05 * 0.95) ** 0.5


def test_what_is_surely_close_to_the_best_is_practically_the_same() -> None:
    found = compared(np.random.default_rng(3), [1.0, 1.001, 0.999, 0.8, 0.7, 0.6, 0.5], sd=0.002)
    assert set(found.winners[0].winners) == {0, 1, 2}
    table = found.pairs.of(FMA)
    assert {table.verdict(0, at) for at in (1, 2)} == {Verdict.SAME}


def test_it_settles_more_than_all_pairs_would() -> None:
    """Thirty candidates of which the best is 4 % ahead of the next."""
    alone = {True: 0, False: 0}
    for seed in range(20):
        factors = [1.14, *np.linspace(1.0, 1.1, 29)]
        for every in alone:
            found = compared(np.random.default_rng(seed), factors, sd=0.015, all_pairs=every)
            alone[every] += len(behind(found, FMA))
    assert alone[False] > 1.1 * alone[True]
