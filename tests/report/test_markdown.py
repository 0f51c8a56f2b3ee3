"""The answer as Markdown: a table that GitHub draws, in which no text from outside is markup."""

import re
from collections.abc import Callable

import pytest
from tests.report.payloads import MARKUP
from tests.report.test_first_screen import study

from cloudcmp.model.view import View
from cloudcmp.report.markdown import markdown


def test_the_table_has_values_marks_and_changes() -> None:
    lines = markdown(study(priced=True)).splitlines()
    assert "Of 5 measurements, c1 wins 2, c0 wins 2 and 1 is undecided." in lines
    table = [line for line in lines if line.startswith("|")]
    assert table[0] == "| measurement | c0 | c1 | next against the best |"
    assert len({line.count("|") for line in table}) == 1
    assert any("▲ 11" in line and "-9 %" in line for line in table)
    assert any("work for money" in line for line in table)
    assert "Not settled:" in lines


def test_many_candidates_are_a_table_of_the_best() -> None:
    table = [line for line in markdown(study(12)).splitlines() if line.startswith("|")]
    assert table[0] == "| measurement | best | next against the best |"
    assert "c11 ▲" in next(line for line in table if "floating point (fma), all threads" in line)


@pytest.mark.parametrize("payload", [one for one in MARKUP if len(one) < 400])
def test_p39_no_text_is_markup(payload: str, poison: Callable[[str], View]) -> None:
    text = markdown(poison(payload))
    for sign in "<`[*":
        assert not re.search(rf"(?<!\\)(\\\\)*[{re.escape(sign)}]", text.replace("**", ""))


def test_simulated_numbers_are_said_to_be(view: View) -> None:
    assert "> SIMULATED" in markdown(view)
