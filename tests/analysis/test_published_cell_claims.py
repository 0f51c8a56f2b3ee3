"""Sentences about single cells: each kind holds and fails where it must, and no sentence of a document holds always."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.analysis.recomputed import recomputed

from cloudcmp.analysis.published import Verdict, recompute
from cloudcmp.analysis.published.cell_claims import BETWEEN
from cloudcmp.published import Claim, Document, Relation, Table, Uncovered, documents, load

HOLDS, FAILS = Verdict.FOLLOWS, Verdict.DOES_NOT_FOLLOW


def _document(cells: dict[str, str], claim: Claim) -> Document:
    table = Table("1", "Costs of it", "1", "1", "s", ("what", "x"), tuple(cells.items()))
    plot = Uncovered("figure 2", "Random write", "1", "1", "a plot")
    return Document("made", "", "", 2000, "", (table,), claims=(claim,), uncovered=(plot,))


def _verdict(kind: str, cells: list[str], stated: str = "", **fields: object) -> Verdict:
    named = {f"r{at}": cell for at, cell in enumerate(cells)}
    names = tuple(f"1 | x | {row}" for row in named)
    claim = Claim(kind, "1", "1", "", stated=stated, cells=names, **fields)  # type: ignore[arg-type]
    return recompute(_document(named, claim)).claims[0].verdict


@pytest.mark.parametrize(
    ("kind", "cells", "stated", "verdict"),
    [
        ("cell_is", ["620 (1 HDD)"], "620", HOLDS),
        ("cell_is", ["2,048"], "2048", HOLDS),
        ("cell_is", ["620"], "630", FAILS),
        ("cell_is", ["1716.48"], "1.72E+3", HOLDS),
        ("cell_contains", ["1 (xeon 2.00 GHz)"], "2.00", HOLDS),
        ("cell_contains", ["1 (xeon 2.00 GHz)"], "2.66", FAILS),
        ("cells_alike", ["0.044", "0.043"], "", HOLDS),
        ("cells_alike", ["0.044", "0.042"], "", FAILS),
        ("cell_times", ["3.10", "0.90"], "3.5", HOLDS),
        ("cell_times", ["3.10", "0.80"], "3.5", FAILS),
        ("cell_percent", ["6", "11"], "45", FAILS),
        ("cell_percent", ["6", "11"], "55", HOLDS),
        ("cell_percent_more", ["0.34", "0.24", "0.68", "0.48"], "50", FAILS),
        ("cell_percent_more", ["0.34", "0.24", "0.68", "0.48"], "42", HOLDS),
        ("cell_less_than_percent_below", ["95.4", "100.0"], "5", HOLDS),
        ("cell_less_than_percent_below", ["94.9", "100.0"], "5", FAILS),
        ("cell_less_than_percent_below", ["101.0", "100.0"], "5", FAILS),
        ("cells_apart", ["9.09", "0.37"], "9", FAILS),
        ("cells_apart", ["9.42", "0.37"], "9", HOLDS),
        ("cells_above", ["2.0", "2.0"], "", FAILS),
        ("cells_above", ["2.1", "2.0", "1.0"], "", HOLDS),
        ("cells_above", ["2.1", "1.0"], "2.2", FAILS),
        ("cells_below", ["2.0", "2.0"], "", FAILS),
        ("cells_below", ["1.9", "2.0"], "", HOLDS),
        ("pairs_above", ["2", "1", "4", "3"], "", HOLDS),
        ("pairs_above", ["2", "1", "3", "3"], "", FAILS),
        ("pairs_above", ["2.1", "1.0", "4.0", "2.0"], "2", FAILS),
        ("pairs_mostly_above", ["2", "1", "4", "3", "1", "2"], "", HOLDS),
        ("pairs_mostly_above", ["2", "1", "3", "4"], "", FAILS),
        ("rising", ["1", "2", "3"], "", HOLDS),
        ("rising", ["1", "2", "2"], "", FAILS),
        ("falling", ["3", "2", "1"], "", HOLDS),
        ("falling", ["3", "2", "2"], "", FAILS),
        ("cell_sum", ["700000", "700000"], "1400000", HOLDS),
        ("cell_sum", ["700000", "600000"], "1400000", FAILS),
    ],
)
def test_each_kind_holds_and_fails(kind: str, cells: list[str], stated: str, verdict: Verdict):
    assert _verdict(kind, cells, stated) is verdict


@pytest.mark.parametrize(("last", "verdict"), [("4.5", HOLDS), ("4.9", FAILS)])
def test_growth_is_in_proportion_above_the_first_of_each_group(last: str, verdict: Verdict):
    cells = ["1.0", "3.0", "4.0", "1.5", "3.5", last]
    assert _verdict("grows_in_proportion", cells, names=("40", "60")) is verdict


@pytest.mark.parametrize(("printed", "verdict"), [("2:00-4:00", HOLDS), ("14:00-16:00", FAILS)])
def test_local_hours_move_against_the_time_zone(printed: str, verdict: Verdict):
    table = Table("1", "", "1", "1", "", ("where", "zone", "hours"), (("west", "-6", printed),))
    claim = Claim("local_hours", "1", "1", "", tables=("1:hours",), against=("1:zone",), stated="20-22")
    assert recompute(Document("made", "", "", 2000, "", (table,), claims=(claim,))).claims[0].verdict is verdict


@pytest.mark.parametrize(("dear", "verdict"), [("0.20", HOLDS), ("0.21", FAILS)])
def test_costs_are_comparable_up_to_a_factor_of_two(dear: str, verdict: Verdict):
    assert _verdict("costs_comparable", ["0.10", "0.15", dear], tables=("1",)) is verdict


@pytest.mark.parametrize(
    ("names", "stated", "verdict"),
    [((), "3", HOLDS), (("C1",), "2", HOLDS), (("C1", "Asia"), "0", HOLDS), (("C1", "US"), "2", FAILS)],
)
def test_rows_are_counted_that_have_all_names(names: tuple[str, ...], stated: str, verdict: Verdict):
    table = Table("1", "", "1", "1", "", ("who", "where"), (("C1", "US"), ("C1", "EU"), ("C4", "Asia")))
    claim = Claim("rows", "1", "1", "", tables=("1",), names=names, stated=stated)
    assert recompute(Document("made", "", "", 2000, "", (table,), claims=(claim,))).claims[0].verdict is verdict


@pytest.mark.parametrize(
    ("number", "stated", "verdict"),
    [("1", "costs", HOLDS), ("figure 2", "random write", HOLDS), ("figure 2", "random read", FAILS)],
)
def test_a_title_contains_the_words(number: str, stated: str, verdict: Verdict):
    assert _verdict("titled", ["1"], stated, names=(number,)) is verdict


@pytest.mark.parametrize(
    ("kind", "factor", "inputs", "printed", "verdict"),
    [
        ("scaled", "8", ("1.6975",), "13.58", HOLDS),
        ("scaled", "8", ("1.6975",), "13.59", FAILS),
        ("scaled", "1", ("10", "20"), "200", HOLDS),
        ("reciprocal", "1000", ("2.16",), "462.96", HOLDS),
        ("reciprocal", "1000", ("2.16",), "262.96", FAILS),
        ("complement", "87.6", ("99.95",), "4.4", HOLDS),
        ("complement", "87.6", ("99.95",), "4.3", FAILS),
    ],
)
def test_a_column_is_made_of_others(
    kind: str, factor: str, inputs: tuple[str, ...], printed: str, verdict: Verdict
):  # fmt: skip
    names = tuple(f"in {at}" for at in range(len(inputs)))
    table = Table("1", "", "1", "1", "s", ("what", *names, "out"), (("a", *inputs, printed), ("b", *inputs, "")))
    of = tuple(f"1:{name}" for name in names)
    exact = of if kind == "complement" or len(of) > 1 else ()
    relation = Relation(kind, "1", into="1", column="out", of=of, factor=factor, exact=exact)
    (check,) = recompute(Document("made", "", "", 2000, "", (table,), (relation,))).checks
    assert check.verdict is verdict


def test_a_figure_whose_digits_were_dropped_is_told_from_a_wrong_one():
    table = Table("1", "", "1", "1", "s", ("what", "in", "out"), (("a", "980.47", "1.01"), ("b", "2.16", "262.96")))
    relation = Relation("reciprocal", "1", into="1", column="out", of=("1:in",), factor="1000")
    cut, wrong = recompute(Document("made", "", "", 2000, "", (table,), (relation,))).checks
    assert (cut.note, wrong.note) == ("cut off, not rounded", "")


_PLACES = st.integers(0, 3)
_TRUTHS = st.floats(1.0, 500.0)


@given(_TRUTHS, _TRUTHS, _PLACES, _PLACES, st.integers(0, 2))
def test_a_ratio_of_rounded_figures_always_follows(a: float, b: float, at_a: int, at_b: int, at: int):
    """Whatever the true figures are, what was rounded from them must follow: the rule accuses nobody who rounds."""
    cells = [f"{a:.{at_a}f}", f"{b:.{at_b}f}"]
    ratio = a / b
    assert _verdict("cell_times", cells, f"{ratio:.{at}f}") is HOLDS
    assert _verdict("cell_percent", cells, f"{100.0 * ratio:.{at}f}") is HOLDS


@given(st.floats(0.2, 5000.0), st.integers(1, 3), _PLACES)
def test_a_reciprocal_of_a_rounded_figure_always_follows(value: float, places: int, at: int):
    table = Table("1", "", "1", "1", "s", ("x", "in", "out"), (("a", f"{value:.{places}f}", f"{1000 / value:.{at}f}"),))
    relation = Relation("reciprocal", "1", into="1", column="out", of=("1:in",), factor="1000")
    assert recompute(Document("made", "", "", 2000, "", (table,), (relation,))).checks[0].verdict is HOLDS


def _changed(document: Document, name: str, text: str) -> Document:
    number, column, row = name.split(BETWEEN)

    def of(table: Table) -> Table:
        at = table.columns.index(column)
        rows = tuple(
            (*cells[:at], text, *cells[at + 1 :])
            if row == " ".join(document.labels.get(key, key) for key in cells[: table.keys])
            else cells
            for cells in table.rows
        )
        return replace(table, rows=rows)

    return replace(document, tables=tuple(of(t) if t.number == number else t for t in document.tables))


HOLDING = [
    (name, at)
    for name in documents()
    for at, claim in enumerate(load(name).claims)
    if claim.cells and recomputed(name).claims[at].verdict is HOLDS
]


@pytest.mark.parametrize(("name", "at"), HOLDING)
def test_no_sentence_about_cells_holds_whatever_they_print(name: str, at: int):
    """Another figure in one of its cells refutes it."""
    document = load(name)
    claim = document.claims[at]
    changed = [_changed(document, cell, text) for cell in claim.cells for text in ("987654.3", "0.00012")]
    verdicts = [recompute(replace(one, relations=(), claims=(claim,))).claims[0].verdict for one in changed]
    assert FAILS in verdicts


# Of each document: figures, those that follow, sentences, those that follow.
COUNTS = {
    "cloudcmp-2010": (2, 2, 19, 14),
    "delgado-2010": (14, 12, 19, 13),
    "rodamilans-2014": (0, 0, 32, 21),
    "shah": (45, 37, 10, 6),
}


@pytest.mark.parametrize("name", COUNTS)
def test_how_many_follow(name: str):
    result = recomputed(name)
    follow = sum(claim.verdict is HOLDS for claim in result.claims)
    assert (len(result.checks), len(result.checks_with(HOLDS)), len(result.claims), follow) == COUNTS[name]
    assert not result.checks_with(Verdict.NOT_PRINTED)
