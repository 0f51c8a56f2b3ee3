"""The between-launch share against a table by hand, planted truth and pandas."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.late import Late

from cloudcmp.stats.describe import between_share

pd = Late("pandas")

steady = settings(deadline=None, derandomize=True, max_examples=50)


def test_balanced_table_by_hand() -> None:
    # Launch means 1.5, 3.5, 8.5; MS_between = 26, MS_within = 0.5; s_b^2 = (26 - 0.5) / 2 = 12.75.
    assert between_share([1, 2, 3, 4, 8, 9], list("aabbcc")) == pytest.approx(12.75 / 13.25)


def test_unequal_runs_agree_with_sums_of_squares_from_pandas() -> None:
    rng = np.random.default_rng(1)
    runs = [1, 2, 5, 3, 2, 4]
    ids = np.repeat(np.arange(6), runs)
    x = rng.normal(size=6)[ids] * 2 + rng.normal(size=ids.size) + 100
    table = pd.DataFrame({"x": x, "launch": ids})
    launches = table.groupby("launch")["x"]
    n, k = len(x), 6
    within = ((table["x"] - launches.transform("mean")) ** 2).sum() / (n - k)
    between = ((launches.transform("mean") - table["x"].mean()) ** 2).sum() / (k - 1)
    of_launches = (between - within) / ((n - sum(r * r for r in runs) / n) / (k - 1))
    assert between_share(x, ids) == pytest.approx(of_launches / (of_launches + within))


@pytest.mark.parametrize("planted", [0.0, 0.3, 0.8])
def test_planted_share_is_found(planted: float) -> None:
    rng = np.random.default_rng(2)
    ids = np.repeat(np.arange(2000), 3)
    x = rng.normal(0, planted**0.5, 2000)[ids] + rng.normal(0, (1 - planted) ** 0.5, ids.size)
    assert between_share(x, ids) == pytest.approx(planted, abs=0.03)


def test_no_replication_no_answer() -> None:
    assert between_share([1.0, 2.0, 3.0], [1, 2, 3]) is None
    assert between_share([1.0, 2.0, 3.0], [1, 1, 1]) is None
    assert between_share([1.0], [1]) is None


def test_nothing_varies_no_answer() -> None:
    assert between_share([0.1, 0.1, 0.1, 0.1], [1, 1, 2, 2]) is None


def test_the_two_ends() -> None:
    assert between_share([1, 1, 2, 2], [1, 1, 2, 2]) == 1.0
    assert between_share([1, 2, 1, 2], [1, 1, 2, 2]) == 0.0


def test_one_id_for_each_value() -> None:
    with pytest.raises(ValueError, match="3 values, 2 launch ids"):
        between_share([1.0, 2.0, 3.0], [1, 2])


@given(st.lists(st.tuples(st.integers(-20, 20), st.integers(0, 4)), min_size=2, max_size=30))
@steady
def test_share_is_a_share_and_knows_no_unit_order_or_name(rows: list[tuple[int, int]]) -> None:
    x, ids = [float(v) for v, _ in rows], [i for _, i in rows]
    share = between_share(x, ids)
    turned = between_share([v * 4 - 3 for v in x[::-1]], [f"launch-{i}" for i in ids[::-1]])
    if share is None:
        assert turned is None
    else:
        assert 0.0 <= share <= 1.0
        assert turned == pytest.approx(share, abs=1e-9)
