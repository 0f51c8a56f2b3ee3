"""Writes a tidy table to files: formats shared cells once, and holds a part of the rows at a time."""

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from cloudcmp.model.untrusted_text import without_steering
from cloudcmp.store.arrow import numbers, texts
from cloudcmp.store.files import write_durably
from cloudcmp.store.tidy import COLUMNS, Attribute, TidyColumns, neutral, number_text, time_text

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

_TO_QUOTE = re.compile(r'[",\r\n]|^\s|\s$')
_FLOATS = ("vcpus", "memory_gib")
_ROWS_AT_ONCE = 256 * 1024
_MOST_DIGITS = 38


def write_csv(path: Path, table: TidyColumns) -> None:
    """Writes a table as CSV (UTF-8, LF); the same rows give the same bytes.

    A text that a spreadsheet would run as a formula gets a leading `'`, which `read_tidy` removes again.
    """

    def fill(file: BinaryIO) -> None:
        for part in csv_parts(table):
            file.write(part.encode())

    write_durably(path, fill)


def csv_parts(table: TidyColumns) -> Iterator[str]:
    """The text of `write_csv`, in parts of many lines."""
    names = table.attribute_names()
    yield ",".join(map(_quoted, (*COLUMNS, *map(neutral, names)))) + "\n"
    before = [_joined([one.provider, one.region, one.offering, one.instance, one.round, one.session])
              for one in table.places]  # fmt: skip
    behind = ["".join(f",{_cell_text(one.attributes.get(name))}" for name in names) + "\n" for one in table.places]
    signs = [one.signed for one in table.cells]
    cells = [_joined([one.metric, one.params, one.unit, one.better]) for one in table.cells]
    outcomes = [_cell_text(outcome) for outcome in table.outcomes]
    for some in _slices(table):
        times = _time_texts(table.time[some])
        columns = (table.place[some].tolist(), table.cell[some].tolist(), table.outcome[some].tolist(),
                   table.value[some].tolist())  # fmt: skip
        yield "".join(
            f"{before[place]},{time},{cells[cell]},{number_text(value) if value == value else ''},"  # noqa: PLR0124 - NaN is none
            f"{outcomes[outcome]},{signs[cell]}{behind[place]}"
            for place, cell, outcome, value, time in zip(*columns, times, strict=True)
        )


def _slices(table: TidyColumns) -> Iterator[slice]:
    return (slice(begin, begin + _ROWS_AT_ONCE) for begin in range(0, len(table.value), _ROWS_AT_ONCE))


def _time_texts(times: "NDArray[np.float64]") -> list[str]:
    """Each time as text, empty for none; a table has few distinct times."""
    import numpy as np

    distinct, place = np.unique(times, return_inverse=True)
    known = ["" if np.isnan(one) else time_text(one) for one in distinct.tolist()]
    return [known[at] for at in place.tolist()]


def _joined(cells: Sequence[Attribute | int | None]) -> str:
    return ",".join(map(_cell_text, cells))


def _cell_text(cell: Attribute | int | None) -> str:
    if cell is None:
        return ""
    if isinstance(cell, str):
        return _quoted(neutral(cell))
    return number_text(cell) if isinstance(cell, float) else str(cell)


def _quoted(cell: str) -> str:
    if _TO_QUOTE.search(cell):
        return '"' + cell.replace('"', '""') + '"'
    return cell


def write_parquet(path: Path, table: TidyColumns) -> None:
    """Writes a table as Parquet: text, but `round` an integer, `value`, `vcpus`, `memory_gib` floats, money decimal."""

    def fill(file: BinaryIO) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        shared = _shared(table)
        kinds = {
            **{name: column.type for name, (_, column) in shared.items()},
            "time": pa.string(),
            "value": pa.float64(),
        }
        attributes = list(map(without_steering, table.attribute_names()))
        schema = pa.schema([(name, kinds[name]) for name in (*COLUMNS, *attributes)])
        with pq.ParquetWriter(file, schema, compression="zstd") as writer:
            for some in _slices(table):
                own = {"time": texts([text or None for text in _time_texts(table.time[some])]),
                       "value": numbers(table.value[some])}  # fmt: skip
                columns = [own[name] if name in own else shared[name][1].take(numbers(shared[name][0][some]))
                           for name in schema.names]  # fmt: skip
                writer.write_table(pa.Table.from_arrays(columns, schema=schema))

    write_durably(path, fill)


def _shared(table: TidyColumns) -> "dict[str, tuple[NDArray[np.int32], pa.Array]]":
    """The columns whose cells many rows share: for each row the index of its cell, and the cells."""
    places, cells = table.places, table.cells
    columns = {name: (table.place, _texts([getattr(one, name) for one in places]))
             for name in ("provider", "region", "offering", "instance", "session")}  # fmt: skip
    columns |= {name: (table.cell, _texts([getattr(one, name) for one in cells]))
              for name in ("metric", "params", "unit", "better", "signed")}  # fmt: skip
    columns["outcome"] = table.outcome, _texts(table.outcomes)
    columns["round"] = table.place, _whole([one.round for one in places])
    for name in table.attribute_names():
        columns[without_steering(name)] = table.place, _attribute(name, [one.attributes.get(name) for one in places])
    return columns


def _texts(cells: Sequence[str]) -> "pa.Array":
    return texts([without_steering(cell) for cell in cells])


def _whole(cells: Sequence[int | None]) -> "pa.Array":
    import numpy as np
    import pyarrow as pa

    return numbers(np.array(cells, np.float64)).cast(pa.int64())


def _attribute(name: str, cells: Sequence[Attribute | None]) -> "pa.Array":
    import numpy as np
    import pyarrow as pa

    if name in _FLOATS:
        return numbers(np.array([None if cell is None else float(cell) for cell in cells], np.float64))
    money = [cell for cell in cells if isinstance(cell, Decimal)]
    cleaned = [None if cell is None else without_steering(str(cell)) for cell in cells]
    if money and all(cell is None or isinstance(cell, Decimal) for cell in cells):
        points = [cell.as_tuple() for cell in money]
        scale = max(0, *(-int(point.exponent) for point in points))
        digits = max(1, scale, *(len(point.digits) + int(point.exponent) + scale for point in points))
        if digits <= _MOST_DIGITS:
            plain = texts([None if cell is None else f"{cell:f}" for cell in cells])
            return plain.cast(pa.decimal128(digits, scale))
    return texts(cleaned)
