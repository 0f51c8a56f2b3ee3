"""The rows of an imported table, as stored in the folder of samples."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from cloudcmp.errors import UserMistake
from cloudcmp.model.codec import CodecError, from_json, to_json
from cloudcmp.model.metric import Metric
from cloudcmp.model.trial import Outcome
from cloudcmp.model.values import LARGEST_VALUE, TrialValues
from cloudcmp.store.arrow import numbers, texts, to_numpy
from cloudcmp.store.database import Database
from cloudcmp.store.faults import corrupt, corrupt_if_malformed
from cloudcmp.store.plan_rows import OWN, digest_of, get_meta
from cloudcmp.store.samples import IMPORTED_FILE, Source, checked
from cloudcmp.store.tidy_agree import OUTCOMES, TidyRows
from cloudcmp.store.tidy_columns import TextColumn, UnreadableColumn, floats
from cloudcmp.store.untrusted_parquet import batches, opened_parquet

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

_ROWS_AT_ONCE = 256 * 1024
METRICS_KEY = f"{OWN}metrics"


_SCHEMA = (("launch", "int32"), ("cell", "string"), ("value", "float64"), ("outcome", "string"), ("time", "float64"))


@dataclass(frozen=True, slots=True, eq=False)
class ImportedRows:
    """The rows of an imported table in columns: the launch in the plan, and places in `cells` and `outcomes`.

    A missing value or time (Unix seconds) is NaN; `cells` are in the order of their first rows.
    """

    cells: tuple[str, ...]
    outcomes: tuple[Outcome, ...]
    launch: "NDArray[np.int32]"
    cell: "NDArray[np.int32]"
    value: "NDArray[np.float64]"
    outcome: "NDArray[np.int32]"
    time: "NDArray[np.float64]"

    def launches(self) -> set[int]:
        """The launches that have a row."""
        import numpy as np

        return set(np.unique(self.launch).tolist())


def write(rows: TidyRows, places: "NDArray[np.int32]", file: BinaryIO) -> None:
    """Writes the rows of a table as Parquet; `places` are the indices of their launches in the plan."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema([(name, getattr(pa, kind)()) for name, kind in _SCHEMA])
    cells, outcomes = texts(rows.cells), texts([outcome.value for outcome in OUTCOMES])
    with pq.ParquetWriter(file, schema, compression="zstd") as writer:
        for chunk in rows.chunks:
            columns = [
                numbers(places[chunk.launch]),
                pa.DictionaryArray.from_arrays(numbers(chunk.cell), cells).dictionary_decode(),
                numbers(chunk.value),
                pa.DictionaryArray.from_arrays(numbers(chunk.outcome.astype("int32")), outcomes).dictionary_decode(),
                numbers(chunk.time),
            ]
            writer.write_table(pa.Table.from_arrays(columns, schema=schema))


def source(database: Database, samples: Path) -> Source | None:
    """The file of the rows; None for a measured study."""
    digest = digest_of(database, IMPORTED_FILE)
    return None if digest is None else Source(samples / IMPORTED_FILE, digest, "the imported table")


def rows(database: Database, samples: Path, *, own: bool) -> ImportedRows:
    """The rows of the table, in its order; `own` if this user imported it.

    Raises CorruptStore if they differ from the imported rows.
    """
    table = source(database, samples)
    parts: list[list[NDArray[Any]]] = []
    cells, outcomes = TextColumn(bool), TextColumn(bool)
    if table is not None:
        try:
            with opened_parquet(checked(table), "", ("cell", "outcome")) as file:
                for batch in batches(file, table.path, [name for name, _ in _SCHEMA], _ROWS_AT_ONCE, own=own):
                    parts.append(_part(batch, cells, outcomes))
        except (UserMistake, UnreadableColumn) as error:
            raise corrupt(table.path, f"the imported table cannot be read ({error})") from error
    return _ordered(parts, cells.texts, outcomes.texts, samples / IMPORTED_FILE)


def _part(batch: "pa.RecordBatch", cells: TextColumn, outcomes: TextColumn) -> "list[NDArray[Any]]":
    import numpy as np

    launch, cell, value, outcome, time = batch.columns
    return [
        to_numpy(launch.cast("int32"), -1),
        cells.codes(cell, str).astype(np.int32),
        floats(value),
        outcomes.codes(outcome, str).astype(np.int32),
        floats(time),
    ]


def _ordered(parts: "list[list[NDArray[Any]]]", cells: list[str], outcomes: list[str], path: Path) -> ImportedRows:
    """The concatenated parts, with the cells in the order of their first rows."""
    import numpy as np

    empty: list[NDArray[Any]] = [np.zeros(0, kind) for kind in (np.int32, np.int32, float, np.int32, float)]
    launch, cell, value, outcome, time = [np.concatenate(column) for column in zip(empty, *parts, strict=True)]
    first = np.full(len(cells), len(cell), np.int64)
    first[cell[::-1]] = np.arange(len(cell) - 1, -1, -1)
    order = [at for at in np.argsort(first, kind="stable").tolist() if first[at] < len(cell)]
    place = np.zeros(len(cells), np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    with corrupt_if_malformed(path, "the imported table"):
        known = tuple(Outcome(text) for text in outcomes)
    return ImportedRows(tuple(cells[at] for at in order), known, launch, place[cell], value, outcome, time)


def trial_values(table: ImportedRows) -> TrialValues:
    """The rows as values of trials, one trial per row."""
    import numpy as np

    ok = np.abs(table.value) < LARGEST_VALUE
    return TrialValues(table.cells, table.launch, table.cell, ok, np.where(ok, table.value, 0.0))


def metrics_text(metrics: Mapping[str, Metric]) -> str:
    """The metrics of a table as text for storage."""
    return to_json(metrics, dict[str, Metric])


def metrics(database: Database) -> dict[str, Metric]:
    """The metrics of the table, by name; empty for a measured study."""
    text = get_meta(database, METRICS_KEY)
    try:
        return {} if text is None else from_json(dict[str, Metric], text)
    except CodecError as error:
        raise corrupt(database.path, f"the metrics of the imported table cannot be read ({error})") from None
