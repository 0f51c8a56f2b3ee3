"""A file that says what a service level is worth, and every fault with its place."""

from decimal import Decimal
from pathlib import Path

import pytest

from cloudcmp.errors import UserMistake
from cloudcmp.model.utility import Curve, LevelTerm
from cloudcmp.study.utility_file import read_utility
from cloudcmp.units import Money

TEXT = """\
schema: 1
utility:
  fast: {of: "rtt_s path=zone", weight: 60 %, midpoint: 2 ms, slope: 6}
  there: {of: uptime, weight: 0.4, curve: menasce-ngo availability}
require: ["memory_gib >= 16"]
budget: 0.20 USD/h
menasce_ngo:
  budget: 60
  response: {weight: 0.3, alpha: 60, beta: 0.5, from: 0.1, to: 10}
  throughput: {weight: 0.3, alpha: 5, to: 100}
  availability: {weight: 0.4, beta: 4, to: 0.9999}
"""


def test_terms_needs_a_budget_and_the_problem_are_read() -> None:
    found = read_utility(TEXT.encode(), Path("u.yaml"))
    fast, there = found.terms
    assert (fast.name, fast.of, fast.weight, fast.midpoint, fast.slope) == ("fast", "rtt_s path=zone", 0.6, "2 ms", 6)
    assert (there.curve, there.scale) == (Curve.AVAILABILITY, 1.0)
    assert found.require == ("memory_gib >= 16",)
    assert found.budget == Money(Decimal("0.20"), "USD")
    assert found.levels is not None
    assert found.levels.response == LevelTerm(0.3, 60, 0.5, 0.1, 10)
    assert found.levels.availability.low == 0.9


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("weight: 60 %", "weight: 50 %", "u.yaml:2:1: the weights add up to 0.9"),
        ("weight: 60 %", "weight: 0", "is not above 0 and at most 1"),
        (", slope: 6", "", "'fast' has no midpoint and slope"),
        ("curve: menasce-ngo availability", "curve: steep", "'steep' is no curve"),
        ("curve: menasce-ngo availability", "curve: menasce-ngo availability, slope: 2", "which only a sigmoid has"),
        ("0.20 USD/h", "0 USD/h", "a price of zero is unknown"),
        ("0.20 USD/h", "0.20 USD", "no price of one hour"),
        ("from: 0.1, to: 10", "from: 10, to: 0.1", "response goes from 10 to 0.1"),
        ("to: 0.9999", "to: 1.01", "an availability is from 0.9 to 1"),
        ("alpha: 60", "alpha: -60", "is not a number above 0"),
        ("beta: 4", "gamma: 4", "gamma"),
    ],
)
def test_a_fault_has_its_place(old: str, new: str, told: str) -> None:
    assert old in TEXT
    with pytest.raises(UserMistake) as caught:
        read_utility(TEXT.replace(old, new).encode(), Path("u.yaml"))
    assert told in str(caught.value)
    assert "u.yaml:" in str(caught.value)


@pytest.mark.parametrize("text", ["", "schema: 1\n", "- 1\n", "utility: {}\n", "\x00", "a: [", "utility: 3\n"])
def test_what_says_nothing_is_refused(text: str) -> None:
    with pytest.raises(UserMistake):
        read_utility(text.encode(), Path("u.yaml"))
