"""Effects of sessions: scipy as witness, planted weekends, and levels that change meanwhile."""

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from cloudcmp.analysis.sessions import session_effects

DAY = 86400.0
MONDAY = 4 * DAY


@given(seed=st.integers(0, 2**32), n=st.integers(6, 30))
def test_two_sessions_are_welchs_interval(seed: int, n: int) -> None:
    random = np.random.default_rng(seed)
    values = np.concatenate([random.normal(5.0, 1.0, n), random.normal(6.0, 2.0, n)])
    names = ["peak"] * n + ["off"] * n
    (one,) = session_effects(values, np.arange(2 * n) * DAY, names, [], is_log=False)
    assert (one.session, one.n, one.n_others) == ("off", n, n)
    found = scipy.stats.ttest_ind(values[n:], values[:n], equal_var=False).confidence_interval()
    assert (one.bounds.low, one.bounds.high) == pytest.approx((found.low, found.high))
    assert one.by_difference


def test_weekends_that_are_slower_are_found_although_the_level_changes() -> None:
    days = np.arange(140)
    weekend = days % 7 > 4
    noise = np.random.default_rng(1).normal(0.0, 0.01, days.size)
    values = noise - 0.05 * weekend + np.where(days < 61, 0.0, 1.0)
    (one,) = session_effects(values, MONDAY + days * DAY, (), [MONDAY + 61 * DAY], is_log=True)
    assert (one.session, one.n, one.n_others) == ("weekend", 40, 100)
    assert one.effect == pytest.approx(np.expm1(-0.05), abs=0.005)
    assert one.bounds.high < -0.04


def test_of_three_sessions_each_is_told_and_too_few_launches_are_not() -> None:
    random = np.random.default_rng(2)
    names = ["a"] * 8 + ["b"] * 8 + ["c"] * 3
    found = session_effects(random.normal(size=19), np.arange(19.0), names, [], is_log=False)
    assert [one.session for one in found] == ["a", "b"]
    assert session_effects(random.normal(size=5), MONDAY + np.arange(5) * DAY, (), [], is_log=False) == ()
