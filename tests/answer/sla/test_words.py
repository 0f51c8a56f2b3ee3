"""Printed bounds are never better than what is proved."""

import re
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.answer.sla.watches import watch

from cloudcmp.answer.sla.claims import parse_claim
from cloudcmp.answer.sla.prove import prove_watch
from cloudcmp.answer.sla.sentences import claim_sentence
from cloudcmp.answer.sla.words import bounds_words, share_words
from cloudcmp.model.result import Bounds
from cloudcmp.report.sla_claims import windows_grid
from cloudcmp.units import format_bound, format_quantity


def _percent(text: str) -> Fraction:
    return Fraction(text.removesuffix(" %")) / 100


@given(st.floats(0, 1))
@example(0.99999999999)
@example(1e-11)
@example(0.95)
def test_a_printed_bound_of_a_share_still_holds_and_is_near(share: float) -> None:
    low, high = _percent(share_words(share, upper=False)), _percent(share_words(share, upper=True))
    assert low <= Fraction(repr(share)) <= high
    assert float(high - low) <= max(1e-8, 0.011 * min(share, 1 - share))
    assert low <= _percent(share_words(share)) <= high


@pytest.mark.parametrize(("share", "low", "high"), [
    (0.95, "95.00 %", "95.00 %"), (0.999, "99.900 %", "99.900 %"), (0.998976, "99.897 %", "99.898 %"),
    (0.0, "0 %", "0 %"), (1.0, "100 %", "100 %"), (0.9999999996, "99.999999 %", "100.000000 %"),
])  # fmt: skip
def test_a_share_of_few_digits_is_itself(share: float, low: str, high: str) -> None:
    assert (share_words(share, upper=False), share_words(share, upper=True)) == (low, high)


@given(st.floats(1e-8, 1e5))
@example(0.0003)
@example(0.0999999)
def test_a_printed_bound_of_a_time_still_holds(value: float) -> None:
    units = {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1.0}

    def seconds(text: str) -> float:
        number, _, unit = text.partition(" ")
        return float(number) * units[unit]

    low, high = (seconds(format_bound(value, "s", upper=upper)) for upper in (False, True))
    assert low <= value * (1 + 1e-9)
    assert high >= value * (1 - 1e-9)
    assert high <= low * 1.0101 + 1e-12
    assert low * (1 - 1e-9) <= seconds(format_quantity(value, "s")) <= high * (1 + 1e-9)


def test_what_is_said_of_a_claim_is_rounded_to_the_safe_side() -> None:
    found = prove_watch(parse_claim("availability >= 99.9 % a month"), watch(31 * 1440))
    (window,) = found.windows
    printed = re.search(r"at least ([\d.]+ %) of the time up", claim_sentence(found))
    assert printed is not None
    assert _percent(printed[1]) <= Fraction(repr(float(window.low)))
    (row,) = windows_grid(found).rows
    assert _percent(str(row[5])) <= Fraction(repr(float(window.low)))
    claim = parse_claim("availability >= 99 %")
    assert bounds_words(claim, "", Bounds(0.99888951, 0.99888951)) == "99.888 to 99.889 %"
