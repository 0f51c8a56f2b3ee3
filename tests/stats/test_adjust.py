"""Corrected p values against hand-worked numbers, scipy, and what any correction must keep."""

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st

from cloudcmp.stats.adjust import benjamini_hochberg, holm

steady = settings(deadline=None, derandomize=True, max_examples=40)
families = st.lists(st.floats(0, 1), min_size=1, max_size=50)


def test_holm_by_hand() -> None:
    # 4 x 0.005, 3 x 0.01, then 2 x 0.03 = 0.06; 0.04 x 1 may not fall below the one before it.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == pytest.approx([1.0, 1.0])


@given(families)
@steady
def test_holm_never_helps_and_keeps_the_order(p: list[float]) -> None:
    adjusted = holm(p)
    assert (adjusted >= np.array(p)).all()
    assert (adjusted <= np.minimum(1.0, np.array(p) * len(p) + 1e-15)).all()
    order = np.argsort(p, kind="stable")
    assert (np.diff(adjusted[order]) >= 0).all()
    assert adjusted.min() == pytest.approx(min(1.0, len(p) * min(p)))


@given(families)
@steady
def test_the_order_in_which_the_family_is_given_does_not_matter(p: list[float]) -> None:
    order = np.random.default_rng(len(p)).permutation(len(p))
    for adjust in (holm, benjamini_hochberg):
        assert adjust(np.array(p)[order]).tolist() == adjust(p)[order].tolist()


@given(families)
@steady
def test_benjamini_hochberg_is_scipys(p: list[float]) -> None:
    assert benjamini_hochberg(p) == pytest.approx(scipy.stats.false_discovery_control(p))
    assert (benjamini_hochberg(p) <= holm(p) + 1e-12).all()


@pytest.mark.parametrize("bad", [-0.01, 1.01])
def test_what_is_no_probability_is_refused(bad: float) -> None:
    with pytest.raises(ValueError, match=r"value 2 of 2 is .* lies between 0 and 1"):
        holm([0.5, bad])


def test_holm_keeps_the_family_wise_error_where_raw_p_values_do_not() -> None:
    p = np.random.default_rng(11).random((2000, 24))
    raw = (p.min(axis=1) < 0.05).mean()
    held = np.mean([holm(row).min() < 0.05 for row in p])
    assert raw > 0.6
    assert 0.035 < held < 0.065
