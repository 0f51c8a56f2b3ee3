"""Users' tables, read as blocks of columns: CSV (with commas, semicolons or tabs) or Parquet, untrusted."""

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cloudcmp.errors import Fault, UserMistake
from cloudcmp.store.arrow import texts
from cloudcmp.store.faults import storage
from cloudcmp.store.tidy import PARQUET_MAGIC, plain
from cloudcmp.store.tidy_dialect import HINT, NumberStyle, StyleEvidence, delimiter_of, number_columns, plain_number
from cloudcmp.store.untrusted_parquet import batches, opened_parquet

if TYPE_CHECKING:
    import pyarrow as pa

_ROWS_AT_ONCE = 64 * 1024
_BLOCK_BYTES = 8 * 2**20
_LONGEST_HEADER = 2**20
_LONGEST_LINE = 64 * 2**20
_NUMERIC = ("value", "time")
_AGAIN = "write it again"
_NEWLINE = b"\n"

Row = tuple[str, list[str]]
"""The place of a row, and a text for each of its cells."""


@dataclass(frozen=True, slots=True)
class Block:
    """Some rows of a table: Arrow columns of any type, as the file holds them, and each row as texts.

    `text_of` returns the text of a cell; `row` returns a row's place and cells, None for an ignored row such as a line
    of commas alone. `uneven` are rows with another number of cells than there are columns.
    """

    columns: "tuple[pa.Array, ...]"
    count: int
    text_of: Callable[[Any], str]
    row: Callable[[int], Row | None]
    uneven: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class RawTable:
    """The column names of a table, and its rows."""

    columns: tuple[str, ...]
    blocks: Iterator[Block]


@dataclass(frozen=True, slots=True)
class _Header:
    """The names of columns; for a CSV file also the line of the header, the lines and bytes up to its end, and the
    delimiter.
    """

    names: list[str]
    line: int = 0
    lines: int = 0
    offset: int = 0
    delimiter: str = ","


def read_table(path: Path) -> RawTable:
    """Opens a table; detects the format from the first bytes.

    Raises UserMistake if the file is missing, is not a table, or its columns have no or equal names; reading the blocks
    may raise it too.
    """
    if not path.is_file():
        raise _mistake(str(path), "is a folder" if path.is_dir() else "no such file", "name a CSV or Parquet file")
    with storage(path), path.open("rb") as file:
        is_parquet = file.read(4) == PARQUET_MAGIC
    header = _parquet_header(path) if is_parquet else _csv_header(path)
    place = f"{path}:{header.line}" if header.line else str(path)
    columns = tuple(name.strip() for name in header.names)
    if not any(columns):
        raise _mistake(str(path), "the table is empty", "write a header line with offering, metric, unit and value")
    for index, name in enumerate(columns):
        if not name:
            raise _mistake(place, f"column {index + 1} has no name", "name it, or remove it")
        if name in columns[:index]:
            raise _mistake(place, f"there are two columns {name!r}", "remove or rename one")
    return RawTable(columns, _parquet_blocks(path, header.names) if is_parquet else _csv_blocks(path, header))


def table_of(columns: tuple[str, ...], rows: Iterable[Row]) -> RawTable:
    """A table of rows that were already read."""
    return RawTable(columns, _blocks_of_rows(len(columns), rows))


def _blocks_of_rows(width: int, rows: Iterable[Row]) -> Iterator[Block]:
    waiting = iter(rows)
    while some := list(islice(waiting, _ROWS_AT_ONCE)):
        uneven = tuple(at for at, (_, cells) in enumerate(some) if len(cells) != width)
        even = [(cells + [""] * width)[:width] for _, cells in some] if uneven else [cells for _, cells in some]
        columns = tuple(texts(column) for column in zip(*even, strict=True))
        yield Block(columns, len(some), str, some.__getitem__, uneven)


# CSV


def _csv_header(path: Path) -> _Header:
    with storage(path), path.open("rb") as file:
        first, before = file.readline(_LONGEST_HEADER), 1
        while first.isspace():
            first, before = file.readline(_LONGEST_HEADER), before + 1
        text = first.decode("utf-8-sig", "replace")
        delimiter = delimiter_of(text)
        if not HINT.fullmatch(text.strip("\r\n")):  # else its line is no row
            before = file.seek(0)
        for begun, line, cells in _csv_rows(path, iter(file.readline, b""), before, delimiter):
            return _Header([plain(cell).strip() for cell in cells], begun, line, file.tell(), delimiter)
    return _Header([])


def _csv_rows(path: Path, lines: Iterable[bytes], before: int, delimiter: str) -> Iterator[tuple[int, int, list[str]]]:
    """The rows in some lines after `before` earlier ones: the first and the last line of each, and its cells."""
    line = before
    reader = csv.reader(_decoded(path, lines, before), strict=True, delimiter=delimiter)
    try:
        for cells in reader:
            begun, line = line + 1, before + reader.line_num
            if any(cells):
                yield begun, line, cells
    except csv.Error as error:
        raise _mistake(f"{path}:{line + 1}", f"no CSV ({error})", "check the quotes of this line") from None


def _decoded(path: Path, lines: Iterable[bytes], before: int) -> Iterator[str]:
    for number, line in enumerate(lines, before + 1):
        try:
            yield line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError:
            raise _mistake(f"{path}:{number}", "is not UTF-8 text", "save the table as UTF-8") from None


def _csv_blocks(path: Path, header: _Header) -> Iterator[Block]:
    """Splits lines with Arrow if they have no quotes and Python's reader certainly agrees; else uses that reader."""
    style = _number_style(path, header) if header.delimiter != "," else None
    line = header.lines
    with storage(path), path.open("rb") as file:
        file.seek(header.offset)
        if style is not None:
            yield from _csv_texts(path, iter(file.readline, b""), line, header, style)
            return
        rest = b""
        while part := rest + (read := file.read(_BLOCK_BYTES)):
            end = part.rfind(b"\n") + 1 if read else len(part)
            if len(part) - end > _LONGEST_LINE:
                what = f"a line of more than {_LONGEST_LINE >> 20} MiB"
                raise _mistake(f"{path}:{line + part.count(_NEWLINE) + 1}", what, "check the quotes and line ends")
            data, rest = part[:end], part[end:]
            if b'"' in data:  # a cell may continue on the following lines
                file.seek(-len(rest), io.SEEK_CUR)
                yield from _csv_texts(path, chain(io.BytesIO(data), iter(file.readline, b"")), line, header)
                return
            count = data.count(_NEWLINE) + (not data.endswith(_NEWLINE))
            block = _split_by_arrow(path, data, line, count, header)
            yield from [block] if block else _csv_texts(path, io.BytesIO(data), line, header)
            line += count


def _csv_texts(
    path: Path, lines: Iterable[bytes], before: int, header: _Header, style: NumberStyle | None = None
) -> Iterator[Block]:
    """The rows of some lines; with a style, their numbers are written anew with a decimal point."""
    numbers = number_columns(header.names) if style is not None else ()

    def cells_of(cells: list[str]) -> list[str]:
        texts = [plain(cell).strip() for cell in cells]
        for at in numbers:
            if style is not None and at < len(texts):
                texts[at] = plain_number(texts[at], style)
        return texts

    rows = _csv_rows(path, lines, before, header.delimiter)
    yield from _blocks_of_rows(len(header.names), ((f"{path}:{begun}", cells_of(cells)) for begun, _, cells in rows))


def _number_style(path: Path, header: _Header) -> NumberStyle | None:
    """How a table with semicolons or tabs writes its numbers; None if as this program does: it needs no change.

    Raises UserMistake if the table shows two ways, or may mean two.
    """
    evidence, numbers = StyleEvidence(path), number_columns(header.names)
    with storage(path), path.open("rb") as file:
        file.seek(header.offset)
        for begun, _, cells in _csv_rows(path, iter(file.readline, b""), header.lines, header.delimiter):
            for at in numbers:
                if at < len(cells):
                    evidence.take(begun, at, plain(cells[at]).strip())
    style = evidence.style()
    return style if style is NumberStyle.COMMA or evidence.has_commas else None


def _split_by_arrow(path: Path, data: bytes, before: int, count: int, header: _Header) -> Block | None:
    """The `count` lines as columns; None if Python's reader may parse them differently."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.csv

    ends = np.flatnonzero(np.frombuffer(data, np.uint8) == _NEWLINE[0])
    longest = np.diff(ends, prepend=-1, append=len(data)).max(initial=0)
    stray = b"\r" in data and data.count(b"\r") != data.count(b"\r\n")
    if stray or longest > csv.field_size_limit() or not count:
        return None
    text = pa.dictionary(pa.int32(), pa.string())
    names = header.names
    places = [str(at) for at in range(len(names))]
    try:
        table = pyarrow.csv.read_csv(
            pa.BufferReader(data),
            pyarrow.csv.ReadOptions(column_names=places, use_threads=False, block_size=len(data) + 1),
            pyarrow.csv.ParseOptions(quote_char=False, delimiter=header.delimiter),
            pyarrow.csv.ConvertOptions(
                column_types={at: pa.string() if names[int(at)] in _NUMERIC else text for at in places},
                strings_can_be_null=False,
            ),
        )
    except pa.ArrowInvalid:
        return None
    if table.num_rows != count:
        return None
    columns = tuple(column.combine_chunks() for column in table.columns)

    def row(at: int) -> Row | None:
        cells = [column[at].as_py() for column in columns]
        return (f"{path}:{before + at + 1}", [plain(cell).strip() for cell in cells]) if any(cells) else None

    return Block(columns, count, _csv_text, row)


def _csv_text(cell: str) -> str:
    return plain(cell).strip()


# Parquet


def _parquet_header(path: Path) -> _Header:
    with opened_parquet(path, _AGAIN) as file:
        return _Header(list(file.schema_arrow.names))


def _parquet_blocks(path: Path, names: Sequence[str]) -> Iterator[Block]:
    count = 0
    texts = [name for name in names if name not in _NUMERIC]
    with opened_parquet(path, _AGAIN, texts) as file:
        for batch in batches(file, path, names, _ROWS_AT_ONCE):
            row = partial(_parquet_row, path, tuple(batch.columns), count)
            yield Block(tuple(batch.columns), batch.num_rows, _parquet_text, row)
            count += batch.num_rows


def _parquet_row(path: Path, columns: "tuple[pa.Array, ...]", before: int, at: int) -> Row:
    return f"{path}:row {before + at + 1}", [_parquet_text(column[at].as_py()) for column in columns]


def _parquet_text(cell: Any) -> str:
    """One cell of a Parquet file as the text in a CSV file."""
    if cell is None:
        return ""
    return cell.strip() if isinstance(cell, str) else str(cell)


def _mistake(where: str, what: str, next: str) -> UserMistake:
    return UserMistake(Fault(where, what, next))
