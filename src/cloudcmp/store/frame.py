"""A table for notebooks, which becomes a frame of pandas or polars, or stays an Arrow table."""

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from cloudcmp.errors import UserMistake
from cloudcmp.model.untrusted_text import one_line

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow as pa

_SHOWN = 20
_ROOM = 60


class Frame:
    """Columns with names and types. `arrow` is the Arrow table; every library that reads Arrow streams reads a frame.

    A missing value is null, never zero.
    """

    def __init__(self, arrow: "pa.Table") -> None:
        self.arrow = arrow

    @classmethod
    def of(cls, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> "Frame":
        """Make a frame of rows, each with a value for every column."""
        import pyarrow as pa

        return cls(pa.table({name: [row[at] for row in rows] for at, name in enumerate(columns)}))

    def joined(self, key: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> "Frame":
        """Return the frame with further columns; their values are those of `rows[number]`, for the number in `key`."""
        numbers, more = self.arrow.column(key), Frame.of(columns, rows).arrow
        table = self.arrow
        for name in columns:
            table = table.append_column(name, more.column(name).take(numbers))
        return Frame(table)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.arrow.column_names)

    def __len__(self) -> int:
        return int(self.arrow.num_rows)

    def pandas(self) -> "pandas.DataFrame":
        """Return the frame for pandas; raises UserMistake if pandas is not installed."""
        _check("pandas")
        return self.arrow.to_pandas()

    def polars(self) -> "polars.DataFrame":
        """Return the frame for polars; raises UserMistake if polars is not installed."""
        _check("polars")
        import polars

        frame = polars.from_arrow(self.arrow)
        assert isinstance(frame, polars.DataFrame)  # of a table, not of an array
        return frame

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Export the table through the Arrow C stream interface."""
        return self.arrow.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return f"{len(self)} rows: {', '.join(self.columns)}"

    def _repr_html_(self) -> str:
        """The first rows as an HTML table."""
        rows = self.arrow.slice(0, _SHOWN).to_pylist()
        head = "".join(f"<th>{_cell(name)}</th>" for name in self.columns)
        body = "".join(f"<tr>{''.join(f'<td>{_cell(row[name])}</td>' for name in self.columns)}</tr>" for row in rows)
        more = f"<p>{len(self):,} rows; the first {_SHOWN} are shown</p>" if len(self) > _SHOWN else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _cell(value: object) -> str:
    if value is None:
        return ""
    return escape(f"{value:.6g}" if isinstance(value, float) else one_line(str(value), _ROOM))


def _check(library: str) -> None:
    from importlib.util import find_spec

    if find_spec(library) is None:
        raise UserMistake.at(library, "is not installed", f"install it, e.g. pip install {library}, or use .arrow")
