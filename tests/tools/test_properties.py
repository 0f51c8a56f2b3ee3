"""What holds for every reader: a part of an output never tells another number, and nothing makes it fall over."""

import json
import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cloudcmp.catalog import METRICS, TOOLS, measure_cell, output_settings_text, settings_of, settings_text
from cloudcmp.catalog.lookup import tool_settings
from cloudcmp.model.tool import Report, UnclearOutput
from cloudcmp.tools import READERS
from tests.slices import examples, spread
from tests.tools.outputs import OTHERS, OWN, reader_of, text_of

EVERY = [*OWN, *OTHERS]
SHORT_BYTES = 1500


def checked(found: tuple[Report, ...]) -> None:
    assert found
    for report in found:
        assert report.readings or report.failed
        for one in report.readings:
            assert math.isfinite(one.value)
            assert one.value > 0 or METRICS[one.metric].signed
            assert (
                measure_cell(report.tool, output_settings_text(report.settings), one.measure, one.metric).metric
                == one.metric
            )
        assert {one.metric for one in report.failed} <= set(METRICS)
        named = [(one.measure, one.metric) for one in report.readings]
        assert len(set(named)) == len(named)


@pytest.mark.parametrize("name", EVERY)
def test_an_output_is_read_by_its_reader_and_known_by_no_other(name: str) -> None:
    text = text_of(name)
    checked(READERS[reader_of(name)].reports(text))
    assert [one.name for one in READERS.values() if one.looks_like(text)] == [reader_of(name)]


@pytest.mark.parametrize("name", spread(EVERY, 22))
def test_a_cut_output_tells_the_same_or_nothing(name: str) -> None:
    text = text_of(name)
    read = READERS[reader_of(name)].reports
    whole = figures(read(text))
    for end in cuts(text):
        try:
            found = figures(read(text[:end]))
        except UnclearOutput:
            continue
        assert found == whole[: len(found)], end


def figures(found: tuple[Report, ...]) -> list[Report]:
    """Reports without what was not read, which a cut output may not tell either."""
    return [replace(one, unread=()) for one in found]


def cuts(text: str) -> list[int]:
    """Every place to cut a short text; in a long one those around the ends of lines, and some between."""
    if len(text) <= SHORT_BYTES:
        return list(range(len(text)))
    ends = [i for i, letter in enumerate(text) if letter == "\n"]
    step = max(1, len(ends) // 150)
    return sorted(
        {*(end + by for end in ends[::step] for by in (0, 1)), *range(0, len(text), max(97, len(text) // 150))}
    )


@pytest.mark.parametrize("name", EVERY)
@settings(max_examples=examples(25, 9), deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_changed_bytes_never_make_it_fall_over(name: str, data: st.DataObject) -> None:
    text = text_of(name)
    at = data.draw(st.integers(0, len(text) - 1))
    length = data.draw(st.integers(0, 20))
    new = data.draw(
        st.one_of(
            st.text(max_size=3), st.sampled_from(["nan", "inf", "1e999", "-1", "0", ",", "null", "\n", "\r", "1e308"])
        )
    )
    changed = text[:at] + new + text[at + length :]
    reader = READERS[reader_of(name)]
    reader.looks_like(changed)
    line = "sure"
    try:
        checked(reader.reports(changed))
    except UnclearOutput as unsure:
        line = str(unsure)
    assert line
    assert "\n" not in line


def nodes(of: Any, at: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The place of every value in a document; of a long list only the first."""
    yield at
    items = of.items() if isinstance(of, dict) else enumerate(of[:2]) if isinstance(of, list) else ()
    for key, value in items:
        yield from nodes(value, (*at, key))


def put(of: Any, at: tuple[str | int, ...], new: Any) -> Any:
    """The document with another value at a place."""
    if not at:
        return new
    copied = dict(of) if isinstance(of, dict) else list(of)
    copied[at[0]] = put(of[at[0]], at[1:], new)
    return copied


@pytest.mark.parametrize("name", spread([name for name in OWN if name.endswith(".json")], 4))
def test_a_value_of_another_kind_anywhere_never_makes_it_fall_over(name: str) -> None:
    document = json.loads(text_of(name))
    refused = 0
    for at in nodes(document):
        for new in ([], {}, 3, "x", None, True):
            try:
                checked(READERS[reader_of(name)].reports(json.dumps(put(document, at, new)) + "\n"))
            except UnclearOutput:
                refused += 1
    assert refused


ODD = [
    ("redis", "aws_c7g.xlarge__redis__stdout", '"SET",1,1,', '"SET",1\r2,1,'),
    ("iperf", "iperf_benchmark_embedded_3.txt", "1966 M", "1e305 G"),
    ("hpcc", "hpcc-sample.txt", "HPL_Tflops=0.0331844", "HPL_Tflops=1e300"),
    ("bonnie++", "bonnie-plus-plus-sample.txt", "47358", "1e307"),
]


@pytest.mark.parametrize(("reader", "name", "old", "new"), ODD)
def test_what_once_made_a_reader_fall_over_is_refused(reader: str, name: str, old: str, new: str) -> None:
    text = text_of(next(each for each in OTHERS if each.endswith(name)))
    assert old in text
    with pytest.raises(UnclearOutput):
        READERS[reader].reports(text.replace(old, new, 1))


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("text", ["", "\n", "command not found\n", "{}", "[]", "\x00", "{" * 5000, "1\n" * 50])
def test_what_is_no_output_is_refused(reader: str, text: str) -> None:
    assert not READERS[reader].looks_like(text)
    with pytest.raises(UnclearOutput):
        READERS[reader].reports(text)


def test_what_a_hostile_output_holds_is_shown_harmless() -> None:
    text = text_of("hpcc.txt").replace("HPL_NB=", "HPL_NB=\x1b[2J; =").replace("HPL_N=", "HPL_N=\x1b]0;x\x07")
    with pytest.raises(UnclearOutput) as refused:
        READERS["hpcc"].reports(text)
    assert str(refused.value).isprintable()
    (report,) = READERS["hpcc"].reports(text_of("hpcc.txt").replace("HPL_NB=", "HPL_NB=\x1b[2J; ="))
    cell = measure_cell(report.tool, output_settings_text(report.settings), "hpl", "tool_flop_per_s")
    assert "nb:_2J_" in str(cell)
    assert str(cell).isprintable()


@pytest.mark.parametrize("name", TOOLS)
def test_a_tool_is_told_in_full(name: str) -> None:
    tool = TOOLS[name]
    filled = tool_settings(name, {})
    assert settings_text(name, filled) == "default"
    assert settings_of(name, "default") == filled
    assert tool.typical_s(filled) > 0
    assert "\n\n" not in tool.command(filled)
    found = tool.measures(filled)
    assert found
    assert len({one.name for one in found}) == len(found)
    assert {one.metric for one in found} <= set(METRICS)
    assert tool.reader.name in READERS
    for text in (tool.doc, tool.excludes):
        assert text.endswith(".")
    with pytest.raises(UnclearOutput):
        tool.read("", filled)
    for param in tool.params:
        for word in param.words:
            changed = tool_settings(name, {param.name: word})
            assert settings_of(name, settings_text(name, changed)) == changed
            assert tool.measures(changed)
            tool.command(changed)
