"""The tidy table: what one value is of, in columns that any tool reads. Rows, their text forms, and files of them."""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import BinaryIO

from cloudcmp.model.untrusted_text import without_steering
from cloudcmp.store.files import write_durably

COLUMNS = (
    "provider", "region", "offering", "instance", "round", "session", "time",
    "metric", "params", "unit", "better", "value", "outcome",
)  # fmt: skip
NEEDED = ("offering", "metric", "unit", "value")
PARQUET_MAGIC = b"PAR1"
_FORMULA = "=+-@\t\r"
_TO_QUOTE = re.compile(r'[",\r\n]|^\s|\s$')
_NUMBERS = {"value", "vcpus", "memory_gib"}


@dataclass(frozen=True, slots=True)
class TidyRow:
    """One value, or the outcome of a trial that gave none. Unknown texts are empty, unknown numbers None.

    `instance` names the launch, `time` is Unix seconds, `params` is the cell's; `attributes` are those of the offering.
    """

    provider: str
    region: str
    offering: str
    instance: str
    round: int | None
    session: str
    time: float | None
    metric: str
    params: str
    unit: str
    better: str
    value: float | None
    outcome: str
    attributes: dict[str, str | float | Decimal] = field(default_factory=dict)

    def cells(self, attributes: Sequence[str]) -> list[str | int | float | Decimal | None]:
        """The row in the order of `COLUMNS` and then `attributes`; times as text."""
        time = None if self.time is None else time_text(self.time)
        return [
            self.provider, self.region, self.offering, self.instance, self.round, self.session, time, self.metric,
            self.params, self.unit, self.better, self.value, self.outcome,
            *(self.attributes.get(name) for name in attributes),
        ]  # fmt: skip


def attribute_names(rows: Iterable[TidyRow]) -> list[str]:
    """The names of all attributes that some row has, sorted."""
    return sorted({name for row in rows for name in row.attributes})


def is_tidy(head: bytes) -> bool:
    """Whether a file is a tidy table as `write_csv` or `write_parquet` writes it, by its first bytes."""
    return head.startswith((",".join(COLUMNS).encode(), PARQUET_MAGIC))


def write_csv(path: Path, rows: Sequence[TidyRow]) -> None:
    """Write rows as CSV (UTF-8, LF); the same rows give the same bytes.

    A text that a spreadsheet would run as a formula gets a `'` in front, which `read_tidy` takes off again.
    """
    write_durably(path, csv_text(rows).encode())


def csv_text(rows: Sequence[TidyRow]) -> str:
    """The text of `write_csv`."""
    attributes = attribute_names(rows)
    lines = [[*COLUMNS, *map(neutral, attributes)]]
    lines.extend([_csv_cell(cell) for cell in row.cells(attributes)] for row in rows)
    return "".join(",".join(map(_quoted, line)) + "\n" for line in lines)


def write_parquet(path: Path, rows: Sequence[TidyRow]) -> None:
    """Write rows as Parquet: text, but `round` an integer, `value`, `vcpus` and `memory_gib` floats, money decimal."""

    def fill(file: BinaryIO) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        attributes = attribute_names(rows)
        names = [*COLUMNS, *map(without_steering, attributes)]
        cells = [row.cells(attributes) for row in rows]
        arrays = [_array(name, [row[i] for row in cells]) for i, name in enumerate(names)]
        pq.write_table(pa.table(dict(zip(names, arrays, strict=True))), file, compression="zstd")

    write_durably(path, fill)


def _array(name: str, cells: list[str | int | float | Decimal | None]) -> object:
    import pyarrow as pa

    if name in _NUMBERS:
        return pa.array([None if cell is None else float(cell) for cell in cells], pa.float64())
    if name == "round":
        return pa.array(cells, pa.int64())
    if any(isinstance(cell, Decimal) for cell in cells):
        return pa.array(cells)
    return pa.array([None if cell is None else _csv_cell(cell, raw=True) for cell in cells], pa.string())


def _csv_cell(cell: str | int | float | Decimal | None, *, raw: bool = False) -> str:
    if cell is None:
        return ""
    if isinstance(cell, str):
        return without_steering(cell) if raw else neutral(cell)
    return number_text(cell) if isinstance(cell, float) else str(cell)


def _quoted(cell: str) -> str:
    if _TO_QUOTE.search(cell):
        return '"' + cell.replace('"', '""') + '"'
    return cell


def neutral(text: str) -> str:
    """The text so that no spreadsheet takes it for a formula (undone by `plain`), and no terminal for a command."""
    text = without_steering(text)
    return "'" + text if text[:1] and text[0] in _FORMULA + "'" else text


def plain(text: str) -> str:
    """The text as it was before `neutral`."""
    return text[1:] if text[:1] == "'" and text[1:2] and text[1] in _FORMULA + "'" else text


def number_text(value: float) -> str:
    """The shortest decimal form that reads back as the same number; whole numbers without a point."""
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 and math.copysign(1, value) > 0 else repr(value)


def time_text(at: float) -> str:
    """A Unix time as UTC, e.g. 2026-01-31T12:00:00.250000Z."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def time_of(text: str) -> float:
    """The Unix time of an ISO 8601 text (UTC without an offset) or of a number; raises ValueError for other text."""
    try:
        at = float(text)
    except ValueError:
        moment = datetime.fromisoformat(text)
        at = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    if not math.isfinite(at) or not 0 <= at < 253402300800:  # the year 10000
        raise ValueError(text)
    return at
