"""docs/published-deval-2017.md shows every finding as the code gives it, so that the page cannot fall behind."""

from pathlib import Path

from tests.analysis.recomputed import result

from cloudcmp.analysis.published import Verdict

LINES = (Path(__file__).parents[2] / "docs" / "published-deval-2017.md").read_text(encoding="utf-8").splitlines()


def _rows_under(title: str) -> list[str]:
    start = LINES.index(title)
    rest = LINES[start + 1 :]
    end = next((i for i, line in enumerate(rest) if line.startswith("## ")), len(rest))
    return [line for line in rest[:end] if line.startswith("| ")][1:]


def test_the_page_shows_every_figure_that_does_not_follow():
    assert _rows_under("## Figures that do not follow") == [
        f"| {c.table} | {c.page} | {c.row}, {c.column} | {c.what} "
        f"| {c.printed or 'not printed'} | {c.recomputed_text() or 'a copy'} |"
        for c in result().checks_with(Verdict.DOES_NOT_FOLLOW)
    ]


def test_the_page_shows_every_sentence_that_does_not_follow():
    assert _rows_under("## Sentences that do not follow") == [
        f"| {c.section}, p. {c.page} | {c.quote} | {c.found} |"
        for c in result().claims
        if c.verdict is Verdict.DOES_NOT_FOLLOW
    ]


def test_the_page_shows_every_sentence_that_cannot_be_decided():
    assert _rows_under("## Sentences that cannot be decided") == [
        f"| {c.section}, p. {c.page} | {c.quote} | {c.found}; {c.note} |"
        for c in result().claims
        if c.verdict is Verdict.NOT_PRINTED
    ]


def test_the_page_is_short():
    assert len(LINES) < 150
