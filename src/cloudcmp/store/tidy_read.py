"""Tables from people, read row by row into text: CSV or Parquet, untrusted."""

import csv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cloudcmp.errors import Fault, UserMistake
from cloudcmp.store.faults import storage
from cloudcmp.store.tidy import PARQUET_MAGIC, plain
from cloudcmp.store.untrusted_parquet import batches, opened_parquet

_ROWS_AT_ONCE = 64 * 1024


@dataclass(frozen=True, slots=True)
class RawTable:
    """The column names of a table and its rows: the place of each, and a text for each column."""

    columns: tuple[str, ...]
    rows: Iterator[tuple[str, list[str]]]


def read_table(path: Path) -> RawTable:
    """Open a table; the format is found from the first bytes.

    Raises UserMistake where the file is missing, is no table, or its columns have no or equal names; so may the rows.
    """
    if not path.is_file():
        raise _mistake(str(path), "is a folder" if path.is_dir() else "no such file", "name a CSV or Parquet file")
    with storage(path), path.open("rb") as file:
        is_parquet = file.read(4) == PARQUET_MAGIC
    rows = _parquet_rows(path) if is_parquet else _csv_rows(path)
    place, header = next(rows, (str(path), []))
    columns = tuple(name.strip() for name in header)
    if not any(columns):
        raise _mistake(str(path), "the table is empty", "write a header line with offering, metric, unit and value")
    for index, name in enumerate(columns):
        if not name:
            raise _mistake(place, f"column {index + 1} has no name", "name it, or remove it")
        if name in columns[:index]:
            raise _mistake(place, f"there are two columns {name!r}", "remove or rename one")
    return RawTable(columns, rows)


def _csv_rows(path: Path) -> Iterator[tuple[str, list[str]]]:
    """The lines of a CSV file, header first; the place of a row is the line on which it begins."""
    line = 0
    with storage(path), path.open("rb") as file:
        reader = csv.reader(_decoded(path, file), strict=True)
        try:
            for cells in reader:
                begun, line = line + 1, reader.line_num
                if any(cells):
                    yield f"{path}:{begun}", [plain(cell).strip() for cell in cells]
        except csv.Error as error:
            raise _mistake(f"{path}:{line + 1}", f"no CSV ({error})", "check the quotes of this line") from None


def _decoded(path: Path, lines: Iterable[bytes]) -> Iterator[str]:
    for number, line in enumerate(lines, 1):
        try:
            yield line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError:
            raise _mistake(f"{path}:{number}", "is not UTF-8 text", "save the table as UTF-8") from None


def _parquet_rows(path: Path) -> Iterator[tuple[str, list[str]]]:
    number = 0
    with opened_parquet(path, "write it again") as file:
        names = list(file.schema_arrow.names)
        yield str(path), names
        for batch in batches(file, path, names, _ROWS_AT_ONCE):
            columns = [[_text(cell) for cell in column.to_pylist()] for column in batch.columns]
            for cells in zip(*columns, strict=True):
                number += 1
                yield f"{path}:row {number}", list(cells)


def _text(cell: Any) -> str:
    """One cell of a Parquet file as the text that a CSV file would hold."""
    if cell is None:
        return ""
    return cell.strip() if isinstance(cell, str) else str(cell)


def _mistake(where: str, what: str, next: str) -> UserMistake:
    return UserMistake(Fault(where, what, next))
