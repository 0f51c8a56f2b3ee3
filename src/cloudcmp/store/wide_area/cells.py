"""The cells of tables of times, parsed from text, and the rows that hold them."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from cloudcmp.errors import UserMistake
from cloudcmp.model.untrusted_text import one_line
from cloudcmp.model.wide_area import Continent, Position
from cloudcmp.store.tidy_agree import number_of
from cloudcmp.store.tidy_read import read_table
from cloudcmp.store.wide_area.gather import MOST_SECONDS

LONGEST = 120
"""The longest name, in characters."""


class BadCell(Exception):
    """A cell cannot be read: what it is, and what to write instead."""

    def __init__(self, what: str, next: str) -> None:
        super().__init__(what)
        self.what, self.next = what, next


class Row:
    """The cells of a row by the lower-case name of their column, empty if there is no such column; and its place."""

    def __init__(self, columns: Mapping[str, Sequence[str]], at: int, place: Callable[[int], str]) -> None:
        self._columns, self._at, self._place = columns, at, place

    def __getitem__(self, name: str) -> str:
        column = self._columns.get(name)
        return "" if column is None else column[self._at]

    def first(self, *names: str) -> str:
        """The first cell of some columns that is not empty."""
        return next((text for name in names if (text := self[name])), "")

    @property
    def place(self) -> str:
        """The file and line of the row."""
        return self._place(self._at)


def columns_of(path: Path) -> tuple[str, ...]:
    """The lower-case names of a table's columns; raises UserMistake if it is no table."""
    if path.is_file() and not path.stat().st_size:
        raise UserMistake.at(str(path), "is empty", "write a line with the names of columns, and one for each row")
    return tuple(name.lower() for name in read_table(path).columns)


def rows_of(path: Path) -> Iterator[Row]:
    """Yield the rows of a CSV or Parquet file that are not empty.

    Raises UserMistake for a file that is no table, two columns of one name, and a row with too few or too many cells.
    """
    table = read_table(path)
    names = [name.lower() for name in table.columns]
    if len(set(names)) < len(names):
        twice = next(name for at, name in enumerate(names) if name in names[:at])
        raise UserMistake.at(str(path), f"two columns are {twice!r} but for upper case", "remove or rename one")
    for block in table.blocks:

        def place(at: int, row: Callable[[int], tuple[str, list[str]] | None] = block.row) -> str:
            found = row(at)
            return found[0] if found else str(path)

        if block.uneven:
            what = f"another number of cells than the {len(names)} columns"
            raise UserMistake.at(place(block.uneven[0]), what, "write one cell for each column")
        columns = {
            name: [block.text_of(cell).strip() for cell in column.to_pylist()]
            for name, column in zip(names, block.columns, strict=True)
        }
        for at in range(block.count):
            if any(column[at] for column in columns.values()):
                yield Row(columns, at, place)


def name(text: str) -> str:
    """A name as one clean line."""
    return one_line(text, LONGEST)


def number(column: str, text: str) -> float:
    """A finite number; raises BadCell for any other text."""
    found = number_of(text)
    if found is None:
        raise BadCell(f"{column} {one_line(text, 40)!r} is no number", "write e.g. 12.5")
    return found


def seconds(column: str, text: str, per_second: float) -> float | None:
    """A time in seconds, of a unit of which a second has so many; None if it is empty.

    Raises BadCell if it is no number, not above 0, or longer than any latency.
    """
    if not text:
        return None
    return checked_seconds(column, number(column, text) / per_second, one_line(text, 40))


def checked_seconds(column: str, value: float, shown: str) -> float:
    """The same time; raises BadCell if it is not above 0, or more than a day."""
    if not math.isfinite(value) or not 0 < value <= MOST_SECONDS:
        what = "not above 0" if value <= 0 else "more than a day"
        raise BadCell(f"{column} {shown} is {what}", "leave it empty if nothing came back")
    return value


def count(column: str, text: str) -> int | None:
    """A whole number from 0 on; None if it is empty."""
    if not text:
        return None
    value = number(column, text)
    if value < 0 or value != int(value):
        raise BadCell(f"{column} {one_line(text, 40)} is no whole number from 0 on", "write e.g. 10")
    return int(value)


def weight(column: str, text: str) -> float:
    """How many people a vantage point stands for; 1 if it is empty."""
    if not text:
        return 1.0
    value = number(column, text)
    if value <= 0:
        raise BadCell(f"{column} {one_line(text, 40)} is not above 0", "write how many people it stands for")
    return value


def position(lat: str, lon: str) -> Position | None:
    """Latitude and longitude in degrees; None if both are empty."""
    if not lat and not lon:
        return None
    if not lat or not lon:
        raise BadCell(f"a {'longitude without a latitude' if lon else 'latitude without a longitude'}",
                      "write both, in degrees")  # fmt: skip
    return checked_position(number("latitude", lat), number("longitude", lon))


def checked_position(lat: float, lon: float) -> Position:
    """The same position; raises BadCell if it is not on the globe."""
    if not -90 <= lat <= 90:
        raise BadCell(f"latitude {lat:g} is not between -90 and 90", "write degrees, south of the equator below 0")
    if not -180 <= lon <= 180:
        raise BadCell(f"longitude {lon:g} is not between -180 and 180", "write degrees, west of Greenwich below 0")
    return lat, lon


def country(text: str) -> str:
    """A country by its code of two letters (ISO 3166), in upper case; empty if unknown."""
    code = text.upper()
    if code and (len(code) != 2 or not code.isascii() or not code.isalpha()):
        raise BadCell(f"country {one_line(text, 40)!r} is no code of two letters", "write e.g. DE (ISO 3166)")
    return code


def continent(text: str) -> Continent | None:
    """A continent by its code; None if unknown."""
    if not text:
        return None
    try:
        return Continent(text.upper())
    except ValueError:
        known = ", ".join(one.value for one in Continent)
        raise BadCell(f"continent {one_line(text, 40)!r} is unknown", f"write one of {known}") from None
