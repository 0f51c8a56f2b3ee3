"""The p-median search, against trying every set and against scipy's integer program."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, milp

from cloudcmp.stats.check import Floats
from cloudcmp.stats.p_median import Sites, exchanges, p_median


def cost(costs: Floats, sites: Sites) -> float:
    return float(costs[:, list(sites)].min(axis=1).sum())


def brute(costs: Floats, k: int) -> float:
    return min(cost(costs, sites) for sites in combinations(range(costs.shape[1]), k))


def integer_program(costs: Floats, k: int) -> float:
    """Binary choices of sites, and the share of each row that each site serves (Daskin, equations 6.1 to 6.6)."""
    n, m = costs.shape
    usable = np.isfinite(costs)
    weights = np.concatenate([np.zeros(m), np.where(usable, costs, 0.0).ravel()])
    served, linked = np.zeros((n, m + n * m)), np.zeros((n * m, m + n * m))
    for row in range(n):
        served[row, m + row * m : m + (row + 1) * m] = 1
        for site in range(m):
            linked[row * m + site, [site, m + row * m + site]] = -1, 1
    many = np.concatenate([np.ones(m), np.zeros(n * m)])
    found = milp(
        weights,
        integrality=np.concatenate([np.ones(m), np.zeros(n * m)]),
        bounds=Bounds(0, np.concatenate([np.ones(m), usable.ravel().astype(float)])),
        constraints=[
            LinearConstraint(served, 1, 1),
            LinearConstraint(linked, -np.inf, 0),
            LinearConstraint(many[None, :], k, k),
        ],
    )
    return float(found.fun) if found.success else np.inf


@st.composite
def problems(draw: st.DrawFn) -> tuple[Floats, int]:
    n, m = draw(st.integers(1, 12)), draw(st.integers(1, 8))
    kind = draw(st.sampled_from(["far", "near", "covered", "forbidden"]))
    random = np.random.default_rng(draw(st.integers(0, 10**6)))
    weights = random.lognormal(0, 2, n)
    costs = weights[:, None] * random.random((n, m))
    if kind == "near":
        costs = weights[:, None] * np.abs(random.random(n)[:, None] - random.random(m)[None, :])
    elif kind == "covered":
        costs = weights[:, None] * (random.random((n, m)) < 0.7)
    elif kind == "forbidden":
        costs = np.where(random.random((n, m)) < 0.3, np.inf, costs)
    return costs, draw(st.integers(1, m))


@settings(max_examples=30, deadline=None)
@given(problems())
def test_no_set_is_better(problem: tuple[Floats, int]) -> None:
    costs, k = problem
    found, least = p_median(costs, k), brute(costs, k)
    assert found.proven
    assert found.value == pytest.approx(least, rel=1e-9, abs=1e-12)
    if found.sites:
        assert len(set(found.sites)) == k
        assert cost(costs, found.sites) == pytest.approx(found.value)
        assert found.bound == pytest.approx(found.value)
    else:
        assert least == np.inf


@settings(max_examples=12, deadline=None)
@given(problems())
def test_an_integer_program_agrees(problem: tuple[Floats, int]) -> None:
    costs, k = problem
    assert p_median(costs, k).value == pytest.approx(integer_program(costs, k), rel=1e-6, abs=1e-9)


@settings(max_examples=20, deadline=None)
@given(problems(), st.data())
def test_refused_sets_are_not_chosen_and_the_best_other_one_is(
    problem: tuple[Floats, int], data: st.DataObject
) -> None:
    costs, k = problem
    sets = list(combinations(range(costs.shape[1]), k))
    refused = set(data.draw(st.lists(st.sampled_from(sets), max_size=len(sets))))
    found = p_median(costs, k, accept=lambda sites: sites not in refused)
    least = min((cost(costs, sites) for sites in sets if sites not in refused), default=np.inf)
    assert found.value == pytest.approx(least, rel=1e-9, abs=1e-12)
    assert found.sites not in refused


@settings(max_examples=20, deadline=None)
@given(problems(), st.floats(0, 30))
def test_what_is_enough_is_found_or_excluded(problem: tuple[Floats, int], enough: float) -> None:
    costs, k = problem
    found, least = p_median(costs, k, enough=enough), brute(costs, k)
    if least <= enough * (1 - 1e-9):
        assert found.value <= enough
    elif least > enough * (1 + 1e-9) + 1e-9:
        assert found.bound > enough


def test_a_search_that_gives_up_bounds_what_there_is() -> None:
    random = np.random.default_rng(5)
    costs = (random.random((60, 20)) < 0.75).astype(float)
    short, whole = p_median(costs, 5, nodes=1), p_median(costs, 5)
    assert whole.proven
    assert not short.proven
    assert short.bound <= whole.value <= short.value


def test_exchanges_are_the_sets_that_differ_in_one_site() -> None:
    costs = np.random.default_rng(1).random((9, 5))
    found = exchanges(costs, (1, 3), lambda least: least.sum(axis=0))
    assert found[0, 4] == pytest.approx(cost(costs, (3, 4)))
    assert found[1, 0] == pytest.approx(cost(costs, (0, 1)))


@pytest.mark.parametrize(("costs", "k"), [([[1.0, 2.0]], 3), ([[1.0, 2.0]], 0), ([[-1.0]], 1), ([[np.nan]], 1)])
def test_a_problem_that_is_none_is_refused(costs: list[list[float]], k: int) -> None:
    with pytest.raises(ValueError, match=r"sites|negative"):
        p_median(np.array(costs), k)
