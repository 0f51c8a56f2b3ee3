"""The codec: what is written comes back equal, the same bytes for the same data, and errors say where."""

import json
from contextlib import suppress
from dataclasses import dataclass, fields
from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.slices import examples

from cloudcmp.model.codec import CodecError, from_json, to_json
from cloudcmp.model.lease import Lease, LeaseState
from cloudcmp.model.metric import Better, Group, Metric, Reduce
from cloudcmp.model.offering import CellTruth, Faults, Match, Offering, Price, Truth
from cloudcmp.model.plan import Candidate, Launch, Plan, PlannedTrial, Quote
from cloudcmp.model.study import Decide, Session
from cloudcmp.model.trial import Attempt, Outcome, Sample
from cloudcmp.units import Money

NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
LEAVES = {
    float: NUMBERS,
    Decimal: st.decimals(allow_nan=False, allow_infinity=False),
    str: st.text(),
    date: st.dates(),
}
for leaf, strategy in LEAVES.items():
    st.register_type_strategy(leaf, strategy)


@dataclass(frozen=True, slots=True)
class Odd:
    """Every kind of field at once."""

    pair: tuple[int, str]
    many: tuple[tuple[str, Money | None], ...]
    named: dict[str, tuple[float, ...]]
    outcome: Outcome
    day: date | None
    yes: bool
    rest: str = "rest"


@pytest.mark.parametrize("cls", [Odd, Plan, Metric, Lease, Attempt, Sample, Candidate, Offering, Truth])
@settings(max_examples=examples(25), deadline=None)
@given(data=st.data())
def test_what_is_written_comes_back_equal(cls: type, data: st.DataObject) -> None:
    value = data.draw(st.from_type(cls))
    text = to_json(value)
    back = from_json(cls, text)
    assert back == value
    assert to_json(back) == text
    assert text.isascii()
    assert "\n" not in text


def test_the_order_of_a_dict_does_not_show() -> None:
    one = Odd((1, "a"), (), {"x": (1.0,), "a": ()}, Outcome.OK, None, True)
    other = Odd((1, "a"), (), {"a": (), "x": (1.0,)}, Outcome.OK, None, True)
    assert to_json(one) == to_json(other)


def test_a_whole_number_in_a_field_of_floats_is_written_as_a_float() -> None:
    assert to_json(Match(vcpus=4)) == to_json(Match(vcpus=4.0))


def test_a_missing_field_takes_its_default() -> None:
    assert from_json(Match, '{"vcpus":2}') == Match(vcpus=2.0)


def test_a_tuple_can_be_written_by_itself() -> None:
    launches = (Launch(0, 0, 0, None, 0.0, 1), Launch(1, 0, 1, "peak", 5.0, 2))
    assert from_json(tuple[Launch, ...], to_json(launches, tuple[Launch, ...])) == launches


BAD = [
    (Match, "{", "no JSON"),
    (Match, "[" * 100_000, "no JSON"),
    (Match, "[]", "an object (Match) is needed, not []"),
    (Match, '{"cpus":2}', "'cpus' is no field of Match"),
    (Match, '{"vcpus":"2"}', "vcpus: a number is needed, not '2'"),
    (Match, '{"vcpus":true}', "vcpus: a number is needed, not True"),
    (Match, '{"vcpus":NaN}', "vcpus: a finite number is needed, not nan"),
    (Match, '{"vcpus":1e999}', "vcpus: a finite number is needed, not inf"),
    (Match, '{"vcpus":1' + "0" * 400 + "}", "vcpus: a finite number is needed, not inf"),
    (Launch, "{}", "'candidate' of Launch is missing"),
    (Price, '{"amount_per_hour":0.1,"currency":"USD","source":"x"}', "amount_per_hour: text is needed, not 0.1"),
    (Price, '{"amount_per_hour":"x","currency":"USD","source":"x"}', "amount_per_hour: a decimal number in quotes"),
    (Price, '{"amount_per_hour":"NaN","currency":"USD","source":"x"}', "amount_per_hour: a finite decimal"),
    (Price, '{"amount_per_hour":"1","currency":"USD","source":"x","as_of":"1.2.3"}', "as_of: a date as 2026-01-31"),
    (tuple[Launch, ...], '[{"index":1.5}]', "[0]: 'candidate' of Launch is missing"),
    (Truth, '{"cells":[["a",{"mean":1}],["b",{"mean":null}]]}', "cells[1][1].mean: a number is needed, not None"),
    (Truth, '{"cells":[["a"]]}', "cells[0]: a list of 2 is needed, not ['a']"),
    (Truth, '{"cells":{}}', "cells: a list is needed, not {}"),
    (dict[str, int], "[1]", "an object is needed, not [1]"),
    (dict[str, int], '{"a":1.0}', "['a']: a whole number is needed, not 1.0"),
    (Outcome, '"fine"', "one of ok, failed, timeout, preempted, aborted, invalid is needed, not 'fine'"),
    (Outcome, "[]", "one of ok"),
    (bool, "1", "true or false is needed, not 1"),
]


@pytest.mark.parametrize(("cls", "text", "what"), BAD)
def test_bad_text_is_refused_with_its_place(cls: type, text: str, what: str) -> None:
    with pytest.raises(CodecError) as caught:
        from_json(cls, text)
    assert str(caught.value).startswith(what)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("value", "what"),
    [
        (Match(vcpus=float("nan")), "vcpus: a finite number is needed, not nan"),
        (Match(vcpus=float("inf")), "vcpus: a finite number is needed, not inf"),
        (Match(category=3), "category: text is needed, not 3"),
        (Price(Decimal("NaN"), "USD", "x"), "amount_per_hour: a finite decimal"),
        (Price(0.1, "USD", "x"), "amount_per_hour: Decimal is needed, not 0.1"),
        (Truth(faults=Match()), "faults: Faults is needed, not Match"),
        (Truth(cells=[]), "cells: a list is needed, not []"),
        (object(), "<class 'object'> is no type that is written to files"),
    ],
)
def test_what_is_not_of_its_type_is_not_written(value: object, what: str) -> None:
    with pytest.raises(CodecError) as caught:
        to_json(value)
    assert str(caught.value).startswith(what)


KEYS = st.sampled_from([item.name for item in fields(Plan)]) | st.text()
SCALARS = st.none() | st.booleans() | st.integers() | NUMBERS | st.text()


@settings(max_examples=examples(100, 4))
@given(st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(KEYS, inner)))
def test_any_json_is_read_or_refused(plain: object) -> None:
    for cls in (Plan, Truth, Odd, Attempt):
        with pytest.raises(CodecError):
            from_json(cls, json.dumps([plain]))
        with suppress(CodecError):
            from_json(cls, json.dumps(plain))


def test_a_plan_with_20_000_trials_is_read_as_it_was() -> None:
    params = (("duration_s", "1"), ("interval_s", "1"), ("precision", "f64"), ("threads", "one"))
    cells = ("fma_flop_per_s precision=f64;threads=one",)
    trials = tuple(
        PlannedTrial(i, i // 20, "fma", params, cells, i % 2, i * 1.5, 1.2, 20.0, i * 7) for i in range(20_000)
    )
    text = to_json(trials, tuple[PlannedTrial, ...])
    assert from_json(tuple[PlannedTrial, ...], text) == trials


def test_all_of_the_model_is_covered() -> None:
    values = (
        Metric("a_s", "s", Better.LOWER, Group.COMPUTE, Reduce.TOTAL, ("x",), "d", "e", 1.0),
        Session("peak", (0, 1), 0, 3600, "Europe/Berlin"),
        Decide("study.yaml:1:1", "a_s x=1"),
        Quote(1, 2.0, Money(Decimal("0.10"), "USD"), None, (("a_s x=1", 0.03),), 0.05),
        Lease("slot", 0, LeaseState.INTENDED, "simulated", "r", "instance", "n", "t", "i-1", 0.0, Decimal("1")),
        Truth((("a_s", CellTruth(1.0)),), 3.0, Faults(hang=0.1)),
    )
    for value in values:
        assert from_json(type(value), to_json(value)) == value


@pytest.mark.parametrize("text", ['"\\ud800"', '"\\uDFFF"', '"\ud800"'])
def test_half_of_a_pair_is_no_text(text: str) -> None:
    with pytest.raises(CodecError, match="no JSON text"):
        from_json(str, text)
    assert from_json(str, '"\\ud83d\\ude00 \\u00e9"') == "\U0001f600 \u00e9"
