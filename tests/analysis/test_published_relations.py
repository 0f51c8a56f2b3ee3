"""That slips are found wherever they are: documents with planted ones, and real tables with one figure changed."""

from dataclasses import replace

import pytest
from tests.analysis.recomputed import deval, result
from tests.slices import spread

from cloudcmp.analysis.published import Recomputation, Verdict, recompute
from cloudcmp.analysis.published.claims import KINDS as CLAIM_KINDS
from cloudcmp.analysis.published.relations import KINDS, repeats
from cloudcmp.published import Claim, Document, Relation, Table, documents, load


def _sessions(number: str, ash: list[str], birch: list[str], covs: tuple[str, str] = ("40.00%", "0.00%")) -> Table:
    rows = [(f"Session-{i}", a, b) for i, (a, b) in enumerate(zip(ash, birch, strict=True), 1)]
    rows.append(("Coefficient of Variation %", *covs))
    return Table(number, "", "1", "1", "MB/s", ("Sessions", "Ash (MB/s)", "Birch (MB/s)"), tuple(rows))


def _by_platform(number: str, column: str, ash: str, birch: str) -> Table:
    return Table(number, "", "1", "1", "MB/s", ("Platforms", column), (("Ash", ash), ("Birch", birch)))


def _document(
    tables: list[Table], relations: list[Relation] | None = None, claims: list[Claim] | None = None
) -> Document:
    labels = {"Ash": "Ash", "Birch": "Birch"}
    return Document("made", "", "", 2000, "", tuple(tables), tuple(relations or ()), tuple(claims or ()), labels)


def _verdicts(document: Document) -> list[Verdict]:
    return [check.verdict for check in recompute(document).checks]


def _claim(kind: str, printed: list[Table], **fields: object) -> Verdict:
    claim = Claim(kind, "1", "1", "", **fields)  # type: ignore[arg-type]
    return recompute(_document(printed, claims=[claim])).claims[0].verdict


def _with_cell(document: Document, number: str, row: int, column: int, text: str) -> Document:
    def changed(table: Table) -> Table:
        cells = [list(r) for r in table.rows]
        cells[row][column] = text
        return replace(table, rows=tuple(map(tuple, cells)))

    tables = tuple(changed(t) if t.number == number else t for t in document.tables)
    return replace(document, tables=tables)


def _bad(result: Recomputation) -> set[tuple[str, str, str, str]]:
    return {(c.table, c.row, c.column, c.what) for c in result.checks_with(Verdict.DOES_NOT_FOLLOW)}


def test_every_kind_that_documents_use_is_known_and_every_known_kind_is_used():
    used = [load(name) for name in documents()]
    assert {r.kind for d in used for r in d.relations} == set(KINDS)
    assert {c.kind for d in used for c in d.claims} == set(CLAIM_KINDS)


def test_a_median_follows_or_not():
    sessions = _sessions("1", ["1.00", "2.00", "3.00", "9.00"], ["5.00"] * 4)
    relation = Relation("median", "1", into="2", column="Score", of=("1",))
    assert _verdicts(_document([sessions, _by_platform("2", "Score", "2.50", "5.01")], [relation])) == [
        Verdict.FOLLOWS,
        Verdict.FOLLOWS,  # 5.00 +- 0.005 meets 5.01 +- 0.005
    ]
    assert _verdicts(_document([sessions, _by_platform("2", "Score", "2.52", "5.02")], [relation])) == [
        Verdict.DOES_NOT_FOLLOW,
        Verdict.DOES_NOT_FOLLOW,
    ]


def test_a_pooled_median_is_refuted_outside_the_bounds_and_else_left_open():
    sessions = _sessions("1", ["10.0", "20.0", "30.0", "40.0"], ["5.0"] * 4)
    relation = Relation("pooled_median", "1", into="2", column="Score", of=("1",), count=3)
    document = _document([sessions, _by_platform("2", "Score", "35.0", "5.2")], [relation])
    assert _verdicts(document) == [Verdict.NOT_PRINTED, Verdict.DOES_NOT_FOLLOW]


def test_a_cov_follows_or_not():
    tables = [_sessions("1", ["1.000", "2.000", "3.000"], ["5.000"] * 3, ("50.0%", "0.5%"))]
    relation = Relation("cov", "1", tables=("1",))
    assert _verdicts(_document(tables, [relation])) == [Verdict.FOLLOWS, Verdict.DOES_NOT_FOLLOW]


def test_a_value_that_needs_another_price_is_found():
    scores = [_by_platform(n, "Score", "10.00", "30.00") for n in ("1", "2", "3")]
    values = [_by_platform(n, "Value", a, "60.00") for n, a in (("4", "100.00"), ("5", "100.00"), ("6", "120.00"))]
    relation = Relation("price_performance", "1", of=("1", "2", "3"), tables=("4", "5", "6"))
    found = _bad(recompute(_document([*scores, *values], [relation])))
    assert found == {
        ("4, 5, 6", "Ash", "charge", "charge behind 1 Score, 2 Score, 3 Score"),
        ("6", "Ash", "Value", "3 Score / charge"),
    }


def test_columns_and_rows_that_repeat_are_found():
    one = _sessions("1", ["1.1", "1.2", "1.3", "1.4"], ["2.1", "2.2", "2.3", "2.4"], ("1.0%", "2.0%"))
    two = _sessions("2", ["1.1", "1.2", "1.3", "1.5"], ["2.1", "2.2", "2.3", "2.4"], ("1.0%", "2.0%"))
    rows = Table("3", "", "1", "1", "s", ("Platforms", "a", "b"), (("Ash", "1.5", "2.5"), ("Birch", "1.5", "2.5")))
    found = _bad(recompute(_document([one, two, rows], [Relation("distinct", "1", tables=("1", "2", "3"))])))
    assert found == {
        ("2", "all", "Birch", "repeats table 1 Birch"),
        ("3", "Birch", "all", "repeats row Ash"),
    }


def test_a_column_repeats_another_over_the_cells_that_both_print():
    assert repeats(("1", "", "3", "4", "5"), ("1", "2", "3", "4", "5"))
    assert not repeats(("1", "", "3", "4", "5"), ("1", "2", "3", "4", "6"))
    assert not repeats(("1", "2", "3"), ("1", "2", "3"))
    assert not repeats(("1", "2", "3", "4"), ("1", "2", "3", "4", "5"))


@pytest.mark.parametrize("number", spread(["8", "9", "11", "31", "D.2", "A.1"], 2))
def test_one_changed_figure_of_the_real_tables_is_found(number: str):
    """The first figure of a table in which all follows is raised a thousandfold: something must not follow any more."""
    table = deval().table(number)
    row, column = (len(table.rows) - 1, 3) if number == "A.1" else (0, table.keys)
    cell = table.rows[row][column]
    changed = _with_cell(deval(), number, row, column, f"9999{cell}")
    new = _bad(recompute(changed)) - _bad(result())
    assert any(number in (part.strip() for part in where.split(",")) for where, *_ in new)


def test_a_corrected_document_has_the_slip_no_more():
    document = _with_cell(deval(), "8", 2, 2, "625.58")
    tables = {table for table, *_ in _bad(recompute(document))}
    assert "8" not in tables
    assert "11" in tables, "its value was made with the wrong median"


def test_superlatives_are_strict():
    table = [_by_platform("1", "Score", "2.0", "2.0")]
    assert _claim("highest", table, tables=("1",), names=("Ash",)) is Verdict.DOES_NOT_FOLLOW
    assert _claim("lowest", table, tables=("1",), names=("Ash",)) is Verdict.DOES_NOT_FOLLOW
    table = [_by_platform("1", "Score", "2.0", "1.0")]
    assert _claim("highest", table, tables=("1",), names=("Ash",)) is Verdict.FOLLOWS
    assert _claim("lowest", table, tables=("1",), names=("Birch",)) is Verdict.FOLLOWS
    assert _claim("lowest_of_all", table, tables=("1",), names=("Ash",)) is Verdict.DOES_NOT_FOLLOW


@pytest.mark.parametrize(("stated", "verdict"), [("2", "follows"), ("1.8", "follows"), ("1.7", "does not follow")])
def test_a_ratio_follows_by_rounding(stated: str, verdict: str):
    table = [_by_platform("1", "Score", "17.60", "10.00")]
    assert _claim("times", table, tables=("1",), names=("Ash", "Birch"), stated=stated) == verdict


@pytest.mark.parametrize(
    ("cells", "names", "verdict"),
    [
        (("0.01", "0.04", "0.5"), ("A/B", "A/C"), Verdict.FOLLOWS),
        (("0.01", "0.04", "0.5"), ("A/B",), Verdict.DOES_NOT_FOLLOW),
        (("0.01", "0.06", "0.5"), ("A/B", "A/C"), Verdict.DOES_NOT_FOLLOW),
        (("0.01", "", "0.5"), ("A/B", "A/C"), Verdict.NOT_PRINTED),
    ],
)
def test_significance_is_of_these_pairs_and_no_others(cells: tuple[str, ...], names: tuple[str, ...], verdict: Verdict):
    rows = tuple(zip(("A Vs B", "A Vs C", "B Vs C"), cells, strict=True))
    table = Table("1", "", "1", "1", "p-value", ("Pairs", "p"), rows, note="one cell cannot be read")
    assert _claim("significant", [table], tables=("1",), names=names) is verdict


def test_close_is_measured_by_what_the_document_calls_far():
    offers = Table("1", "", "1", "1", "", ("Platforms", "Up to"), (("Ash", "1Gbps"), ("Birch", "500Mbps")))
    measured = _by_platform("2", "Throughput", "950.0", "200.0")
    far = Claim("much_lower", "1", "1", "", tables=("2",), against=("1",), names=("Birch",))
    near = Claim("near", "1", "1", "", tables=("2",), against=("1",))

    def verdict(table: Table, claims: list[Claim]) -> Verdict:
        return recompute(_document([offers, table], claims=claims)).claims[0].verdict

    assert verdict(measured, [near, far]) is Verdict.DOES_NOT_FOLLOW
    assert verdict(measured, [near]) is Verdict.NOT_PRINTED, "without a yardstick nothing is close or far"


def test_a_claim_on_a_copied_column_is_left_open():
    one = _sessions("1", ["1.1", "1.2", "1.3", "1.4"], ["2.1", "2.9", "2.3", "2.4"], ("9.0%", "13.0%"))
    two = replace(one, number="2")
    claim = Claim("steadiest", "1", "1", "", tables=("2",), names=("Ash",))
    document = _document([one, two], [Relation("distinct", "1", tables=("1", "2"))], [claim])
    assert recompute(document).claims[0].verdict is Verdict.NOT_PRINTED
    wrong = replace(document, claims=(replace(claim, names=("Birch",)),))
    assert recompute(wrong).claims[0].verdict is Verdict.DOES_NOT_FOLLOW
