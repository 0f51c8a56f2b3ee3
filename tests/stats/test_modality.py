"""Two levels are seen where they are planted, and rarely where they are not."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cloudcmp.stats.drift import two_modes

Draw = Callable[[np.random.Generator, int], np.ndarray]
ONE_HUMP: dict[str, Draw] = {
    "normal": lambda rng, n: rng.normal(20, 1, n),
    "uniform": lambda rng, n: rng.uniform(1, 2, n),
    "exponential": lambda rng, n: rng.exponential(1, n),
    "lognormal": lambda rng, n: rng.lognormal(0, 1, n),
    "heavy tails": lambda rng, n: rng.standard_t(3, n) + 50,
}


def is_bimodal(x: npt.ArrayLike) -> bool:
    return two_modes(x) is not None


@pytest.mark.parametrize("name", ONE_HUMP)
@pytest.mark.parametrize("n", [6, 10, 20, 50, 300])
def test_one_hump_is_rarely_called_two(name: str, n: int) -> None:
    rng = np.random.default_rng(n)
    assert np.mean([is_bimodal(ONE_HUMP[name](rng, n)) for _ in range(300)]) <= 0.055


@pytest.mark.parametrize(("n", "least"), [(20, 0.75), (50, 0.97), (300, 1.0)])
def test_two_humps_are_seen(n: int, least: float) -> None:
    rng = np.random.default_rng(n)
    seen = [is_bimodal(rng.normal(20, 1, n) + 6 * (rng.random(n) < 0.5)) for _ in range(200)]
    assert np.mean(seen) >= least


def test_the_levels_and_their_shares_are_named() -> None:
    found = two_modes([1.0, 1.02, 0.98, 1.0, 1.01, 2.0, 2.02, 1.98, 0.99, 1.0])
    assert found is not None
    assert found.low == pytest.approx(1.0)
    assert found.high == pytest.approx(2.0)
    assert found.share_high == pytest.approx(0.3)


def test_levels_too_close_to_matter_are_not_worth_a_warning() -> None:
    assert not is_bimodal([1.0] * 20 + [1.01] * 20)
    assert is_bimodal([1.0] * 20 + [1.03] * 20)


def test_equal_values_and_few_values_have_no_two_levels() -> None:
    assert not is_bimodal([0.1] * 30)
    assert not is_bimodal([1.0, 1.0, 1.0, 9.0, 9.0, 9.0])


def test_one_outlier_is_not_a_level() -> None:
    assert not is_bimodal(np.concatenate((np.random.default_rng(1).normal(10, 1, 49), [500.0])))


@given(st.lists(st.integers(1, 60), min_size=8, max_size=40), st.sampled_from([1e-30, 0.25, 1024.0, 1e30]))
@settings(deadline=None, derandomize=True, max_examples=50)
def test_neither_order_nor_unit_matters(x: list[int], scale: float) -> None:
    one, other = two_modes(x), two_modes([v * scale for v in x[::-1]])
    assert (one is None) == (other is None)
    if one and other:
        assert (other.low, other.high) == pytest.approx((one.low * scale, one.high * scale))
