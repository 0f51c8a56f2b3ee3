"""A requirement holds where the whole interval meets it, fails where all of it misses it, and else cannot be told."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.analysis.planted import CHASE, FMA, LOSS

from cloudcmp.answer.requirement import Requirement, judge, parse, verdict_of
from cloudcmp.catalog import METRICS
from cloudcmp.model.result import Bounds, Comparison

RATE, LATENCY = METRICS["fma_flop_per_s"], METRICS["chase_latency_s"]


def pair(low: float, high: float, cell: str = FMA, *, by_difference: bool = False) -> Comparison:
    return Comparison(cell, 0, 1, 8, True, by_difference, (low * high) ** 0.5 if low > 0 else 0.0, Bounds(low, high),
                      None, 0.5, 0.5, 0.5, None, None, None, None)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("large not worse than small by 5 %", Requirement("large", "not worse than", "small", 0.05, None)),
        ("a/b/c better than d", Requirement("a/b/c", "better than", "d", 0.0, None)),
        ("a same as b by 2.5% in disk_op_per_s", Requirement("a", "same as", "b", 0.025, "disk_op_per_s")),
        ("b not worse than a by 3 % in rtt_s percentile=50",
         Requirement("b", "not worse than", "a", 0.03, "rtt_s percentile=50")),
    ],
)  # fmt: skip
def test_a_requirement_is_a_sentence(text: str, wanted: Requirement) -> None:
    assert parse(text) == wanted


@pytest.mark.parametrize("text", ["", "a", "a faster than b", "a same as b", "a same as b by 0 %",
                                  "a not worse than b by 100 %"])  # fmt: skip
def test_anything_else_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match="write e"):
        parse(text)


@pytest.mark.parametrize(
    ("text", "low", "high", "holds"),
    [
        ("a not worse than b by 5 %", 0.96, 1.10, True),
        ("a not worse than b by 5 %", 0.80, 0.94, False),
        ("a not worse than b by 5 %", 0.90, 1.10, None),
        ("a better than b", 1.01, 1.20, True),
        ("a better than b by 5 %", 1.01, 1.20, None),
        ("a better than b", 0.80, 0.99, False),
        ("a same as b by 3 %", 0.98, 1.02, True),
        ("a same as b by 3 %", 1.04, 1.10, False),
        ("a same as b by 3 %", 1.00, 1.10, None),
    ],
)
def test_the_interval_decides(text: str, low: float, high: float, holds: bool | None) -> None:
    assert judge(parse(text), RATE, pair(low, high), turned=False).holds is holds
    assert judge(parse(text), RATE, pair(1 / high, 1 / low), turned=True).holds is holds
    # A latency is better the lower it is.
    assert judge(parse(text), LATENCY, pair(1 / high, 1 / low, CHASE), turned=False).holds is holds


def test_differences_and_missing_intervals_cannot_be_told() -> None:
    wanted = parse("a better than b")
    assert (
        judge(wanted, METRICS["udp_loss_ratio"], pair(-0.1, 0.1, LOSS, by_difference=True), turned=False).holds is None
    )


@given(st.lists(st.sampled_from([True, False, None]), max_size=6))
def test_all_must_hold_and_one_failure_fails(parts: list[bool | None]) -> None:
    one = judge(parse("a better than b"), RATE, pair(1.1, 1.2), turned=False)
    found = verdict_of([type(one)(one.cell, part, "") for part in parts])
    assert found is (False if False in parts else True if parts and all(parts) else None)
