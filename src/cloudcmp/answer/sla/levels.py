"""Menasce and Ngo's problem: which response time, throughput and availability to ask for, within a budget."""

import numpy as np
from numpy.typing import NDArray

from cloudcmp.answer.sla.curves import menasce_ngo
from cloudcmp.errors import UserMistake
from cloudcmp.model.utility import Curve, LevelAnswer, LevelProblem
from cloudcmp.stats.optimum import most_within

Floats = NDArray[np.float64]

_AT = (0.5, 2.0)
"""Other budgets, as shares of the given one."""


def best_level(problem: LevelProblem, where: str) -> LevelAnswer:
    """The service level of most utility within the budget; raises UserMistake, at `where`, if nothing is cheap enough.

    Source: Menasce and Ngo, "Understanding Cloud Computing: Experimentation and Capacity Planning", CMG 2009.
    """
    found = _solved(problem, problem.budget)
    if found is None:
        cheapest = np.array([problem.response.high, problem.throughput.low, problem.availability.low])
        least = float(costs(problem, cheapest).sum())
        what = f"the least service level costs {least:.6g}, above the budget of {problem.budget:g}"
        raise UserMistake.at(where, what, "raise the budget, or let response go to more")
    worth, spent = utilities(problem, found).tolist(), costs(problem, found).tolist()
    others = []
    for share in _AT:
        point = _solved(problem, share * problem.budget)
        if point is not None:
            others.append((share * problem.budget, float(utilities(problem, point).sum())))
    response, throughput, availability = found.tolist()
    return LevelAnswer(
        problem, response, throughput, availability, tuple(worth), tuple(spent), sum(worth), sum(spent), tuple(others)
    )


def utilities(problem: LevelProblem, points: Floats) -> Floats:
    """The weighted utilities of (response, throughput, availability); both shapes are (3, ...)."""
    response, throughput, availability = points
    return np.stack([
        problem.response.weight * menasce_ngo(response, Curve.RESPONSE),
        problem.throughput.weight * menasce_ngo(throughput, Curve.THROUGHPUT),
        problem.availability.weight * menasce_ngo(availability, Curve.AVAILABILITY),
    ])  # fmt: skip


def costs(problem: LevelProblem, points: Floats) -> Floats:
    """The costs of (response, throughput, availability): a e^(-b r), a x, and e^(b a) - e^(0.9 b); shapes (3, ...)."""
    response, throughput, availability = points
    beta = problem.availability.beta
    return np.stack([
        problem.response.alpha * np.exp(-problem.response.beta * response),
        problem.throughput.alpha * throughput,
        np.exp(beta * availability) - np.exp(0.9 * beta),
    ])  # fmt: skip


def _solved(problem: LevelProblem, budget: float) -> Floats | None:
    bounds = [(one.low, one.high) for one in (problem.response, problem.throughput, problem.availability)]
    return most_within(
        lambda point: float(utilities(problem, point).sum()),
        lambda point: float(costs(problem, point).sum()),
        bounds,
        budget,
    )
