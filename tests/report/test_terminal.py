"""What is printed for people: it fits, it needs no colour, and it does not move the cursor."""

import io
import re
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console
from tests.report.listed import Listed

from cloudcmp.model.result import Verdict
from cloudcmp.model.view import View
from cloudcmp.report.comparison import show
from cloudcmp.report.quote import show_plan
from cloudcmp.report.table import Head, table

from .payloads import ALL

_HIDDEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\u2028\u2029\ufeff]")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def printed(view: View, width: int = 80, **more: object) -> str:
    out = io.StringIO()
    exploratory = more.pop("exploratory", "hidden")
    show(Console(file=out, width=width, **more), view, exploratory=exploratory)  # type: ignore[arg-type]
    return out.getvalue()


def widest(text: str) -> int:
    return max(cell_len(line) for line in text.splitlines())


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 9])
def test_any_number_of_candidates_fits_eighty_columns(
    count: int,
    view_of: Callable[..., View],
    make_candidate: Callable,  # type: ignore[type-arg]
) -> None:
    names = [f"a-very-long-name-of-an-offering-{at}" if count == 4 else f"cloud-{at}" for at in range(count)]
    text = printed(view_of(tuple(make_candidate(at, "simulated", name, "0.1") for at, name in enumerate(names))))
    assert widest(text) <= 80
    assert "▲" in text or count == 1
    assert "12/12" in text


def test_a_narrow_terminal_still_gets_a_table(view: View) -> None:
    assert widest(printed(view, width=50)) <= 50


def test_the_table_says_value_interval_counts_and_verdict(view: View) -> None:
    text = printed(view)
    for words in ("[SIMULATED]", "floating point (fma), all threads", "▲ 336", "▼ 97.5", "12/12, 12/12, 11/12 trials",
                  "Gflop/s, more is better",
                  "gamma-2 better than alpha-2 (×3.45)", "practically the same as", "detectable 4.1 %", "n 6",
                  "USD per 1000 tasks", "No price: simulated/gamma-2", "warning: beta-2: its launches",
                  "beta-2 moves the most blobs", "exploratory of 12 cells"):  # fmt: skip
        assert words in text, words


def test_exploratory_cells_are_shown_without_a_verdict_when_asked_for(view: View) -> None:
    assert "wide-area round trip time" not in printed(view)
    text = printed(view, exploratory="full")
    assert "wide-area round trip time, europe, p50" in text
    assert "exploratory: no verdict" in text
    brief = printed(view, exploratory="brief")
    assert "wide-area round trip time, europe, p50" in brief
    assert len(brief) < len(text)
    assert widest(brief) <= 80


def test_one_candidate_is_a_table_without_a_comparison(view_of: Callable[..., View], make_candidate: Callable) -> None:  # type: ignore[type-arg]
    text = printed(view_of((make_candidate(0, "local", "one-cpu", None),)))
    assert "nothing to compare" in text
    assert "No price is known for any candidate: no cost figures." in text
    assert not re.search(r"[▲▼]|better than|SIMULATED", text)


def test_cannot_tell_says_why(view: View) -> None:
    unsure = tuple(
        replace(one, verdict=Verdict.CANNOT_TELL, reason="interval too wide", p_adjusted=0.4) if one.decides else one
        for one in view.analysis.comparisons
    )
    text = printed(replace(view, analysis=replace(view.analysis, comparisons=Listed(unsure), winners=())))
    assert "? 336" in text
    assert "interval too wide" in text


def test_a_candidate_without_values_cannot_be_best(view: View) -> None:
    lost = tuple(
        replace(one, median=None, median_bounds=None, n=0, n_ok=0, reason="all 12 trials failed")
        if one.candidate == 2 else one
        for one in view.analysis.estimates
    )  # fmt: skip
    text = printed(replace(view, analysis=replace(view.analysis, estimates=lost, winners=())))
    assert "no value" in text
    assert "0/12" in text
    assert not re.search(r"\b(nan|None|0\.0)\b", text)


def test_a_star_marks_the_cheapest_of_equals(view: View) -> None:
    first = view.analysis.winners[0]
    starred = replace(first, winners=(1, 0), starred=0)
    text = printed(replace(view, analysis=replace(view.analysis, winners=(starred, *view.analysis.winners[1:]))))
    assert "51.9*" in text
    assert "* alpha-2 is the cheapest of these" in text


@pytest.mark.parametrize("payload", ALL)
def test_p29_no_text_moves_the_cursor(payload: str, poison: Callable[[str], View]) -> None:
    text = printed(poison(payload))
    assert "\x1b" not in text
    assert not _HIDDEN.search(text)
    assert widest(text) <= 80


def test_p29_in_colour_only_our_own_colours_are_sent(poison: Callable[[str], View]) -> None:
    text = printed(poison("x\x1b[2J\x1b]8;;https://evil.example\x1b\\[bold]y"), force_terminal=True, no_color=False)
    assert "\x1b" in text
    assert "\x1b" not in _COLOUR.sub("", text)


def test_no_color_keeps_the_marks(view: View, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    text = printed(view, force_terminal=True)
    assert not re.search(r"\x1b\[[0-9;]*3[0-7]", text)
    assert "▲ 336" in text


def test_a_terminal_of_plain_ascii_gets_ascii(view: View) -> None:
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding="ascii", errors="strict")
    console = Console(file=out, width=80)
    show(console, view)
    show_plan(console, view.plan)
    out.flush()
    text = raw.getvalue().decode("ascii")
    assert "^ 336" in text
    assert "12/12, 12/12, 11/12" in text
    assert widest(text) <= 80


def test_a_plan_is_quoted(view: View) -> None:
    out = io.StringIO()
    show_plan(Console(file=out, width=80), view.plan)
    text = out.getvalue()
    for words in ("12 min 00 s", "4.80 USD", "18 on 18 launches", "4.0 % with 80 % power", "boot times"):
        assert words in text
    assert widest(text) <= 80


def test_a_table_aligns_numbers_and_folds_words() -> None:
    out = io.StringIO()
    rows = [("fma", 1.5, "a word " * 30, None), ("stream", Decimal("12.25"), "short", None)]
    table(Console(file=out, width=80), ("name", "value", "words", Head("n")), rows, title="probes", note="that is all")
    lines = out.getvalue().splitlines()
    assert lines[0].strip() == "probes"
    assert widest(out.getvalue()) <= 80
    values = [line[8:15] for line in lines if line.startswith(("fma", "stream"))]
    assert [value.rstrip()[-1] for value in values] == ["5", "5"]
    assert len({len(value.rstrip()) for value in values}) == 1
    assert "nan" not in out.getvalue()
    assert "None" not in out.getvalue()


def test_a_table_too_wide_for_columns_becomes_blocks() -> None:
    out = io.StringIO()
    table(Console(file=out, width=40), [Head(f"number {at}") for at in range(8)], [["123456789"] * 8])
    assert widest(out.getvalue()) <= 40
    assert "number 7: 123456789" in out.getvalue()


def test_a_table_without_rows_says_so() -> None:
    out = io.StringIO()
    table(Console(file=out, width=80), ("name", "value"), [])
    assert "nothing to show" in out.getvalue()


@pytest.mark.parametrize("terminal", [False, True])
@given(rows=st.lists(st.lists(st.text("ab %<", max_size=40), min_size=3, max_size=3), min_size=1, max_size=4))
def test_no_line_of_a_table_ends_in_blanks_and_every_word_is_there(rows: list[list[str]], terminal: bool) -> None:
    out = io.StringIO()
    console = Console(file=out, width=60, force_terminal=terminal, color_system=None)
    table(console, ["a", "b", "label"], rows)
    lines = out.getvalue().splitlines()
    assert all(line == line.rstrip() for line in lines)
    assert max(map(len, lines)) <= 60
    shown = "".join(out.getvalue().split())
    letters = "".join("".join(field.split()) for row in rows for field in row)
    assert sorted(char for char in shown.removeprefix("ablabel") if char not in "–") == sorted(letters)
