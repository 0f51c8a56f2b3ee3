from dataclasses import fields

import pytest

from cloudcmp.analysis.published.cell_claims import cell_text
from cloudcmp.errors import UserMistake
from cloudcmp.published import Document, Table, documents, load

DEVAL = load("deval-2017")

# Which tables of the document hold what, so that a row lost in typing is seen: number -> (rows, columns).
SHAPES = {
    **{str(n): (4, 5) for n in (5, 6, 7)},
    **{str(n): (4, 3) for n in (8, 12, 16, 20, 24, 28)},
    **{str(n): (5, 5) for n in (9, 10, 13, 14, 17, 18, 21, 22, 25, 26, 29, 30, 33, 36, 39)},
    **{str(n): (4, 2) for n in (11, 15, 19, 23, 27, 31, 32, 34, 35, 37, 38, 40)},
    **{f"A.{n}": (13, 4) for n in (1, 2)},
    **{f"D.{n}": (6, 3) for n in (1, 2, 3)},
    **{f"D.{n}": (24, 4) for n in (4, 5, 6)},
    **{f"D.{n}": (12, 3) for n in (7, 8, 9)},
}


def test_every_document_can_be_loaded_under_its_own_name():
    assert "deval-2017" in documents()
    for name in documents():
        document = load(name)
        assert document.name == name
        assert document.author
        assert document.title
        assert document.source
        assert "undated" in document.source if document.year is None else 1990 <= document.year <= 2100


def test_an_unknown_document_is_refused_with_the_known_ones():
    with pytest.raises(UserMistake, match=r"no published document 'deval'; there are: .*deval-2017"):
        load("deval")


def test_tables_5_to_40_and_the_appendices_are_there_in_order_and_whole():
    assert {table.number: (len(table.rows), len(table.columns)) for table in DEVAL.tables} == SHAPES
    assert [table.number for table in DEVAL.tables] == [
        *(str(n) for n in range(5, 41)),
        "A.1",
        "A.2",
        *(f"D.{n}" for n in range(1, 10)),
    ]


@pytest.mark.parametrize("name", documents())
def test_every_table_says_where_it_stands_and_is_rectangular(name: str):
    for table in load(name).tables:
        assert table.title
        assert table.page
        assert table.section
        assert table.unit
        assert all(len(row) == len(table.columns) for row in table.rows), table.number
        assert len(set(table.names())) == len(table.rows), f"table {table.number} has two rows of one name"
        assert all(cell == cell.strip() for row in table.rows for cell in row)


@pytest.mark.parametrize("name", documents())
def test_a_cell_without_a_figure_is_explained(name: str):
    for table in load(name).tables:
        empty = [row for row in table.rows if "" in row]
        # The index score of UnixBench is the only row that has no baseline and no result by its nature.
        if any(row[0] != "System Benchmarks Index Score" for row in empty):
            assert table.note, table.number


@pytest.mark.parametrize("name", documents())
def test_relations_and_claims_speak_of_tables_and_columns_that_exist(name: str):
    document = load(name)
    for relation in document.relations:
        assert relation.section
        for reference in (*relation.of, *relation.tables):
            number, _, column = reference.partition(":")
            assert not column or document.table(number).column(column)
            document.table(number)
        assert set(relation.exact) <= set(relation.of)
        if relation.into:
            document.table(relation.into).column(relation.column)
    for claim in document.claims:
        assert claim.page
        assert claim.quote
        for reference in (*claim.tables, *claim.against):
            number, _, column = reference.partition(":")
            if column:
                document.table(number).column(column)
            else:
                assert document.table(number).figures()
        assert all(cell_text(document, name) for name in claim.cells)


@pytest.mark.parametrize("name", documents())
def test_what_is_not_covered_says_why_and_is_named_once(name: str):
    uncovered = load(name).uncovered
    assert uncovered
    assert all(one.title and one.page and one.section and one.reason for one in uncovered)
    assert len({one.number for one in uncovered}) == len(uncovered)


# The tables of the four other documents, so that a row lost in typing is seen: number -> (rows, columns).
OTHERS = {
    "cloudcmp-2010": {"1": (4, 4), "2": (7, 3), "3": (15, 4), "4": (3, 4), "5": (3, 3), "6": (11, 4)},
    "rodamilans-2014": {
        "1": (9, 5), "2": (3, 4), "3": (7, 4), "4": (7, 4), "5": (3, 5), "6": (4, 4), "7": (2, 4),
    },
    "delgado-2010": {"3.1": (4, 6), "3.2": (3, 3), "3.3": (3, 3), "3.4": (18, 6), "4.1": (4, 6), "4.2": (7, 4)},
    "shah": {
        "Disk Benchmarking": (24, 6), "Network Benchmarking": (12, 7), "Floating point": (3, 2), "Integer": (3, 2),
    },
}  # fmt: skip


@pytest.mark.parametrize("name", OTHERS)
def test_every_numbered_table_of_the_other_documents_is_there_and_whole(name: str):
    tables = {table.number: (len(table.rows), len(table.columns)) for table in load(name).tables}
    assert {number: tables[number] for number in OTHERS[name]} == OTHERS[name]
    if name != "shah":
        numbered = {number for number in tables if number.replace(".", "").isdigit()}
        assert numbered == set(OTHERS[name])


def test_slips_of_the_other_documents_are_kept_as_printed():
    assert load("shah").table("Disk Benchmarking").column("Latency(ms)")["19, Write Random, 1B"] == "262.96"
    assert load("rodamilans-2014").table("1").column("ec2.large")["RAM (GB)"] == "60.05"
    assert load("delgado-2010").table("4.1").column("GMT peak hours")["Asia"] == "2:00-4:00"


def test_every_derived_table_has_a_relation():
    """Tables 5 to 7 are specifications; every other is derived, held to bounds, or marked as not printed."""
    named = {number for r in DEVAL.relations for number in (r.into, *r.tables)}
    assert {table.number for table in DEVAL.tables} - named == {"5", "6", "7"}


def test_slips_are_kept_as_printed():
    assert DEVAL.table("8").column("Multi-threaded score")["Microsoft Azure"] == "919.19"
    assert DEVAL.table("12").rows[3][1:] == DEVAL.table("12").rows[0][1:]
    assert DEVAL.table("30").rows == DEVAL.table("29").rows
    assert DEVAL.table("13").column("Amazon EC2 (score)")["Session-2"] == "1309"
    assert DEVAL.table("29").column("Google Compute Engine (MB/s)")["Coefficient of Variation %"] == "2.2%"
    assert DEVAL.table("D.1").column("Multi-threaded test")["GCE Vs Amazon EC2"] == "2.418E-09"


def test_a_missing_table_or_column_is_named():
    with pytest.raises(KeyError, match="deval-2017 has no table 41"):
        DEVAL.table("41")
    with pytest.raises(KeyError, match="table 8 has no column 'Score'"):
        DEVAL.table("8").column("Score")


def test_data_is_frozen_all_the_way_down():
    assert all(field.type is not list for kind in (Document, Table) for field in fields(kind))
    assert all(isinstance(table.rows, tuple) and isinstance(table.rows[0], tuple) for table in DEVAL.tables)
    hash(DEVAL.table("8"))
