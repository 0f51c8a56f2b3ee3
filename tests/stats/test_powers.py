"""A time from few machines where it is known, and from what was measured on all of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import linalg

from cloudcmp.stats.powers import BLIND_ERROR, DEPARTURE, INFORMED_ERROR, explain

SIMULATED = 120


def _drawn(seed: int, machines: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Times of an application, and columns, which are all products of three hidden speeds of each machine."""
    rng = np.random.default_rng(seed)
    speeds = rng.normal(0, 0.3, (machines, 3))
    powers = rng.dirichlet(np.ones(3), columns + 1)
    log = speeds @ powers.T + rng.normal(0, 0.08, (machines, columns + 1))
    return np.exp(log[:, 0] + 2.0), np.exp(log[:, 1:])


def _first(count: int) -> np.ndarray:
    return np.arange(count)


@pytest.mark.parametrize("informed", [True, False])
def test_times_are_those_of_a_normal_distribution_with_an_unknown_level(informed: bool) -> None:
    """The same by another way: one joint normal distribution in which the level has a variance of 10^6."""
    times, columns = _drawn(1, 9, 5)
    found = explain(times[:4], _first(4), columns, 0.9, informed=informed)
    log = np.log(columns)
    log -= log[:4].mean(axis=0)
    centre = log[:, 0] if informed else log.mean(axis=1)
    around = (log[:, 1:] if informed else log) - centre[:, None]
    weight, error = (DEPARTURE / 4, INFORMED_ERROR) if informed else (1 / 4, BLIND_ERROR)
    joint = weight * around @ around.T + error**2 * np.eye(9) + 1e6
    step = linalg.solve(joint[:4, :4], np.log(times[:4]) - centre[:4], assume_a="pos")
    assert np.log(found.time)[4:] == pytest.approx(centre[4:] + joint[4:, :4] @ step, abs=1e-5)


@pytest.mark.parametrize("informed", [True, False])
def test_an_error_is_that_of_a_machine_left_out(informed: bool) -> None:
    times, columns = _drawn(2, 5, 6)
    found = explain(times, _first(5), columns, 0.9, informed=informed)
    # The same centre as with all five, so that only the machine is left out.
    columns = columns / np.exp(np.log(columns).mean(axis=0))
    for out in range(5):
        rest = np.delete(_first(5), out)
        other = explain(times[rest], rest, columns, 0.9, informed=informed)
        assert found.errors[out] == pytest.approx(np.log(times[out] / other.time[out]), abs=1e-9)


@given(st.integers(0, 10**6), st.floats(1e-3, 1e3), st.booleans(), st.integers(1, 12))
def test_a_machine_that_takes_so_much_longer_in_everything_takes_so_much_longer(
    seed: int, scale: float, informed: bool, count: int
) -> None:
    times, columns = _drawn(seed, 7, count)
    before = explain(times[:3], _first(3), columns, 0.9, informed=informed)
    assert before.exponents.sum() == pytest.approx(1.0)
    columns[6] *= scale
    after = explain(times[:3], _first(3), columns, 0.9, informed=informed)
    assert after.time[6] == pytest.approx(before.time[6] * scale)
    assert after.time[3:6] == pytest.approx(before.time[3:6])
    assert np.all((after.low < after.time) & (after.time < after.high))


@given(st.integers(0, 10**6), st.floats(1e-3, 1e3), st.booleans())
def test_a_prediction_does_not_depend_on_units(seed: int, scale: float, informed: bool) -> None:
    times, columns = _drawn(seed, 6, 4)
    before = explain(times[:3], _first(3), columns, 0.9, informed=informed)
    columns[:, 2] *= scale
    after = explain(times[:3] * scale, _first(3), columns, 0.9, informed=informed)
    assert after.time == pytest.approx(before.time * scale)
    assert after.high == pytest.approx(before.high * scale)


def test_times_are_the_product_of_powers_that_is_said() -> None:
    times, columns = _drawn(3, 8, 5)
    for informed in (True, False):
        found = explain(times[:4], _first(4), columns, 0.9, informed=informed)
        product = np.exp(np.log(columns) @ found.exponents)
        assert found.time / product == pytest.approx(np.full(8, found.time[0] / product[0]))


def test_demands_that_the_times_confirm_are_kept() -> None:
    columns = np.exp(np.random.default_rng(4).normal(0, 0.3, (8, 4)))
    found = explain(5.0 * columns[:3, 0], _first(3), columns, 0.9, informed=True)
    assert found.exponents == pytest.approx([1.0, 0.0, 0.0, 0.0], abs=1e-9)
    assert found.time == pytest.approx(5.0 * columns[:, 0])
    assert found.errors == pytest.approx(np.zeros(3), abs=1e-9)


def test_the_column_that_explains_the_times_has_the_largest_exponent() -> None:
    for seed in range(20):
        columns = np.exp(np.random.default_rng(seed).normal(0, 0.5, (10, 5)))
        found = explain(3.0 * columns[:6, 2], _first(6), columns, 0.9, informed=False)
        assert np.argmax(found.exponents) == 2


def test_one_column_alone_is_followed() -> None:
    found = explain(np.array([2.0, 4.4]), _first(2), np.array([[1.0], [2.0], [3.0]]), 0.9, informed=False)
    assert found.exponents.tolist() == [1.0]
    assert found.time[2] == pytest.approx(3 * np.sqrt(2.0 * 2.2))
    assert found.high[2] > found.time[2]


@pytest.mark.parametrize(("known", "columns"), [(2, 6), (2, 20), (4, 20), (8, 20)])
def test_nine_of_ten_intervals_cover_an_application_like_the_columns(known: int, columns: int) -> None:
    inside = []
    for seed in range(SIMULATED):
        times, found = _drawn(seed, known + 8, columns)
        one = explain(times[:known], _first(known), found, 0.9, informed=False)
        inside += ((one.low <= times) & (times <= one.high))[known:].tolist()
    # The eight machines of a set share a model; few columns widen intervals by what is assumed of strangers.
    assert 0.86 <= np.mean(inside) <= (0.98 if columns < 10 else 0.95)


def test_an_application_unlike_all_columns_has_a_wider_interval() -> None:
    times, columns = _drawn(5, 10, 12)
    like = explain(times[:4], _first(4), columns, 0.9, informed=False)
    strange = explain(times[:4] * np.array([1.0, 3.0, 0.4, 2.0]), _first(4), columns, 0.9, informed=False)
    assert np.all(np.log(strange.high / strange.time) > 2 * np.log(like.high / like.time))
