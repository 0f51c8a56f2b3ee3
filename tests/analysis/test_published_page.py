"""docs/published-NAME.md show every finding as the code gives it, so that no page can fall behind."""

from pathlib import Path

import pytest
from tests.analysis.recomputed import recomputed

from cloudcmp.analysis.published import Verdict
from cloudcmp.published import documents

DOCS = Path(__file__).parents[2] / "docs"
NAMES = documents()


def _lines(name: str) -> list[str]:
    return (DOCS / f"published-{name}.md").read_text(encoding="utf-8").splitlines()


def _rows_under(name: str, title: str) -> list[str]:
    lines = _lines(name)
    if title not in lines:
        return []
    rest = lines[lines.index(title) + 1 :]
    end = next((i for i, line in enumerate(rest) if line.startswith("## ")), len(rest))
    return [line for line in rest[:end] if line.startswith("| ")][1:]


@pytest.mark.parametrize("name", NAMES)
def test_the_page_shows_every_figure_that_does_not_follow(name: str):
    assert _rows_under(name, "## Figures that do not follow") == [
        f"| {c.table} | {c.page} | {c.row}, {c.column} | {c.what}{f'; {c.note}' if 'cut off' in c.note else ''} "
        f"| {c.printed or 'not printed'} | {c.recomputed_text() or 'a copy'} |"
        for c in recomputed(name).checks_with(Verdict.DOES_NOT_FOLLOW)
    ]


@pytest.mark.parametrize("name", NAMES)
def test_the_page_shows_every_sentence_that_does_not_follow(name: str):
    assert _rows_under(name, "## Sentences that do not follow") == [
        f"| {c.section}, p. {c.page} | {c.quote} | {c.found} |"
        for c in recomputed(name).claims
        if c.verdict is Verdict.DOES_NOT_FOLLOW
    ]


@pytest.mark.parametrize("name", NAMES)
def test_the_page_shows_every_sentence_that_cannot_be_decided(name: str):
    assert _rows_under(name, "## Sentences that cannot be decided") == [
        f"| {c.section}, p. {c.page} | {c.quote} | {c.found}; {c.note} |"
        for c in recomputed(name).claims
        if c.verdict is Verdict.NOT_PRINTED
    ]


@pytest.mark.parametrize("name", NAMES)
def test_the_page_shows_everything_that_is_not_covered(name: str):
    assert _rows_under(name, "## Not covered") == [
        f"| {one.number} | {one.section} | {one.title} | {one.reason} |" for one in recomputed(name).uncovered
    ]


@pytest.mark.parametrize("name", [name for name in NAMES if name != "deval-2017"])
def test_the_page_counts_what_follows(name: str):
    result = recomputed(name)
    follow = len(result.checks_with(Verdict.FOLLOWS))
    said = sum(claim.verdict is Verdict.FOLLOWS for claim in result.claims)
    if result.checks:
        told = f"Of {len(result.checks)} figures, {follow} follow; of {len(result.claims)} sentences, {said} do."
    else:
        told = f"Of {len(result.claims)} sentences, {said} follow."
    assert told in _lines(name)


@pytest.mark.parametrize("name", NAMES)
def test_the_page_is_short(name: str):
    assert len(_lines(name)) < 150
