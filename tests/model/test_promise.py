"""Promised rates: read from words and numbers, never zero, and unchanged as attributes and in stored plans."""

from dataclasses import replace
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloudcmp.model.codec import from_json, to_json
from cloudcmp.model.offering import Offering
from cloudcmp.model.promise import (
    Promise,
    Promised,
    as_attributes,
    from_attributes,
    is_promise,
    positive,
    promise_of,
    speed_in_words,
)

RATES = st.integers(1, 10**12).map(float)
PROMISES = st.builds(
    Promise, st.sampled_from(Promised), st.none() | RATES, st.none() | RATES, st.just("a list"), st.none(),
    st.sampled_from(("", "read", "write")),
).filter(lambda one: one.cap is not None and (one.baseline or 0.0) <= one.cap)  # fmt: skip


@given(
    number=st.integers(1, 99_999).map(lambda one: one / 100), giga=st.booleans(), most=st.booleans(),
    cards=st.integers(0, 32), long=st.booleans(),
)  # fmt: skip
def test_a_rate_in_words_is_read_in_its_unit(number: float, giga: bool, most: bool, cards: int, long: bool) -> None:
    unit = ("Gigabit" if giga else "Megabit") if long else ("Gbps" if giga else "Mbps")
    text = f"{'Up to ' if most else ''}{f'{cards}x ' if cards else ''}{number} {unit}"
    baseline, up_to = speed_in_words(text)
    assert (up_to if most else baseline) == pytest.approx(number * (1e9 if giga else 1e6) / 8)
    assert (baseline if most else up_to) is None


@pytest.mark.parametrize("text", ["", "Low", "Low to Moderate", "High", "Up to", "0 Gigabit", "10 GB", "10 Gigabytes"])
def test_words_without_a_rate_are_unknown(text: str) -> None:
    assert speed_in_words(text) == (None, None)


@given(st.text())
def test_any_words_give_a_rate_above_zero_or_none(text: str) -> None:
    assert all(one is None or one > 0.0 for one in speed_in_words(text))


@pytest.mark.parametrize("value", [0, 0.0, -1, "0", "", "many", True, None, float("nan"), float("inf"), [3]])
def test_zero_and_what_is_no_number_are_unknown(value: object) -> None:
    assert positive(value) is None
    assert promise_of(Promised.NETWORK, value, value, "a list") == ()


def test_a_highest_rate_below_the_baseline_is_unknown() -> None:
    (one,) = promise_of(Promised.VOLUME_IOPS, 3000, "2000", "a list")
    assert (one.baseline, one.up_to, one.cap) == (3000.0, None, 3000.0)


@given(st.lists(PROMISES, max_size=8, unique_by=lambda one: (one.of, one.op)))
def test_promises_come_back_from_attributes(promises: list[Promise]) -> None:
    written = as_attributes(promises)
    assert all(map(is_promise, written))
    assert not is_promise("network_class")
    found = from_attributes({"cpu": "Xeon", **written}, "a list")
    assert sorted(found, key=str) == sorted(promises, key=str)


def test_an_offering_stored_before_there_were_promises_is_read_with_those_among_its_attributes() -> None:
    old = Offering("aws", "r", "m7i.large", attributes=(("network_bytes_per_s", "97625000"), ("volume_iops", "3600")))
    text = to_json(old).replace(',"promises":[]', "")
    assert "promises" not in text
    read = from_json(Offering, text)
    assert [(one.of, one.baseline, one.as_of) for one in read.promised] == [
        (Promised.NETWORK, 97_625_000.0, None), (Promised.VOLUME_IOPS, 3600.0, None),
    ]  # fmt: skip
    assert read.promised_rate(Promised.NETWORK) == 97_625_000.0
    assert read.promised_rate(Promised.DISK_IOPS) is None


def test_a_promise_is_stored_with_its_source_and_date() -> None:
    kept = promise_of(Promised.NETWORK, 1e9, 2e9, "DescribeInstanceTypes", date(2026, 11, 1), words="Up to 16 Gigabit")
    sold = Offering("aws", "r", "m7i.large", promises=kept)
    assert from_json(Offering, to_json(sold)) == sold
    assert replace(sold, promises=()).promised == ()
