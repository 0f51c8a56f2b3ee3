"""Launches that two sources hold: a copy is found, and what only looks alike is not."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloudcmp.analysis import launches_in_common, without_launches
from cloudcmp.model.history import Readings

KEYS = (("small", "rate"), ("small", "time"))
DAY = 86400.0


def readings(values: "np.ndarray[tuple[int, ...], np.dtype[np.float64]]", begun: float = 0.0) -> Readings:
    """Readings of shape (launches, cells, runs), a launch a day."""
    _, cells, runs = values.shape
    launch, cell, run = (one.ravel() for one in np.indices(values.shape))
    return Readings(KEYS[:cells], cell.astype(np.int32), launch.astype(np.int32),
                    begun + DAY * launch + 60.0 * (cell * runs + run), values.ravel())  # fmt: skip


def drawn(seed: int, launches: int = 8, runs: int = 3) -> "np.ndarray[tuple[int, ...], np.dtype[np.float64]]":
    return 100.0 * np.exp(np.random.default_rng(seed).normal(0.0, 0.05, (launches, 2, runs)))


@given(seed=st.integers(0, 1000), shift=st.floats(0.0, 3600.0))
def test_the_trials_of_a_study_are_recognised_as_its_launches(seed: int, shift: float) -> None:
    values = drawn(seed)
    study = readings(np.median(values, axis=2, keepdims=True))
    order = np.random.default_rng(seed).permutation(8)
    table = readings(values[order], shift)
    table = Readings(table.keys, table.series, table.launch, study.time[0] + shift + DAY * order[table.launch],
                     table.value)  # fmt: skip
    assert launches_in_common(study, table).all()
    assert without_launches(table, launches_in_common(study, table)).value.size == 0


def test_a_copy_with_further_launches_loses_the_common_ones_alone() -> None:
    values = drawn(1, 12)
    found = launches_in_common(readings(values[:8]), readings(values))
    assert found.tolist() == [True] * 8 + [False] * 4
    left = without_launches(readings(values), found)
    assert np.unique(left.launch).tolist() == [8, 9, 10, 11]


@pytest.mark.parametrize("other", ["later", "one cell differs", "other candidate", "few digits", "other study"])
def test_what_only_looks_alike_is_kept(other: str) -> None:
    values = drawn(2)
    known, same = readings(values), readings(values)
    match other:
        case "later":
            same = readings(values, 2 * DAY)
        case "one cell differs":
            changed = values.copy()
            changed[:, 1] *= 1.000001
            same = readings(changed)
        case "other candidate":
            same = Readings((("large", "rate"), ("large", "time")), same.series, same.launch, same.time, same.value)
        case "few digits":
            known, same = readings(np.full((8, 1, 1), 5100.0)), readings(np.full((8, 1, 1), 5100.0))
        case _:
            same = readings(drawn(3))
    assert not launches_in_common(known, same).any()


def test_nothing_is_in_common_with_nothing() -> None:
    empty = Readings((), np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0), np.zeros(0))
    assert launches_in_common(empty, readings(drawn(1))).tolist() == [False] * 8
    assert launches_in_common(readings(drawn(1)), empty).size == 0
