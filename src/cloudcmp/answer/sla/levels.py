"""Menasce and Ngo's problem: which response time, throughput and availability to ask for, within a budget."""

import math

import numpy as np
from numpy.typing import NDArray

from cloudcmp.answer.sla.curves import menasce_ngo
from cloudcmp.errors import UserMistake
from cloudcmp.model.utility import Curve, LevelAnswer, LevelProblem
from cloudcmp.stats.optimum import most_within

Floats = NDArray[np.float64]

_AT = (0.5, 0.9, 1.1, 2.0)
"""Other budgets, as shares of the given one."""


def best_level(problem: LevelProblem, where: str) -> LevelAnswer:
    """The service level of most utility within the budget; raises UserMistake, at `where`, if nothing is cheap enough.

    Source: Menasce and Ngo, "Understanding Cloud Computing: Experimentation and Capacity Planning", CMG 2009.
    """
    found = _solved(problem, problem.budget)
    if found is None:
        cheapest = np.array([problem.response.high, problem.throughput.low, problem.availability.low])
        least = sum(costs(problem, cheapest))
        what = f"the least service level costs {least:.6g}, above the budget of {problem.budget:g}"
        raise UserMistake.at(where, what, "raise the budget, or let response go to more")
    worth, spent = utilities(problem, found), costs(problem, found)
    others = []
    for share in _AT:
        point = _solved(problem, share * problem.budget)
        if point is not None:
            others.append((share * problem.budget, sum(utilities(problem, point))))
    response, throughput, availability = found.tolist()
    return LevelAnswer(problem, response, throughput, availability, worth, spent, sum(worth), sum(spent), tuple(others))


def utilities(problem: LevelProblem, point: Floats) -> tuple[float, float, float]:
    """The weighted utilities of (response, throughput, availability)."""
    terms = (problem.response, problem.throughput, problem.availability)
    kinds = (Curve.RESPONSE, Curve.THROUGHPUT, Curve.AVAILABILITY)
    values = (term.weight * float(menasce_ngo(point[at : at + 1], kind)[0])
              for at, (term, kind) in enumerate(zip(terms, kinds, strict=True)))  # fmt: skip
    response, throughput, availability = values
    return response, throughput, availability


def costs(problem: LevelProblem, point: Floats) -> tuple[float, float, float]:
    """The costs of (response, throughput, availability): a e^(-b r), a x, and e^(b a) - e^(0.9 b)."""
    response, throughput, availability = point.tolist()
    beta = problem.availability.beta
    return (
        problem.response.alpha * math.exp(-problem.response.beta * response),
        problem.throughput.alpha * throughput,
        math.exp(beta * availability) - math.exp(0.9 * beta),
    )


def _solved(problem: LevelProblem, budget: float) -> Floats | None:
    bounds = [(one.low, one.high) for one in (problem.response, problem.throughput, problem.availability)]
    return most_within(
        lambda point: sum(utilities(problem, point)), lambda point: sum(costs(problem, point)), bounds, budget
    )
