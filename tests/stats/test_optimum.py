"""The most of a function within a box and a budget, where the answer is known."""

import numpy as np
import pytest

from cloudcmp.stats.optimum import most_within


def test_the_nearest_affordable_point_is_found() -> None:
    # Closest to (3, 3) with x + y <= 4, in the box [0, 10]^2: (2, 2).
    found = most_within(lambda p: -float(((p - 3) ** 2).sum()), lambda p: float(p.sum()), [(0, 10), (0, 10)], 4.0)
    assert found is not None
    assert found.tolist() == pytest.approx([2.0, 2.0], abs=1e-4)


def test_the_box_bounds_what_the_budget_does_not() -> None:
    found = most_within(lambda p: float(np.log1p(p).sum()), lambda p: float(p.sum()), [(0, 2), (1, 5)], 100.0)
    assert found is not None
    assert found.tolist() == pytest.approx([2.0, 5.0], abs=1e-4)


def test_nothing_is_affordable() -> None:
    assert most_within(lambda p: float(p.sum()), lambda p: float(p.sum()), [(1, 2), (1, 2)], 0.5) is None
