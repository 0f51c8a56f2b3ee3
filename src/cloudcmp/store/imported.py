"""The rows of an imported table, as they rest in the folder of samples."""

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cloudcmp.model.codec import CodecError, from_json, to_json
from cloudcmp.model.metric import Metric
from cloudcmp.model.trial import Outcome
from cloudcmp.model.values import TrialValues
from cloudcmp.store.arrow import numbers, texts
from cloudcmp.store.database import Database
from cloudcmp.store.faults import corrupt, understood
from cloudcmp.store.planned import OWN, digest_of, get_meta
from cloudcmp.store.samples import IMPORTED_FILE, Source, checked

METRICS_KEY = f"{OWN}metrics"


@dataclass(frozen=True, slots=True)
class ImportedRow:
    """One row of an imported table: its launch in the plan, and what it says; `time` in Unix seconds."""

    launch: int
    cell: str
    value: float | None
    outcome: Outcome
    time: float | None


def encode(rows: Sequence[ImportedRow]) -> bytes:
    """The Parquet file of the rows of a table."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = [
        numbers(np.array([row.launch for row in rows], np.int32)),
        texts([row.cell for row in rows]),
        numbers(np.array([row.value for row in rows], np.float64)),
        texts([row.outcome.value for row in rows]),
        numbers(np.array([row.time for row in rows], np.float64)),
    ]
    table = pa.Table.from_arrays(columns, ["launch", "cell", "value", "outcome", "time"])
    buffer = io.BytesIO()
    pq.write_table(table, buffer, compression="zstd")
    return buffer.getvalue()


def source(database: Database, samples: Path) -> Source | None:
    """The file of the rows, None where the study was measured."""
    digest = digest_of(database, IMPORTED_FILE)
    return None if digest is None else Source(samples / IMPORTED_FILE, digest, "the imported table")


def rows(database: Database, samples: Path) -> tuple[ImportedRow, ...]:
    """The rows of the table, in its order; raises CorruptStore where they are not those that were imported."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    found = source(database, samples)
    if found is None:
        return ()
    try:
        with pq.ParquetFile(checked(found)) as file:  # `read_table` loads pandas where that is installed
            table = file.read()
        columns = [table.column(name).to_pylist() for name in ("launch", "cell", "value", "outcome", "time")]
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        raise corrupt(found.path, "the imported table can not be read") from error
    with understood(found.path, "the imported table"):
        return tuple(
            ImportedRow(int(launch), cell, value, Outcome(outcome), time)
            for launch, cell, value, outcome, time in zip(*columns, strict=True)
        )


def trial_values(table: Sequence[ImportedRow]) -> TrialValues:
    """The rows as values of trials, one trial a row."""
    import numpy as np

    index = {cell: i for i, cell in enumerate(dict.fromkeys(row.cell for row in table))}
    return TrialValues(
        tuple(index),
        np.array([row.launch for row in table], dtype=np.int32),
        np.array([index[row.cell] for row in table], dtype=np.int32),
        np.array([row.value is not None for row in table], dtype=np.bool_),
        np.array([0.0 if row.value is None else row.value for row in table], dtype=np.float64),
    )


def metrics_text(metrics: Mapping[str, Metric]) -> str:
    """The metrics of a table as text to be stored."""
    return to_json(metrics, dict[str, Metric])


def metrics(database: Database) -> dict[str, Metric]:
    """The metrics of the table, by name; none where the study was measured."""
    text = get_meta(database, METRICS_KEY)
    try:
        return {} if text is None else from_json(dict[str, Metric], text)
    except CodecError as error:
        raise corrupt(database.path, f"the metrics of the imported table can not be read ({error})") from None
