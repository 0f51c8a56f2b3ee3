"""Values that commands tell: sure, or refused in one line."""

import asyncio
import json
import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloudcmp.execute.commands import metric_values, number_at_path, number_in
from cloudcmp.execute.regex_extract import matches_of
from cloudcmp.model.command import CommandMetric
from cloudcmp.model.metric import Better
from cloudcmp.model.tool import UnclearOutput

OUTPUT = "start\nfps=24.5 (run 1)\nfps=24.50 (run 2)\ntook 1250 ms\nloss 0 %\n"


def told(regex=None, path=None, **more):
    return CommandMetric("x_s", "s", Better.LOWER, regex, path, **more)


def value(one, text):
    return asyncio.run(metric_values([one], text))["x_s"]


@pytest.mark.parametrize(
    ("one", "text", "expected"),
    [
        (told(r"fps=([0-9.]+)"), OUTPUT, 24.5),
        (told(r"took (.+) ms", scale=0.001), OUTPUT, 1.25),
        (told(r"read,([0-9.]+)"), "16,read,215020.53,0,0", 215020.53),
        (told(r"read,([0-9]+),"), "16,read,215,300", 215.0),
        (told(r"took ([0-9]+)[.]"), "took 12.5", 12.0),
        (told(r"took ([0-9]+)"), "took 12ms.", 12.0),
        (told(r"loss (\d+) %", signed=True), OUTPUT, 0.0),
        (told(path="a.1.b"), '{"a": [0, {"b": -1e-3}]}', None),
        (told(path="a.1.b", signed=True), '{"a": [0, {"b": -1e-3}]}', -1e-3),
        (told(path="0"), "[7]", 7.0),
    ],
)
def test_a_value_is_read_in_its_unit(one, text, expected):
    if expected is None:
        with pytest.raises(UnclearOutput, match=r"it cannot be -0\.001"):
            value(one, text)
    else:
        assert value(one, text) == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize(
    ("one", "text", "says"),
    [
        (told(r"fsp=(.)"), OUTPUT, "is found nowhere"),
        (told(r"run (\d)"), OUTPUT, "the output says 1 and 2"),
        (told(r"t (\S+)"), "t 1\nt 1.0\nt 2", "the output says 1 and 2"),
        (told(r"fps=(\S+) \((?:run) 1"), "fps=1,024 (run 1", "'1,024' is not a number"),
        (told(r"fps=(.*)"), "fps=nan", "'nan' is not a number"),
        (told(r"fps=([0-9]+)"), "fps=12.5", "'12 (it goes on: .5)' is not a number"),
        (told(r"fps=([0-9.]+)"), "fps=1,024 on average", "'1 (it goes on: ,024 on aver"),
        (told(r"fps=([0-9.]+)"), "fps=1.5e3", "it goes on"),
        (told(r"fps=([0-9]{2})"), "fps=245", "it goes on"),
        (told(r"fps=(x)?"), "fps=", "'' is not a number"),
        (told(r"loss (\d+)"), OUTPUT, "it cannot be 0"),
        (told(r"t (.+)"), "t 1e999", "is not finite"),
        (told(r"t (.+)", scale=1e29), "t 1e300", "is not finite"),
        (told(r"t (.+)"), "t 1e60", "is too large"),
        (told(r"(t)"), "t" * 70000, "a line of more than 65536"),
        (told(path="a.b"), '{"a": [1]}', "the output has no 'a.b'"),
        (told(path="a.1"), '{"a": [1]}', "the output has no 'a.1'"),
        (told(path="a"), '{"a": true}', "'True', not a number"),
        (told(path="a"), '{"a": "1"}', "not a number"),
        (told(path="a"), '{"a": 1, "a": 2}', "holds a key twice"),
        (told(path="a"), '{"a": NaN}', "holds NaN"),
        (told(path="a"), '{"a": 1' + "0" * 400 + "}", "too large"),
        (told(path="a"), "log\n{}", "not one JSON document"),
        (told(path="a"), "[" * 100000, "not one JSON document"),
    ],
)
def test_whatever_is_in_doubt_is_refused_in_one_line(one, text, says):
    with pytest.raises(UnclearOutput, match=re.escape(says)) as refused:
        value(one, text)
    assert "\n" not in str(refused.value)


def test_an_expression_that_takes_for_ever_is_cut_short():
    with pytest.raises(UnclearOutput, match="more than 5 s"):
        value(told(r"^(?:a+)+(b)$"), "a" * 60)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=4))
def test_numbers_survive_and_two_that_differ_are_refused(numbers):
    texts = matches_of(r"value=(\S+)", "\n".join(f"value={one!r}" for one in numbers))
    if len(set(numbers)) == 1:
        assert number_in(told("x"), texts) == numbers[0]
    else:
        with pytest.raises(UnclearOutput):
            number_in(told("x"), texts)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab01"), inner, max_size=3),
)


@given(_JSON, st.lists(st.sampled_from(["a", "b", "0", "1", "²", "99999999999"]), min_size=1, max_size=4))
def test_a_path_leads_to_a_number_or_is_refused(document, steps):
    try:
        number = number_at_path(told(path=".".join(steps)), json.loads(json.dumps(document)))
    except UnclearOutput as refused:
        said = str(refused)
    else:
        said = str(math.isfinite(number))
    assert said != "False"
    assert "\n" not in said


@given(st.text(max_size=30), st.text(max_size=200))
def test_any_expression_finds_texts_or_nothing(pattern, text):
    try:
        if re.compile(pattern).groups != 1:
            return
    except (re.error, OverflowError):
        return
    assert all(isinstance(one, str) and "\n" not in one for one in matches_of(pattern, text))
