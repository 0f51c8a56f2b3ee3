"""Parquet files of others, read in batches as records of text; untrusted."""

import json
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from cloudcmp.store.untrusted_parquet import batches, opened_parquet

_ROWS_AT_ONCE = 16 * 1024
_NEXT = "fetch it again"


def parquet_columns(path: Path) -> tuple[str, ...]:
    """The names of a Parquet file's columns, fields within a column as `column.field`.

    Raises UserMistake where it is none that can be read.
    """
    import pyarrow as pa

    with opened_parquet(path, _NEXT) as file:
        return tuple(name for column in file.schema_arrow for name in _names(column, pa))


def parquet_rows(path: Path, columns: Sequence[str]) -> Iterator[list[str]]:
    """The rows of those columns alone, each cell as text: nothing for null, maps and lists as JSON.

    A batch of rows is held at a time, bounded in bytes. Raises UserMistake where the file is not what it says, or too
    large.
    """
    with opened_parquet(path, _NEXT) as file:
        for batch in batches(file, path, columns, _ROWS_AT_ONCE):
            read = [_cells(batch, name) for name in columns]
            yield from (list(cells) for cells in zip(*read, strict=True))


def _names(column: Any, pa: Any) -> list[str]:
    """What a column is called, or what the fields of a struct are."""
    if pa.types.is_struct(column.type):
        return [f"{column.name}.{within.name}" for within in column.type]
    return [str(column.name)]


def _cells(batch: Any, name: str) -> list[str]:
    """One column of a batch, or one field of it."""
    if name in batch.schema.names:
        return [_text(cell) for cell in batch.column(name).to_pylist()]
    column, _, field = name.partition(".")
    return [_text(None if cell is None else cell.get(field)) for cell in batch.column(column).to_pylist()]


def _text(cell: Any) -> str:
    if cell is None:
        return ""
    if isinstance(cell, str):
        return cell
    if isinstance(cell, date):  # and times, which are dates too
        return cell.isoformat()
    if isinstance(cell, list):  # a map comes as a list of pairs
        pairs = all(isinstance(one, tuple) and len(one) == 2 for one in cell)
        return json.dumps(dict(cell) if cell and pairs else cell, default=str)
    return json.dumps(cell, default=str) if isinstance(cell, dict) else str(cell)
