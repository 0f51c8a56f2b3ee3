"""Values of many trials at once against pandas, by hand, and in time."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cloudcmp.stats.groups import group_medians, group_total

steady = settings(deadline=None, derandomize=True, max_examples=50)
rates_and_lengths = st.tuples(st.floats(0, 1e9), st.floats(0.01, 100))
rows_of_groups = st.lists(st.tuples(st.integers(-9, 9), st.integers(-100, 100)), min_size=1, max_size=60)


@given(rows_of_groups)
@steady
def test_medians_are_those_of_pandas(rows: list[tuple[int, int]]) -> None:
    ids, values = [g for g, _ in rows], [v / 4 for _, v in rows]
    theirs = pd.Series(values).groupby(ids).median()
    found, medians = group_medians(values, ids)
    assert found.tolist() == theirs.index.tolist()
    assert medians.tolist() == theirs.tolist()


def test_total_by_hand() -> None:
    # 10 op/s until 1 s, 40 op/s until 3 s: 90 operations in 3 s. The other trial: 7 op/s throughout.
    ids, totals = group_total([7.0, 40.0, 10.0, 7.0], [1.0, 3.0, 1.0, 2.0], [9, 4, 4, 9])
    assert ids.tolist() == [4, 9]
    assert totals.tolist() == [30.0, 7.0]


@given(st.lists(st.lists(rates_and_lengths, min_size=1, max_size=8), min_size=1, max_size=8))
@steady
def test_totals_are_the_sum_of_parts_over_the_time_in_any_order(trials: list[list[tuple[float, float]]]) -> None:
    rates = [rate for trial in trials for rate, _ in trial]
    ends = [end for trial in trials for end in np.cumsum([length for _, length in trial])]
    ids = [at for at, trial in enumerate(trials) for _ in trial]
    expected = [sum(r * s for r, s in trial) / sum(s for _, s in trial) for trial in trials]
    _, totals = group_total(rates, ends, ids)
    assert totals == pytest.approx(expected, rel=1e-9, abs=1e-6)
    order = np.random.default_rng(len(rates)).permutation(len(rates))
    _, shuffled = group_total(np.array(rates)[order], np.array(ends)[order], np.array(ids)[order])
    assert shuffled.tolist() == totals.tolist()


@pytest.mark.parametrize(
    ("ends", "says"),
    [([0.0, 1.0], "0.0 s that ends at 0.0"), ([1.0, 1.0], "0.0 s that ends at 1.0"), ([-1.0, 1.0], "ends at -1.0 s")],
)
def test_times_that_do_not_rise_are_refused_with_the_group(ends: list[float], says: str) -> None:
    with pytest.raises(ValueError, match=says) as refused:
        group_total([5.0, 5.0], ends, [77, 77])
    assert "group 77" in str(refused.value)


def test_ids_must_fit_the_values() -> None:
    with pytest.raises(ValueError, match="2 values but group ids of shape"):
        group_medians([1.0, 2.0], [1])
    with pytest.raises(ValueError, match="give whole numbers"):
        group_medians([1.0, 2.0], [1.5, 2.0])
    with pytest.raises(ValueError, match="2 rates but 1 times"):
        group_total([1.0, 2.0], [1.0], [1, 1])


def test_medians_of_fifty_thousand_groups_are_those_of_each() -> None:
    rng = np.random.default_rng(3)
    ids = np.sort(rng.integers(0, 50_000, 2_000_000))
    values = rng.lognormal(size=ids.size)
    found, medians = group_medians(values, ids)
    expected = pd.Series(values).groupby(ids).median()
    assert list(found) == list(expected.index)
    assert medians == pytest.approx(expected.to_numpy(), rel=1e-12)
