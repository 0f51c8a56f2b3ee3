"""Values of many trials at once against pandas, by hand, and in time."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.late import Late

from cloudcmp.stats.describe import group_medians

pd = Late("pandas")

steady = settings(deadline=None, derandomize=True, max_examples=50)
rows_of_groups = st.lists(st.tuples(st.integers(-9, 9), st.integers(-100, 100)), min_size=1, max_size=60)


@given(rows_of_groups)
@steady
def test_medians_are_those_of_pandas(rows: list[tuple[int, int]]) -> None:
    ids, values = [g for g, _ in rows], [v / 4 for _, v in rows]
    theirs = pd.Series(values).groupby(ids).median()
    found, medians = group_medians(values, ids)
    assert found.tolist() == theirs.index.tolist()
    assert medians.tolist() == theirs.tolist()


def test_ids_must_fit_the_values() -> None:
    with pytest.raises(ValueError, match="2 values but group ids of shape"):
        group_medians([1.0, 2.0], [1])
    with pytest.raises(ValueError, match="give whole numbers"):
        group_medians([1.0, 2.0], [1.5, 2.0])


def test_medians_of_fifty_thousand_groups_are_those_of_each() -> None:
    rng = np.random.default_rng(3)
    ids = np.sort(rng.integers(0, 50_000, 2_000_000))
    values = rng.lognormal(size=ids.size)
    found, medians = group_medians(values, ids)
    expected = pd.Series(values).groupby(ids).median()
    assert list(found) == list(expected.index)
    assert medians == pytest.approx(expected.to_numpy(), rel=1e-12)
