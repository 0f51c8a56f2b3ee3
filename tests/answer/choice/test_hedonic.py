"""The hedonic fit: planted exponents and levels come back, what is dear is found, and burstable ones are apart."""

import numpy as np
import pytest

from cloudcmp.answer.choice.hedonic import price_model
from cloudcmp.errors import UserMistake
from cloudcmp.model.market import COST, Market, Numbers, OfferKey, Texts


def planted(spread: float = 0.05, dear: float = 1.0, burst: tuple[int, ...] = ()) -> Market:
    """Two providers, the second 20 % dearer; price = 0.02 * vcpus^0.6 * memory^0.3; the first offering is `dear`."""
    rng = np.random.default_rng(7)
    n = 120
    vcpus = 2.0 ** rng.integers(0, 6, n)
    memory = vcpus * rng.choice([2.0, 4.0, 8.0], n)
    second = np.arange(n) % 3 == 2
    price = 0.02 * vcpus**0.6 * memory**0.3 * np.where(second, 1.2, 1.0) * np.exp(rng.normal(scale=spread, size=n))
    price[0] *= dear
    keys = tuple(OfferKey("right" if some else "left", "r", f"t{at}") for at, some in enumerate(second))
    words = tuple("yes" if at in burst else "no" for at in range(n))
    columns = {COST: Numbers(COST, price), "vcpus": Numbers("vcpus", vcpus),
               "memory_gib": Numbers("memory_gib", memory), "burstable": Texts("burstable", words)}  # fmt: skip
    return Market(keys, columns, "USD")


def test_planted_exponents_and_levels_come_back_within_their_intervals() -> None:
    found = price_model(planted())
    terms = {one.name: one for one in found.terms}
    assert found.base == "left"
    for name, truth in (("vcpus", 0.6), ("memory_gib", 0.3), ("right", 1.2)):
        assert terms[name].bounds.low < truth < terms[name].bounds.high
        assert terms[name].value == pytest.approx(truth, rel=0.1)
    assert found.typical == pytest.approx(np.exp(0.05), abs=0.015)
    assert found.n == 120


def test_one_that_is_dear_is_first_and_moves_nothing() -> None:
    found, clean = price_model(planted(dear=3.0)), price_model(planted())
    assert found.dear[0].key.name == "t0"
    assert found.dear[0].ratio == pytest.approx(3, rel=0.15)
    assert [one.value for one in found.terms] == pytest.approx([one.value for one in clean.terms], rel=0.02)


def test_about_one_in_twenty_is_outside_by_chance() -> None:
    found = price_model(planted())
    assert len(found.dear) + len(found.cheap) <= 12


def test_burstable_ones_are_flagged_and_no_part_of_the_fit() -> None:
    found = price_model(planted(dear=0.2, burst=(0,)))
    (one,) = [one for one in found.offers if one.key.name == "t0"]
    assert one.burstable
    assert one.is_cheap
    assert found.n == 119


def test_each_type_counts_once_in_its_cheapest_region() -> None:
    market = planted()
    twice = Market(
        (*market.keys, *(OfferKey(key.provider, "dearer", key.name) for key in market.keys)),
        {name: Numbers(name, np.tile(one.value, 2) * np.repeat([1, 1.5 if name == COST else 1], 120))
         for name, one in market.columns.items() if isinstance(one, Numbers)},
        "USD",
    )  # fmt: skip
    found = price_model(twice)
    assert found.n == 120
    assert {one.key.region for one in found.offers} == {"r"}


def test_a_column_that_repeats_another_is_refused() -> None:
    market = planted()
    sizes = market.columns["vcpus"]
    assert isinstance(sizes, Numbers)
    more = Market(market.keys, {**market.columns, "twice": Numbers("twice", 2 * sizes.value**2)}, "USD")
    with pytest.raises(UserMistake, match="depend on each other"):
        price_model(more, ["twice"])


def test_unknown_prices_sizes_and_gpus_are_left_out_and_said() -> None:
    market = planted()
    price = market.columns[COST].value.copy()  # type: ignore[union-attr]
    price[1], price[2] = 0.0, np.nan
    memory = market.columns["memory_gib"].value.copy()  # type: ignore[union-attr]
    memory[3] = np.nan
    gpus = np.zeros(120)
    gpus[4] = 2
    columns = {**market.columns, COST: Numbers(COST, price), "memory_gib": Numbers("memory_gib", memory),
               "gpu_count": Numbers("gpu_count", gpus)}  # fmt: skip
    found = price_model(Market(market.keys, columns, "USD"))
    assert found.n == 116
    assert found.left_out == ("2 without a price", "1 with GPUs", "1 without memory_gib")
