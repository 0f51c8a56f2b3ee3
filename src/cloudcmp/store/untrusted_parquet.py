"""Untrusted Parquet files: their unpacked size is measured within a memory limit before any row is read.

A Parquet file of a few kilobytes can hold gigabytes: one long text that many rows refer to, pages that unpack to a
thousand times their size, or 10^8 rows of one number. Its footer states a size, which may be wrong.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cloudcmp.errors import UserMistake
from cloudcmp.model.protocol import do_nothing
from cloudcmp.store.faults import storage
from cloudcmp.store.signals import held_signals
from cloudcmp.store.values import Engine, scratch_folder

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

MOST_ROWS = 50_000_000
MOST_COLUMNS = 2000
MOST_CELL_BYTES = 128 * 1024
"""The longest cell of a CSV file that Python's reader accepts."""

_MEMORY_LIMIT = "512MB"
_BATCH_BYTES = 32 * 2**20


@contextmanager
def opened_parquet(path: Path, next: str, as_dictionaries: Sequence[str] = ()) -> Iterator["pq.ParquetFile"]:
    """A Parquet file with a readable footer; raises UserMistake with `next` if the content does not match it.

    For the columns of `as_dictionaries`, each text is read once, however many rows have it.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    with storage(path):
        try:
            with pq.ParquetFile(path, memory_map=True, read_dictionary=list(as_dictionaries)) as file:
                if file.metadata.num_columns > MOST_COLUMNS:
                    raise _too_large(path, f"has more than {MOST_COLUMNS} columns")
                yield file
        except (pa.ArrowException, ValueError, OSError, KeyError, MemoryError) as error:
            what = (str(error).splitlines() or ["unknown"])[0]
            raise UserMistake.at(str(path), f"no readable Parquet file ({what[:200]})", next) from None


def batches(
    file: "pq.ParquetFile", path: Path, columns: Sequence[str], most_rows: int, *, own: bool = False
) -> "Iterator[pa.RecordBatch]":
    """The rows of some columns (`column` or `column.field`), in batches that need little memory.

    Raises UserMistake if there are too many rows, or a cell is too long. A file that is this user's `own` was measured
    when it was created.
    """
    if file.metadata.num_rows > MOST_ROWS:
        raise _too_large(path, f"has {file.metadata.num_rows} rows, more than {MOST_ROWS}")
    longest = {} if own else _longest(path, file.schema_arrow, columns)
    for name, length in longest.items():
        if length > MOST_CELL_BYTES:
            raise _too_large(path, f"a cell of the column {name!r} has {length} bytes, more than {MOST_CELL_BYTES}")
    at_once = max(1, min(most_rows, _BATCH_BYTES // max(1, sum(longest.values()))))
    yield from file.iter_batches(at_once, columns=list(columns), use_threads=False)


def _longest(path: Path, schema: "pa.Schema", columns: Sequence[str]) -> dict[str, int]:
    """The bytes of the longest text of each column that holds texts, or of a list written as text."""
    import pyarrow as pa

    names = list(dict.fromkeys(name if name in schema.names else name.partition(".")[0] for name in columns))
    fixed = (pa.types.is_integer, pa.types.is_floating, pa.types.is_temporal, pa.types.is_boolean, pa.types.is_decimal)
    long = [name for name in names if not any(is_(schema.field(name).type) for is_ in fixed)]
    if not long:
        return {}
    with held_signals(do_nothing):
        import duckdb
    with scratch_folder() as scratch:
        link = scratch / "table.parquet"  # a path with `*`, `?` or `[` would be read as a pattern
        link.symlink_to(path.absolute())
        limits: dict[str, str | bool | int | float | list[str]] = {
            "memory_limit": _MEMORY_LIMIT,
            "threads": 1,
            "temp_directory": "",
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
        }
        connection = duckdb.connect(config=limits)
        try:
            lengths = ", ".join(f"max(strlen({_as_text(name, schema)}))" for name in long)
            query = f"SELECT {lengths} FROM read_parquet('{link}')"  # noqa: S608 (a path of ours, names are quoted)
            [row] = Engine(connection).rows(query)
        except duckdb.OutOfMemoryException:
            raise _too_large(path, f"a part of it unpacks to more than {_MEMORY_LIMIT}") from None
        except duckdb.Error as error:
            raise ValueError(str(error).splitlines()[0]) from None
        finally:
            connection.close()
    return {name: length or 0 for name, length in zip(long, row, strict=True)}


def _as_text(name: str, schema: "pa.Schema") -> str:
    import pyarrow as pa

    quoted = '"' + name.replace('"', '""') + '"'
    kind = schema.field(name).type
    return quoted if pa.types.is_string(kind) or pa.types.is_large_string(kind) else f"{quoted}::VARCHAR"


def _too_large(path: Path, what: str) -> UserMistake:
    return UserMistake.at(str(path), what, "split it, or write it as CSV")


_ROWS_AT_ONCE = 16 * 1024
_FETCH_AGAIN = "fetch it again"


def parquet_columns(path: Path) -> tuple[str, ...]:
    """The names of a Parquet file's columns, fields within a column as `column.field`.

    Raises UserMistake if the file is not readable Parquet.
    """
    import pyarrow as pa

    with opened_parquet(path, _FETCH_AGAIN) as file:
        return tuple(name for column in file.schema_arrow for name in _names(column, pa))


def parquet_rows(path: Path, columns: Sequence[str]) -> Iterator[list[str]]:
    """The rows of those columns alone, each cell as text: empty for null, maps and lists as JSON.

    Holds one batch of rows at a time, bounded in bytes. Raises UserMistake if the file does not match its footer, or is
    too large.
    """
    with opened_parquet(path, _FETCH_AGAIN) as file:
        for batch in batches(file, path, columns, _ROWS_AT_ONCE):
            read = [_cells(batch, name) for name in columns]
            yield from (list(cells) for cells in zip(*read, strict=True))


def _names(column: Any, pa: Any) -> list[str]:
    """The name of a column, or those of the fields of a struct."""
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
