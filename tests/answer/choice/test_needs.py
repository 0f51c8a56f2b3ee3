"""Needs: what they parse, the units they take, and that an unknown fact neither meets nor misses one."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.answer.choice.markets import market

from cloudcmp.answer.choice.needs import Op, bound_need, holds, met, parse_need
from cloudcmp.errors import UserMistake
from cloudcmp.model.market import Numbers

MARKET = market(
    [0.1, 0.2, 0.3],
    {"memory_gib": [4, 16, math.nan], "vcpus": [2, 4, 8]},
    {"latency": [0.001, 0.01, math.nan]},
    texts={"arch": ["x86_64", "ARM64", ""]},
)


@pytest.mark.parametrize(
    ("text", "met_by"),
    [
        ("memory_gib >= 16", [False, True, False]),
        ("memory_gib>=16", [False, True, False]),
        ("memory >= 8 GiB", [False, True, False]),
        ("memory_gib > 4096 MiB", [False, True, False]),
        ("vcpus = 4", [False, True, False]),
        ("vcpus=4", [False, True, False]),
        ("vcpus != 4", [True, False, True]),
        ("cost <= 0.2 USD/h", [True, True, False]),
        ("price < 0.2", [True, False, False]),
        ("arch = x86_64", [True, False, False]),
        ("arch in arm64, riscv", [False, True, False]),
        ("arch != x86_64", [False, True, False]),
        ("provider = cloud", [True, True, True]),
        ("latency <= 0.005", [True, False, False]),
    ],
)
def test_a_need_is_met_by_what_it_says(text: str, met_by: list[bool]) -> None:
    found = met(bound_need(parse_need(text), MARKET), MARKET)
    assert found.yes.tolist() == met_by
    assert not (found.yes & found.unknown).any()


def test_an_unknown_fact_is_neither() -> None:
    for text in ("memory_gib >= 1", "memory_gib != 7", "arch != x86_64", "arch = x86_64"):
        found = met(bound_need(parse_need(text), MARKET), MARKET)
        assert (found.yes[2], found.unknown[2]) == (False, True), text


def test_units_of_a_measurement_are_read() -> None:
    column = Numbers("rtt_s", np.array([0.001, 0.01, 0.1]), "s", is_measured=True)
    timed = market([1, 1, 1])
    timed = type(timed)(timed.keys, {**timed.columns, "rtt_s": column}, "USD")
    assert bound_need(parse_need("rtt_s <= 2 ms"), timed).number == pytest.approx(0.002)
    with pytest.raises(UserMistake, match="'2 MB' is not a number in s"):
        bound_need(parse_need("rtt_s <= 2 MB"), timed)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("memory_gib", "is no requirement"),
        (">= 3", "is no requirement"),
        ("arch in x86_64,,arm", "empty value"),
        ("arch >= x86_64", "a text, which has no order"),
        ("vcpus in 2, 4", "is a number"),
        ("vcpus >= many", "not a plain number"),
        ("memroy_gib >= 3", "did you mean memory_gib"),
    ],
)
def test_what_is_no_need_is_told_in_one_line(text: str, what: str) -> None:
    with pytest.raises(UserMistake, match=what) as raised:
        bound_need(parse_need(text), MARKET)
    (fault,) = raised.value.faults
    assert fault.where == "--require"
    assert "\n" not in fault.line()


@given(st.sampled_from(list(Op)), st.floats(-1e9, 1e9), st.lists(st.floats(-1e9, 1e9) | st.just(math.nan), max_size=5))
def test_orders_hold_as_they_do_in_python(op: Op, limit: float, values: list[float]) -> None:
    if op is Op.IN:
        return
    need = bound_need(parse_need(f"vcpus {op.value} {limit!r}"), MARKET)
    python = {">=": float.__ge__, "<=": float.__le__, ">": float.__gt__, "<": float.__lt__, "=": float.__eq__,
              "!=": float.__ne__}[op.value]  # fmt: skip
    expected = [not math.isnan(one) and python(one, limit) for one in values]
    assert holds(need, np.array(values, float)).tolist() == expected
