"""Opens untrusted bill files of any length: CSV, gzip, one JSON object a line, Parquet.

Only a line is in memory at a time (of Parquet a batch). Every fault is a UserMistake that names the place.
"""

import csv
import gzip
import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from cloudcmp.cost.billed.fields import own_tag_column, plain_name
from cloudcmp.cost.billed.formats import LAYOUTS, Format, Layout, Record, layout_of
from cloudcmp.errors import UserMistake
from cloudcmp.store import parquet_columns, parquet_rows

_LONGEST_LINE = 4 * 2**20
_LARGEST_MANIFEST = 64 * 2**20
_NESTED = ("labels", "tags", "credits", "system_labels")
_KNOWN = "AWS Cost and Usage Report, Azure cost export, Google billing export, FOCUS"


FieldsOf = Callable[[Mapping[str, int]], Mapping[str, str]]
"""Returns the column of each field, given the columns of a file by their plain names."""


@dataclass(frozen=True, slots=True)
class BillFile:
    """A file of a known format: its records with their places, and the fields that its columns provide."""

    layout: Layout
    has: frozenset[str]
    records: Iterator[tuple[str, Record]]


@dataclass(frozen=True, slots=True)
class RecordFile:
    """A table's records with their places, and the fields of its columns; those of `varying` ones may have others."""

    has: frozenset[str]
    varying: bool
    records: Iterator[tuple[str, Record]]


def open_bill(path: Path, format: Format | None = None) -> BillFile:
    """Opens a bill file; `format` overrides its detection from the columns.

    Raises UserMistake if it is missing, of no known format, or lacks a column; so may its records.
    """
    found: list[Layout] = []

    def fields_of(at: Mapping[str, int]) -> Mapping[str, str]:
        if not found:
            found.append(_layout(path, at, format))
        return _columns(found[0], at)

    file = open_records(path, fields_of, _KNOWN)
    (layout,) = found
    if not file.varying:
        return BillFile(layout, file.has, file.records)
    records = ((place, {"amount": "", "currency": "", **record}) for place, record in file.records)
    return BillFile(layout, frozenset(layout.columns) | file.has, records)


def open_records(path: Path, fields_of: FieldsOf, known: str) -> RecordFile:
    """Opens a table of any format that bills have; `known` names the files that are understood.

    Raises UserMistake if it is missing, empty or no table, and whatever `fields_of` raises; so may its records.
    """
    if not path.is_file():
        raise _mistake(path, "is a folder" if path.is_dir() else "no such file", f"name a file of: {known}")
    with _reading(path), path.open("rb") as file:
        head = file.read(4)
    if head == b"PAR1":
        return _of_parquet(path, fields_of, known)
    if head[:2] == b"PK":
        raise _mistake(path, "is a zip archive", "unpack it, and name the file that was in it")
    lines = _lines(path, zipped=head[:2] == b"\x1f\x8b")
    first = next(lines, "")
    if first.lstrip()[:1] == "{":
        return _of_json(path, first, lines, fields_of, known)
    return _of_csv(path, first, lines, fields_of, known)


def manifest(path: Path) -> tuple[str, ...] | None:
    """Returns the files that a manifest of an AWS report names, None if the file is no manifest."""
    if path.suffix.lower() != ".json" or not path.is_file() or path.stat().st_size > _LARGEST_MANIFEST:
        return None
    try:
        with _reading(path):
            document = json.loads(path.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError):
        return None
    for key in ("reportKeys", "dataFiles"):
        keys = document.get(key) if isinstance(document, dict) else None
        if isinstance(keys, list):
            return tuple(str(one) for one in keys)
    return None


def _of_csv(path: Path, first: str, rest: Iterator[str], fields_of: FieldsOf, known: str) -> RecordFile:
    def lines() -> Iterator[str]:
        yield first
        yield from rest

    reader = csv.reader(lines(), strict=True)
    try:
        header = next(reader, [])
    except csv.Error as error:
        raise _mistake(f"{path}:1", f"no CSV ({error})", f"name a file of: {known}") from None
    at = _places(path, header, known)
    places = [(field, at[name]) for field, name in fields_of(at).items()]

    def records() -> Iterator[tuple[str, Record]]:
        line = reader.line_num
        width = len(header)
        try:
            for cells in reader:
                begun, line = line + 1, reader.line_num
                if not cells:
                    continue
                if len(cells) != width:
                    what = f"{len(cells)} fields where the header has {width}"
                    raise _mistake(f"{path}:{begun}", what, "fetch the file again")
                yield f"{path}:{begun}", {field: cells[place] for field, place in places}
        except csv.Error as error:
            raise _mistake(f"{path}:{line + 1}", f"no CSV ({error})", "fetch the file again") from None

    return RecordFile(frozenset(field for field, _ in places), False, records())


def _of_json(path: Path, first: str, rest: Iterator[str], fields_of: FieldsOf, known: str) -> RecordFile:
    """Objects, one a line. They leave out null values, so each may have other fields."""
    top = _flat(f"{path}:1", first)
    has = fields_of(_places(path, list(top), known))

    def record(flat: Mapping[str, str]) -> Record:
        return {field: flat[name] for field, name in fields_of(dict.fromkeys(flat, 0)).items()}

    def records() -> Iterator[tuple[str, Record]]:
        yield f"{path}:1", record(top)
        for number, line in enumerate(rest, 2):
            if line.strip():
                yield f"{path}:{number}", record(_flat(f"{path}:{number}", line))

    return RecordFile(frozenset(has), True, records())


def _of_parquet(path: Path, fields_of: FieldsOf, known: str) -> RecordFile:
    header = parquet_columns(path)
    at = _places(path, header, known)
    chosen = {field: header[at[name]] for field, name in fields_of(at).items()}

    def records() -> Iterator[tuple[str, Record]]:
        for number, cells in enumerate(parquet_rows(path, tuple(dict.fromkeys(chosen.values()))), 1):
            row = dict(zip(dict.fromkeys(chosen.values()), cells, strict=True))
            yield f"{path}:row {number}", {field: row[column] for field, column in chosen.items()}

    return RecordFile(frozenset(chosen), False, records())


def _places(path: Path, header: Iterable[str], known: str) -> dict[str, int]:
    """Returns the place of each column by its plain name; of equal names the first."""
    at: dict[str, int] = {}
    for place, column in enumerate(header):
        at.setdefault(plain_name(column), place)
    if not any(at):
        raise _mistake(path, "is empty", f"name a file of: {known}")
    return at


def _layout(path: Path, at: Mapping[str, int], format: Format | None) -> Layout:
    detected = layout_of(at)
    layout = LAYOUTS[format] if format else detected
    if layout is None:
        raise _mistake(path, "its columns are of no bill that is known", f"name a file of: {_KNOWN}")
    for mark in layout.marks:
        if not any(name in at for name in layout.columns[mark]):
            wanted = " or ".join(layout.columns[mark])
            other = f"it looks like {detected.format.value}" if detected else "choose another --format"
            raise _mistake(path, f"no column {wanted}, which {layout.format.value} has", other)
    return layout


def _columns(layout: Layout, at: Mapping[str, int]) -> dict[str, str]:
    """Returns the column of each field that the file has."""
    own = {ours: name for name in at if (ours := own_tag_column(name))}
    fields = {field: next((one for one in names if one in at), "") for field, names in layout.columns.items()}
    return {**{field: name for field, name in fields.items() if name}, **own}


def _flat(place: str, line: str) -> dict[str, str]:
    """Returns the fields of a JSON object; those of nested objects get both names."""
    try:
        document = json.loads(line, parse_float=str, parse_int=str)  # exact: money is no binary fraction
    except (ValueError, RecursionError):
        raise UserMistake.at(place, "no JSON object", "give one object a line") from None
    if not isinstance(document, dict):
        raise UserMistake.at(place, "no JSON object", "give one object a line")
    flat: dict[str, str] = {}
    for key, value in document.items():
        name = plain_name(key)
        if isinstance(value, dict) and name not in _NESTED:
            flat.update({f"{name}_{plain_name(inner)}": _text(one) for inner, one in value.items()})
        else:
            flat[name] = _text(value)
    return flat


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value)


def _lines(path: Path, *, zipped: bool) -> Iterator[str]:
    with _reading(path), path.open("rb") as plain:
        file: IO[bytes] = gzip.open(plain) if zipped else plain  # type: ignore[assignment]  # noqa: SIM115 - of the open file
        number = 0
        try:
            while raw := file.readline(_LONGEST_LINE + 1):
                number += 1
                if len(raw) > _LONGEST_LINE:
                    raise _mistake(f"{path}:{number}", "a line of more than 4 MiB", f"name a file of: {_KNOWN}")
                yield raw.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError:
            raise _mistake(f"{path}:{number}", "is not UTF-8 text", f"name a file of: {_KNOWN}") from None
        except (EOFError, zlib.error, gzip.BadGzipFile):
            raise _mistake(f"{path}:{number + 1}", "the gzip file ends or breaks here", "fetch it again") from None


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Turns errors of the operating system into a UserMistake."""
    try:
        yield
    except gzip.BadGzipFile:
        raise
    except OSError as error:
        raise _mistake(path, (error.strerror or str(error)).lower(), "check its rights") from None


def _mistake(where: Path | str, what: str, next: str) -> UserMistake:
    return UserMistake.at(str(where), what, next)
