import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloudcmp.agent import clean
from cloudcmp.agent.text import clean_lines


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
        ("x" * 300, "x" * 200),
        ("\u2028", ""),
        ("=cmd|' /C calc'!A0", "=cmd|' /C calc'!A0"),
    ],
)
def test_clean(text, shown):
    assert clean(text) == shown


@given(st.text())
def test_cleaned_text_is_one_printable_line(text):
    line = clean(text, 50)
    assert line.isprintable()
    assert len(line) <= 50
    assert clean(line, 50) == line
    line.encode()


def test_lines_stay_lines():
    assert clean_lines("a\tb\r\n10 %\r20 %\n\x1b[31mred\x1b[0m\u202e\x00end") == "a\tb\n10 %\n20 %\nredend"


@given(st.text(max_size=200))
def test_lines_that_were_cleaned_hold_nothing_but_text(text):
    said = clean_lines(text)
    assert all(char in "\n\t" or unicodedata.category(char)[0] != "C" for char in said)
    assert clean_lines(said) == said
