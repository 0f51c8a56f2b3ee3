"""Costs in comparable units."""

from types import SimpleNamespace
from typing import Any

from cloudcmp.report.money import without_price


def study(*priced: bool) -> Any:
    """Candidates with and without a price."""
    return SimpleNamespace(
        candidates=[
            SimpleNamespace(id=f"c{at}", offering=SimpleNamespace(price=object() if one else None))
            for at, one in enumerate(priced)
        ]
    )


def test_the_first_candidates_without_a_price_are_named_and_the_others_counted() -> None:
    assert without_price(study(True, True)) == ""
    assert without_price(study(True, False, False, False)) == "No price: c1, c2, c3"
    assert without_price(study(*[False] * 8, True)) == "No price: c0, c1, c2 and 5 more"
