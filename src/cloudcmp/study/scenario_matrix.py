"""Latencies and bandwidths between places: CloudAnalyst's, those of a table, or measured ones of the wide area."""

import csv
import io
import math
from pathlib import Path

from cloudcmp.catalog import cloudanalyst
from cloudcmp.errors import Fault, UserMistake
from cloudcmp.model.scenario import Matrix
from cloudcmp.model.wide_area import Phase, WideArea
from cloudcmp.study.faults import shown
from cloudcmp.units import format_quantity

BUILT_IN = "cloudanalyst"
_MOST_BYTES = 2**20
_MOST_PLACES = 1000


def latency_table(path: Path) -> Matrix:
    """A square table of latencies one way in milliseconds; raises UserMistake with every fault of it."""
    return _table(path, 1e-3, "latency")


def bandwidth_table(path: Path) -> Matrix:
    """A square table of bandwidths in Mbit/s; raises UserMistake with every fault of it."""
    return _table(path, 1e6 / 8, "bandwidth")


def of_wide_area(wide: WideArea) -> Matrix:
    """Half of each round trip, from vantage points to sites; not a number where none is known."""
    half = tuple(tuple(value / 2 for value in row) for row in wide.matrix(Phase.RTT).tolist())
    rows, columns = tuple(one.name for one in wide.vantages), tuple(map(str, wide.sites))
    places = [*((one.name, one.at) for one in wide.vantages), *((str(one), one.at) for one in wide.sites)]
    positions = tuple((name, at) for name, at in places if at is not None)
    return Matrix(rows, columns, half, f"half of round trips, {wide.kind}: {wide.source}", positions, wide.notes)


def uniform(bytes_per_s: float, like: Matrix) -> Matrix:
    """The same bandwidth between all places."""
    values = tuple((bytes_per_s,) * len(like.columns) for _ in like.rows)
    return Matrix(like.rows, like.columns, values, f"{format_quantity(bytes_per_s, 'B/s')} as given")


def built_in_latency() -> Matrix:
    """CloudAnalyst's latencies."""
    return cloudanalyst.LATENCY


def built_in_bandwidth() -> Matrix:
    """CloudAnalyst's bandwidths."""
    return cloudanalyst.BANDWIDTH


def _table(path: Path, factor: float, what: str) -> Matrix:
    rows = list(csv.reader(io.StringIO(_text(path, what))))
    head = [one.strip() for one in rows[0]] if rows else []
    columns, body = head[1:], [(line, row) for line, row in enumerate(rows[1:], 2) if any(map(str.strip, row))]
    names = [row[0].strip() for _, row in body]
    faults = list(_shape_faults(path, columns, names))
    values: list[tuple[float, ...]] = []
    for line, row in body:
        cells = [*(cell.strip() for cell in row[1:]), *[""] * (len(head) - len(row))]
        if len(row) > len(head):
            faults.append(
                Fault(f"{path}:{line}", f"{len(row) - 1} values for {len(columns)} places", "remove the rest")
            )
        numbers = [_number(cell) for cell in cells[: len(columns)]]
        for column, cell, number in zip(columns, cells, numbers, strict=False):
            if number is None:
                lack = (
                    f"no {what} from {row[0].strip()} to {column}"
                    if not cell
                    else f"{shown(cell)} is not a number above 0"
                )
                faults.append(Fault(f"{path}:{line}", lack, "write a number"))
        values.append(tuple((number or 0.0) * factor for number in numbers))
    if faults:
        raise UserMistake(*faults)
    by_name = dict(zip(names, values, strict=True))
    return Matrix(tuple(columns), tuple(columns), tuple(by_name[name] for name in columns), path.name)


def _shape_faults(path: Path, columns: list[str], names: list[str]) -> list[Fault]:
    """Differences from a square: the first line and the first column name the same places, each once."""
    if not columns:
        return [Fault(f"{path}:1", "no places are named", "write e.g. from,NA,EU and a line for each of them")]
    faults = [Fault(f"{path}:1", f"{shown(name)} stands there twice", "name each place once")
              for some in (columns, names) for name in dict.fromkeys(some) if some.count(name) > 1]  # fmt: skip
    faults += [Fault(str(path), f"not square: {shown(name)} has a column and no line", "add its line")
               for name in columns if name not in names]  # fmt: skip
    faults += [Fault(str(path), f"not square: {shown(name)} has a line and no column", "add its column")
               for name in names if name not in columns]  # fmt: skip
    if len(columns) > _MOST_PLACES:
        faults.append(Fault(f"{path}:1", f"more than {_MOST_PLACES} places", "leave some out"))
    return faults


def _text(path: Path, what: str) -> str:
    example = f"write a table of {what} between places"
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
        if len(content) > _MOST_BYTES:
            raise UserMistake.at(str(path), "the table is larger than 1 MiB", "leave some places out")
        return content.decode("utf-8-sig")
    except OSError as error:
        raise UserMistake.at(str(path), (error.strerror or str(error)).lower(), example) from error
    except UnicodeDecodeError as error:
        raise UserMistake.at(str(path), "it is not UTF-8 text", "save it as CSV in UTF-8") from error


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and number > 0 else None
