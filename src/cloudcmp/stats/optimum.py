"""The most of a smooth function within bounds and one constraint."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

Floats = NDArray[np.float64]
_STARTS = (0.2, 0.7)
"""Of each variable, as shares of its range."""


def most_within(
    worth: Callable[[Floats], float], cost: Callable[[Floats], float], bounds: Sequence[tuple[float, float]],
    budget: float,
) -> Floats | None:  # fmt: skip
    """The point in a box at which `worth` is most, of those whose `cost` is at most `budget`; None if there is none.

    Sequential quadratic programming from 2 starts in each direction; the best end counts. Variables are scaled to their
    bounds. A local optimum between the starts may be missed.
    Source: Kraft, "A software package for sequential quadratic programming", DFVLR-FB 88-28, 1988.
    """
    low = np.array([one[0] for one in bounds])
    width = np.array([one[1] - one[0] for one in bounds])
    best: Floats | None = None
    starts = np.stack(np.meshgrid(*[_STARTS] * len(bounds), indexing="ij"), axis=-1).reshape(-1, len(bounds))
    scale = max(abs(budget), 1e-12)
    for start in starts:
        found = optimize.minimize(
            lambda u: -worth(low + u * width), start, method="SLSQP", bounds=[(0.0, 1.0)] * len(bounds),
            constraints=({"type": "ineq", "fun": lambda u: (budget - cost(low + u * width)) / scale},),
            options={"maxiter": 100, "ftol": 1e-10},
        )  # fmt: skip
        point = low + np.clip(found.x, 0.0, 1.0) * width
        if cost(point) <= budget + 1e-6 * scale and (best is None or worth(point) > worth(best)):
            best = point
    return best
