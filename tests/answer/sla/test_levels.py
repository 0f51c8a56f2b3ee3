"""Menasce and Ngo's problem against a grid, and their curves at the ends that the paper requires."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cloudcmp.answer.sla.curves import menasce_ngo, sigmoid
from cloudcmp.answer.sla.levels import best_level, costs, utilities
from cloudcmp.errors import UserMistake
from cloudcmp.model.utility import Curve, LevelAnswer, LevelProblem, LevelTerm

PROBLEM = LevelProblem(
    60.0, LevelTerm(0.3, 60.0, 0.5, 0.1, 10.0), LevelTerm(0.3, 5.0, 0.0, 0.0, 100.0),
    LevelTerm(0.4, 0.0, 4.0, 0.9, 0.9999),
)  # fmt: skip


def _best_of_grid(problem: LevelProblem, steps: int) -> float:
    """The most utility on a grid: the second witness of the optimiser."""
    most = min(problem.throughput.high, problem.budget / problem.throughput.alpha)
    points = np.stack(np.meshgrid(
        np.linspace(problem.response.low, problem.response.high, steps),
        np.linspace(problem.throughput.low, most, steps),
        np.linspace(problem.availability.low, problem.availability.high, 12),
    ))  # fmt: skip
    paid = costs(problem, points).sum(axis=0) <= problem.budget
    return float(utilities(problem, points).sum(axis=0)[paid].max())


@pytest.fixture(scope="module")
def found() -> LevelAnswer:
    return best_level(PROBLEM, "u.yaml")


def test_the_optimiser_is_no_worse_than_a_grid_and_little_better(found: LevelAnswer) -> None:
    grid = _best_of_grid(PROBLEM, 150)
    assert grid - 1e-9 <= found.utility <= grid + 0.005
    assert found.cost <= PROBLEM.budget * (1 + 1e-5)
    assert found.utility == pytest.approx(sum(found.utilities))


def test_more_budget_never_buys_less_and_enough_buys_the_best(found: LevelAnswer) -> None:
    (_, half), (_, double) = found.at_budgets
    assert half < found.utility < double
    rich = best_level(LevelProblem(1000.0, PROBLEM.response, PROBLEM.throughput, PROBLEM.availability), "u.yaml")
    assert rich.response == pytest.approx(0.1, abs=1e-3)
    assert rich.availability == pytest.approx(0.9999, abs=1e-6)


def test_a_budget_below_the_least_level_is_refused() -> None:
    poor = LevelProblem(0.1, PROBLEM.response, PROBLEM.throughput, PROBLEM.availability)
    with pytest.raises(UserMistake, match=r"the least service level costs .*, above the budget of 0.1"):
        best_level(poor, "u.yaml")


def test_the_curves_have_the_values_that_the_paper_requires() -> None:
    ends = np.array([0.0, 1e6])
    assert menasce_ngo(ends, Curve.RESPONSE).tolist() == pytest.approx([1.0, 0.0])
    assert menasce_ngo(ends, Curve.THROUGHPUT).tolist() == pytest.approx([0.0, 1.0])
    assert menasce_ngo(np.array([0.5, 0.9, 0.95, 1.0]), Curve.AVAILABILITY).tolist() == pytest.approx([0, 0, 0.5, 1])


@settings(deadline=None, derandomize=True, max_examples=60)
@given(st.floats(1e-6, 1e12), st.floats(0.5, 30), st.floats(1e-6, 1e6))
def test_a_sigmoid_does_not_depend_on_the_unit(midpoint: float, slope: float, factor: float) -> None:
    values = midpoint * np.array([0.0, 0.3, 0.9, 1.0, 1.1, 3.0, 50.0])
    for falls in (True, False):
        found = sigmoid(values, midpoint, slope, falls=falls)
        assert found == pytest.approx(sigmoid(values * factor, midpoint * factor, slope, falls=falls))
        assert found[0] == pytest.approx(1.0 if falls else 0.0)
        steps = np.diff(found)
        assert (steps <= 1e-12).all() if falls else (steps >= -1e-12).all()
