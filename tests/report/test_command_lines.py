"""Lines for a shell as people see them: whole, and with nothing in them that hides something."""

import io
import re
import unicodedata

from hypothesis import example, given
from hypothesis import strategies as st
from rich.console import Console

from cloudcmp.model.command import CommandUse, ShellLine, ShippedFile
from cloudcmp.report.command_lines import show_commands
from cloudcmp.report.text import exact


def shown(*lines, width=80, files=(), name="mine", on=("local/local/1cpu",)):
    out = io.StringIO()
    console = Console(file=out, width=width, highlight=False)
    show_commands(console, [CommandUse(name, tuple(ShellLine(*line) for line in lines), files, on, True)])
    return out.getvalue()


def joined(text):
    """What is printed, without the breaks and the indents of a line that goes on."""
    return re.sub(r"\n +", "", text)


@given(st.text(max_size=300))
@example("a\u202eb\x1b[2K\r\x9b\u200b\u3164\u2800\u00a0e\u0301")
def test_no_character_of_a_line_is_hidden_or_moves_anything(text):
    seen = exact(text)
    assert all(unicodedata.category(char)[0] in "LNPS" or char == " " for char in seen)
    assert exact(text, ascii_only=True).isascii()


@given(st.text(st.characters(codec="ascii", categories=["L", "N", "P", "S"]), max_size=300))
def test_what_is_seen_as_it_is_stays(text):
    assert exact(text) == text


@given(st.text(max_size=60), st.text(max_size=60))
def test_texts_that_differ_are_shown_differently_unless_they_spell_a_number_out(a, b):
    plain = not any("<" in one for one in (a, b))
    assert (exact(a) == exact(b)) == (a == b) or not plain


@given(st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=2000), st.integers(40, 120))
def test_a_line_is_shown_whole_whatever_the_width(text, width):
    assert text in joined(shown(("setup", text), width=width)).replace(" ", "")


def test_nothing_is_pushed_out_of_sight():
    told = shown(("run", "true" + " " * 5000 + "# evil\n" + "\n" * 3000 + "evil"))
    assert len(told.splitlines()) < 12
    assert "<5000 spaces># evil" in told
    assert "<3000 blank lines>" in told
    assert told.rstrip().endswith("3002  evil")


def test_every_kind_and_every_file_is_shown_with_what_it_is():
    files = (ShippedFile("bin/mi\x1bne", "ab" * 32, 14),)
    told = shown(("setup", "make"), ("warmup", "w"), ("run", "r1\nr2"), ("check", "c\u202e"), files=files, name="a\x07")
    assert "a<U+0007>, on local/local/1cpu" in told
    assert re.search(r"setup +make\n +warmup +w\n +run +1 +r1\n +2 +r2\n +check +c<U\+202E>\n", told)
    assert f"bin/mi<U+001B>ne, 14 B, SHA-256 {'ab' * 32}" in joined(told)
