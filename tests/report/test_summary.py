"""The cards of the report: who wins, ties and may still win, and which of many candidates are shown."""

import re

import pytest
from tests.analysis.planted import CHASE, FMA, FMA_ALL, LU
from tests.report.test_first_screen import study

from cloudcmp.report.html import render
from cloudcmp.report.report_model import StudyView
from cloudcmp.report.sheets.summary import cards, sentences

CARD = re.compile(r"wins (\d+) of (\d+)(?:, ties in (\d+))?(?:, may win (\d+))?")


def counts(words: str) -> tuple[int, int, int, int]:
    found = CARD.fullmatch(words)
    assert found, words
    wins, of, ties, open_ = (int(one or 0) for one in found.groups())
    return wins, of, ties, open_


@pytest.mark.parametrize("candidates", [2, 3, 5])
def test_the_cards_agree_with_the_sentence(candidates: int) -> None:
    view = StudyView.of(study(candidates))
    shown = {one.name: counts(one.wins) for one in cards(view)}
    said = sentences(view)[0]
    for name, number in re.findall(r"(c\d) wins (\d+)", said):
        assert shown[name][0] == int(number)
    assert {of for _, of, _, _ in shown.values()} == {5}
    assert all(open_ == 1 for *_, open_ in shown.values()), shown  # nothing can be told of the last cell
    assert list(shown) == sorted(shown, key=lambda name: -shown[name][0])


def test_of_many_candidates_the_cards_show_those_that_win() -> None:
    view = StudyView.of(study(12, priced=True, cells=(FMA_ALL, LU, CHASE)))
    shown = [one.name for one in cards(view)]
    assert len(shown) == 6
    winners = {
        view.short[at]
        for cell in view.cells
        for standing in (cell.standing, cell.money)
        if standing and standing.winner
        for at in standing.winner.winners
    }
    assert {"c11", "c0"} <= winners & set(shown)  # the fastest, and the most for the money


def test_a_name_may_break_between_its_parts_but_not_inside_them() -> None:
    text = render(study(), ()).replace("<wbr>", "|")
    assert not re.search(r"\|[ <]", text)
    assert "sim|ulated" not in text


def test_one_candidate_has_no_card() -> None:
    assert cards(StudyView.of(study(1, cells=(FMA,)))) == ()
