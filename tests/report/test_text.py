"""Strings from outside, made safe."""

import csv
import io
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloudcmp.model.untrusted_text import clip, one_line
from cloudcmp.report.text import (
    ShortNames,
    clip_middle,
    csv_field,
    csv_text,
    plain_ascii,
    short_names,
    without_common,
)

from .payloads import ALL


@given(st.text())
def test_clean_text_shows_only_what_has_a_shape(text: str) -> None:
    assert {unicodedata.category(char) for char in one_line(text)}.isdisjoint(
        {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
    )
    assert len(one_line(text)) <= 300
    assert one_line(one_line(text)) == one_line(text)


def test_clean_keeps_ordinary_words() -> None:
    assert one_line("AMD EPYC 7763 – 64 Kerne, größer") == "AMD EPYC 7763 – 64 Kerne, größer"


@given(st.lists(st.text(alphabet="abcd/-", max_size=40), min_size=1, max_size=30), st.integers(6, 20))
def test_short_names_are_short_and_distinct(names: list[str], limit: int) -> None:
    short = short_names(names, limit)
    assert all(len(name) <= limit for name in short)
    assert len(set(short)) == len(short)


def test_clipping_keeps_the_ends_of_names() -> None:
    assert clip("abcdef", 4) == "abc…"
    assert clip_middle("aws/eu-west-1/m8g.large", 11) == "aws/e…large"
    assert clip_middle("short", 11) == "short"


def test_ascii_keeps_the_length_so_that_columns_stay() -> None:
    text = "▲ 1.2 ±0.3 ×4 µs … ≠ δ ★ größer"
    assert len(plain_ascii(text)) == len(text)
    assert plain_ascii(text).isascii()


@pytest.mark.parametrize("payload", ALL)
def test_p39_no_field_of_a_csv_file_is_a_formula(payload: str) -> None:
    (row,) = csv.reader(io.StringIO(csv_text([payload], [])))
    assert len(row) == 1
    assert not row[0].lstrip().startswith(("=", "+", "-", "@", "＝", "＋", "－", "＠"))
    assert all(ord(char) >= 32 for char in row[0])


def test_numbers_stay_numbers_in_csv_and_unknown_is_empty() -> None:
    assert [csv_field(one) for one in (-1.5, 3, None, True, "a,b")] == ["-1.5", "3", "", "true", "a,b"]
    assert csv_text(["a", "b"], [(1e-9, "x,y")]) == 'a,b\n1e-09,"x,y"\n'


def test_ids_in_a_text_become_the_names_that_readers_see() -> None:
    names = ShortNames.of(["aws/us-east-1/c7i.large", "aws/us-east-1/c7i.large-flex"])
    said = "aws/us-east-1/c7i.large-flex: slow; aws/us-east-1/c7i.large. See /x/aws/us-east-1/c7i.large and aws/us"
    assert names.within(said) == "c7i.large-flex: slow; c7i.large. See /x/aws/us-east-1/c7i.large and aws/us"


@given(st.lists(st.from_regex(r"[ab/. -]{0,5}[ab]", fullmatch=True), max_size=5), st.text("cd/.- ", max_size=20))
def test_a_text_without_ids_stays_as_it_is(names: list[str], text: str) -> None:
    assert ShortNames.of(names).within(text) == text


def test_services_that_one_machine_asks_are_named_without_it() -> None:
    names = ["aws/us-east-1/blob from local 2cpu", "gcp/us-east4/firestore table from local 2cpu"]
    assert without_common(names) == ["aws/us-east-1/blob", "gcp/us-east4/firestore table"]
    assert without_common([f"{name} on simulated" for name in names]) == without_common(names)
    apart = ["s3/one/blob from small", "s3/one/blob from large"]
    assert without_common(apart) == ["blob from small", "blob from large"]
