"""Objectives: products of powers, and what is none."""

import pytest

from cloudcmp.answer.choice.objective import parse_objective
from cloudcmp.errors import UserMistake


@pytest.mark.parametrize(
    ("text", "factors"),
    [
        ("cost", (("cost", 1.0),)),
        ("cost per speed", (("cost", 1.0), ("speed", -1.0))),
        ("speed^2 / cost", (("speed", 2.0), ("cost", -1.0))),
        ("a ^ 0.5 * b / c^3", (("a", 0.5), ("b", 1.0), ("c", -3.0))),
        ("tcp_bytes_per_s path=zone;streams=8 / cost", (("tcp_bytes_per_s path=zone;streams=8", 1.0), ("cost", -1.0))),
    ],
)
def test_an_objective_is_a_product_of_powers(text: str, factors: tuple[tuple[str, float], ...]) -> None:
    assert parse_objective(text, most=True).factors == factors


@pytest.mark.parametrize("text", ["", "a^", "a^0", "a^-1", "a * a", "a * ", "a^b", "a^1000", "a^2^3"])
def test_what_is_none_is_told_in_one_line(text: str) -> None:
    with pytest.raises(UserMistake) as raised:
        parse_objective(text, most=False)
    assert raised.value.faults[0].where == "--minimise"
