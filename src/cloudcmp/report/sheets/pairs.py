"""Every candidate against every other: effects, tests and what could have been told."""

from collections.abc import Sequence

from cloudcmp.model.result import Comparison
from cloudcmp.report import numbers
from cloudcmp.report.book import MARKS, Book, Page
from cloudcmp.report.sheets.sheet import KINDS, Column, Field, Row, Sheet, captioned, heading, row
from cloudcmp.report.text import without_common
from cloudcmp.report.words import direction

MOST_ROWS = 2000
_COLUMNS = (
    Column("pair", hint="with the trials of each that gave a value, of those started"),
    Column("verdict", hint="on the first of the pair"),
    Column("effect", True, "first / second as a change, or a difference; with its 95 % interval"),
    Column("p adjusted", True, "paired t by round on log launch values; Holm (exploratory: Benjamini-Hochberg)"),
    Column("p paired", True, "before the correction"),
    Column("p Welch", True, "Welch's t, unpaired, as the literature used it"),
    Column("Hodges-Lehmann", True, "median of all pairwise effects"),
    Column("Cliff's δ", True, "-1 to 1: how often the first is above the second, less how often it is below"),
    Column("detectable", True, "smallest true effect that this many launches would find with 80 % power"),
    Column("n", True, "rounds with both, or launches"),
)  # fmt: skip


def sheets(book: Book) -> tuple[Sheet, ...]:
    """The cells that decide, then those that are exploratory; a long table ends with how many pairs it leaves out."""
    deciding = [page for page in book.pages if page.decides and page.comparisons]
    others = [page for page in book.pages if not page.decides and page.comparisons]
    made = []
    for words, pages in (("Every pair in the cells that decide", deciding), ("Exploratory cells: no verdicts", others)):
        if pages:
            made.append(_sheet(book, words, pages))
    return tuple(made)


def _sheet(book: Book, words: str, pages: list[Page]) -> Sheet:
    rows: list[Row] = []
    left, names = 0, without_common([some.id for some in book.candidates])
    for page in pages:
        if len(rows) + len(page.comparisons) > MOST_ROWS:
            left += len(page.comparisons)
            continue
        rows.append(heading(page.name, direction(page.metric)))
        rows += [_line(names, page, one) for one in page.comparisons]
    note = f"{left} further pairs are left to `cloudcmp compare --json`." if left else ""
    return Sheet(captioned(book.origin, words), _COLUMNS, tuple(rows), note)


def _line(names: Sequence[str], page: Page, one: Comparison) -> Row:
    unit = page.metric.unit
    kind, verdict = (KINDS[one.verdict], f"{MARKS[one.verdict]} {one.verdict}") if one.verdict else ("", "exploratory")
    marks = "; ".join(filter(None, (one.reason, *one.marks)))
    both = [page.estimates[at] for at in (one.a, one.b) if at in page.estimates]
    counts = " and ".join(f"{some.n_ok}/{some.n_started}" for some in both)
    middle = numbers.signed(one.hodges_lehmann, unit) if one.by_difference else numbers.ratio(one.hodges_lehmann)
    return row(
        Field(f"{names[one.a]} against {names[one.b]}", f"{counts} ok"),
        Field(verdict, marks, kind),
        Field(numbers.effect(one, unit), numbers.effect_bounds(one, one.bounds, unit)),
        numbers.probability(one.p_adjusted),
        numbers.probability(one.p_paired),
        numbers.probability(one.p_welch),
        middle,
        numbers.plain(one.cliffs_delta),
        numbers.detectable(one, unit),
        str(one.n),
    )
