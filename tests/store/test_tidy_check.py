"""A table that is checked by columns: the same rows are taken, and the same faults told, as row by row."""

import csv
import io
import math
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.slices import examples
from tests.store.conftest import QUICK

from cloudcmp.catalog import METRICS
from cloudcmp.errors import UserMistake
from cloudcmp.store import tidy_read
from cloudcmp.store.tidy_agree import OUTCOMES, Faults, TidyRows
from cloudcmp.store.tidy_check import read_tidy
from cloudcmp.store.tidy_read import read_table
from cloudcmp.store.tidy_rows import RowChecker

NAMES = ("provider", "region", "offering", "instance", "round", "session", "time", "metric", "params", "unit", "better",
         "value", "outcome", "price_usd_per_hour", "vcpus", "note")  # fmt: skip
RIGHT = {
    "provider": ["aws", "", "imported"], "region": ["eu", ""], "offering": ["A", "B", " A"], "instance": ["i1", "i2"],
    "round": ["0", "1", "1.0", "1e0"], "session": ["", "night"], "metric": ["rtt_s", "score"],
    "params": ["", "k=1", "b=2;a=1"],
    "time": ["2026-01-31T12:00:00.250000Z", "2026-01-31 12:00", "1700000000.5", "", "2026-01-31T12:00:00Z"],
    "unit": ["s"], "better": ["", "lower"], "value": ["1", "2.5e-3", "+7", " 3", ".5", "1.", "1e5", "0.1"],
    "outcome": ["", "ok"], "price_usd_per_hour": ["0.10", "", "0.1"], "vcpus": ["2", "2.0", ""],
    "note": ["", "x", "'=y"],
}  # fmt: skip
WRONG = {
    "offering": [""], "metric": ["", "m m"], "unit": ["ms", ""], "better": ["up", "higher"],
    "round": ["x", "-1", "1.5"],
    "value": ["", "nan", "inf", "1e999", "0", "-1", "1e60", "1_0", "0x1", "1,5", "\x1b", "٣"],
    "outcome": ["failed", "lost", "invalid"], "time": ["noon", "-5", "2026-13-01T00:00:00Z", "1e300"],
    "params": ["k", "=", "a=1;a=2"],
    "price_usd_per_hour": ["0.2", "x", "-1"], "vcpus": ["0", "4"], "note": ["z", "\u202e"], "instance": ["", "i3"],
}  # fmt: skip
FIXED = ("offering", "metric", "unit", "value")


@st.composite
def tables(draw: st.DrawFn) -> tuple[tuple[str, ...], list[list[str]]]:
    """Columns and rows, mostly right, so that what is wrong stands among much that is not."""
    extra = draw(st.lists(st.sampled_from([name for name in NAMES if name not in FIXED]), unique=True, max_size=12))
    names = tuple(draw(st.permutations([*FIXED, *extra])))
    bad = draw(st.sampled_from([0, 0, 5, 30]))
    rows = []
    for _ in range(draw(st.integers(1, 25))):
        row = [draw(st.sampled_from(RIGHT[name])) for name in names]
        if bad and draw(st.integers(0, bad)) == 0:
            at = draw(st.integers(0, len(names) - 1))
            row[at] = draw(st.sampled_from(WRONG.get(names[at], [""])))
        rows.append(row)
    return names, rows


Taken = list[tuple[object, ...]] | list[str]


def by_columns(path: Path) -> Taken:
    """What is read of a table, or its faults."""
    try:
        table = read_tidy(path, METRICS)
    except UserMistake as error:
        return [fault.line() for fault in error.faults]
    rows = table.rows
    found: list[tuple[object, ...]] = []
    for chunk in rows.chunks:
        for launch, cell, value, outcome, time in zip(
            chunk.launch, chunk.cell, chunk.value, chunk.outcome, chunk.time, strict=True
        ):
            met = rows.launches[launch]
            of = (rows.keys[met.key], met.round, met.session, rows.cells[cell], OUTCOMES[outcome])
            found.append((*of, *(None if math.isnan(number) else float(number) for number in (value, time))))
    return [*found, *table.metrics.items(), *table.attributes.items(), (table.has_rounds, table.has_instances)]


def by_rows(path: Path) -> Taken:
    """The same, each row checked as such."""
    try:
        raw = read_table(path)
        faults = Faults(path)
        checker = RowChecker(faults, METRICS, raw.columns)
        told = [block.row(at) for block in raw.blocks for at in range(block.count)]
        rows = [row for place in told if place and (row := checker.row(*place))]
        if not rows and not faults:
            faults.add(str(path), "the table has no rows", "write at least one")
        agreed = checker.agreement.table(path, TidyRows((), (), (), ()))
    except UserMistake as error:
        return [fault.line() for fault in error.faults]
    found = [(row.key, row.round, row.session, row.cell, row.outcome, row.value, row.time) for row in rows]
    return [*found, *agreed.metrics.items(), *agreed.attributes.items(), (agreed.has_rounds, agreed.has_instances)]


def written(folder: Path, names: tuple[str, ...], rows: list[list[str]], how: str) -> Path:
    """A file of the table: CSV with quotes or without, or Parquet of texts, or of numbers where all are such."""
    path = folder / f"t.{'parquet' if 'parquet' in how else 'csv'}"
    if "parquet" in how:
        columns = {name: pa.array([row[at] for row in rows], pa.string()) for at, name in enumerate(names)}
        if how == "typed parquet":
            columns = {name: typed(column) for name, column in columns.items()}
        pq.write_table(pa.table(columns), path, row_group_size=7)
        return path
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL if how == "quoted csv" else csv.QUOTE_MINIMAL)
    writer.writerows([names, *rows])
    content = text.getvalue()
    if how == "last line open":
        content = content.rstrip("\n")
    if how == "windows csv":
        content = content.replace("\n", "\r\n").replace("\r\n", "\r\n,,,\r\n", 1) if len(names) == 4 else content
    path.write_bytes(content.encode())
    return path


def typed(column: pa.Array) -> pa.Array:
    """A column of texts as numbers where it holds only those, null where empty; else as a dictionary."""
    texts = [text or None for text in column.to_pylist()]
    try:
        numbers = [None if text is None else float(text) for text in texts]
        return pa.array(numbers, pa.float64())
    except ValueError:
        return pa.array(texts, pa.string()).dictionary_encode()


HOW = ("csv", "quoted csv", "last line open", "windows csv", "parquet", "typed parquet")


@pytest.mark.parametrize("how", HOW)
@settings(max_examples=examples(120, 10), deadline=None)
@given(table=tables(), at_once=st.sampled_from([3, 64, 65536]))
def test_columns_and_rows_say_the_same(how: str, table: tuple[tuple[str, ...], list[list[str]]], at_once: int) -> None:
    with TemporaryDirectory(dir=QUICK) as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(tidy_read, "_ROWS_AT_ONCE", at_once)
        patch.setattr(tidy_read, "_BLOCK_BYTES", 16 * at_once)
        path = written(Path(folder), *table, how)
        assert by_columns(path) == by_rows(path)


def test_tables_of_all_kinds_are_tried() -> None:
    """Of the drawn tables many are taken, and many have faults: else the test above would show little."""
    seen = {"taken": 0, "faulty": 0}

    @settings(max_examples=examples(100, 3), deadline=None, database=None)
    @given(tables())
    def count(table: tuple[tuple[str, ...], list[list[str]]]) -> None:
        with TemporaryDirectory(dir=QUICK) as folder:
            found = by_columns(written(Path(folder), *table, "csv"))
        seen["faulty" if isinstance(found[0], str) else "taken"] += 1

    count()
    assert min(seen.values()) >= examples(10, 3)
