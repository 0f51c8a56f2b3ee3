"""Text from outside, made fit to be shown."""

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloudcmp.model.untrusted_text import escaped_json, lines, one_line, steering_character, without_steering


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("  two\n lines\t", "two lines"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07x", "x"),
        ("\x1b]8;;https://evil\x1b\\link", "link"),
        ("a\u202eb\u2066c\u200bd\ufeff", "abcd"),
        ("nul\x00bell\x07", "nulbell"),
        ("half\ud800", "half"),
        ("Xeon® 3 µs", "Xeon® 3 µs"),
        ("x" * 400, "x" * 299 + "…"),
        ("\u2028", ""),
        ("=cmd|' /C calc'!A0", "=cmd|' /C calc'!A0"),
    ],
)
def test_clean(text, shown):
    assert one_line(text) == shown


@given(st.text())
def test_cleaned_text_is_one_printable_line(text):
    line = one_line(text, 50)
    assert line.isprintable()
    assert len(line) <= 50
    assert one_line(line, 50) == line
    line.encode()


def test_lines_stay_lines():
    assert lines("a\tb\r\n10 %\r20 %\n\x1b[31mred\x1b[0m\u202e\x00end") == "a\tb\n10 %\n20 %\nredend"


@given(st.text(max_size=200))
def test_lines_that_were_cleaned_hold_nothing_but_text(text):
    said = lines(text)
    assert all(char in "\n\t" or unicodedata.category(char)[0] != "C" for char in said)
    assert lines(said) == said


@given(st.text(max_size=200))
def test_what_steers_a_terminal_is_found_and_taken_out(text):
    shown = without_steering(text)
    assert len(shown) == len(text)
    assert steering_character(shown) is None
    assert (shown == text) == (steering_character(text) is None)
    left = {char for char in shown if unicodedata.category(char) == "Cc"}
    assert left <= {"\t", "\n", "\r"}


@pytest.mark.parametrize("char", ["\x00", "\x07", "\x1b", "\x7f", "\x9b", "\u061c", "\u200e", "\u202e", "\u2066"])
def test_each_kind_of_steering(char):
    assert steering_character(f"a{char}b") == f"U+{ord(char):04X}"
    assert without_steering(f"a{char}b") == "a\ufffdb"


@given(st.text(max_size=200).filter(lambda text: not any("\ud800" <= char <= "\udfff" for char in text)))
def test_an_escaped_document_says_the_same(text):
    document = escaped_json(json.dumps(text, ensure_ascii=False))
    assert json.loads(document) == text
    assert steering_character(document) is None
