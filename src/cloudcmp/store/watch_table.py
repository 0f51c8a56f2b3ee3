"""Reads samples of a watched service from a CSV file: when, whether it answered, and after how many seconds."""

import csv
import math
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

from cloudcmp.errors import UserMistake
from cloudcmp.model.untrusted_text import one_line
from cloudcmp.model.watch import Watched, WatchSample
from cloudcmp.units import format_quantity

HEAD = ("time", "ok", "seconds")
EXAMPLE = "time,ok,seconds"
_YES, _NO = {"1", "true", "yes", "ok", "up"}, {"0", "false", "no", "failed", "down"}
_LONGEST = 40
_MOST_STEPS = 1.5
_LAST_S = 4102444800.0
"""The year 2100: a later time is in milliseconds."""


def is_watch_table(path: Path) -> bool:
    """True if a file begins with the columns of a watch."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            names = [one.strip().lower() for one in next(csv.reader(file), [])]
    except (OSError, UnicodeDecodeError, csv.Error):
        return False
    return names[:2] == list(HEAD[:2])


def read_watch(path: Path, every_s: float | None = None) -> Watched:
    """Read a watch; without `every_s` its interval is the median step.

    The columns are `time` (Unix seconds, or dates as 2026-01-05T10:00:00, in UTC without a zone), `ok` (1 or 0, yes or
    no, ...), `seconds` (empty without an answer) and perhaps `reason`, a word for a failure, and `bytes`, the size of
    the answer's body.

    Raises UserMistake for an unreadable file, a row that is none, and if no step tells the interval.
    """
    where = str(path)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = csv.reader(file)
            head = [one.strip().lower() for one in next(rows, [])]
            samples = tuple(_samples(where, head, rows))
    except OSError as error:
        raise UserMistake.at(where, (error.strerror or str(error)).lower(), "name a CSV file") from None
    except (UnicodeDecodeError, csv.Error):
        raise UserMistake.at(where, "is no CSV text in UTF-8", f"begin with {EXAMPLE!r}") from None
    steps = sorted(after.at - before.at for before, after in pairwise(samples) if after.at > before.at)
    usual = steps[len(steps) // 2] if steps else None
    if every_s is None and usual is None and samples:
        raise UserMistake.at(where, f"{len(samples)} sample: its interval is unknown", "give --every '60 s'")
    if every_s is not None and usual is not None and every_s > _MOST_STEPS * usual:
        what = f"samples are {format_quantity(usual, 's')} apart, and --every is {format_quantity(every_s, 's')}"
        raise UserMistake.at(where, what, "leave --every out, or give the interval at which they were taken")
    return Watched(where, every_s or usual or 0.0, samples)


def _samples(where: str, head: Sequence[str], rows: Iterator[list[str]]) -> Iterator[WatchSample]:
    if list(head[:3]) != list(HEAD):
        raise UserMistake.at(f"{where}:1", "the columns time, ok and seconds are not named", f"begin with {EXAMPLE!r}")
    more = {name: at for at, name in enumerate(head) if name in {"reason", "bytes"}}
    for number, row in enumerate(rows, 2):
        if not row:
            continue
        place = f"{where}:{number}"
        if len(row) < len(HEAD):
            raise UserMistake.at(place, f"{len(row)} of {len(HEAD)} cells in the row", f"write {EXAMPLE} in each")
        ok = row[1].strip().casefold()
        if ok not in _YES | _NO:
            raise UserMistake.at(place, f"{one_line(row[1], _LONGEST)!r} is neither ok nor not", "write 1 or 0")
        seconds = None if not row[2].strip() else _number(place, row[2], "a time that the answer took")
        if ok in _YES and seconds is None:
            raise UserMistake.at(place, "an answer without its seconds", "write how long it took, or 0 in `ok`")
        reason, size = (row[more[name]].strip() if more.get(name, len(row)) < len(row) else ""
                        for name in ("reason", "bytes"))  # fmt: skip
        yield WatchSample(_time(place, row[0]), ok in _YES, seconds, reason, _size(place, size) if size else None)


def _time(place: str, text: str) -> float:
    try:
        seconds = _finite(float(text))
    except ValueError:
        return _date(place, text)
    if seconds >= _LAST_S:
        raise UserMistake.at(place, f"{one_line(text, _LONGEST)!r} is after the year 2100", "write seconds, not ms")
    return seconds


def _date(place: str, text: str) -> float:
    try:
        at = datetime.fromisoformat(text.strip())
    except ValueError:
        shown = one_line(text, _LONGEST)
        raise UserMistake.at(place, f"{shown!r} is no time", "write Unix seconds, or 2026-01-05T10:00:00") from None
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()


def _number(place: str, text: str, what: str) -> float:
    try:
        return _finite(float(text))
    except ValueError:
        raise UserMistake.at(
            place, f"{one_line(text, _LONGEST)!r} is not {what}", "write a number, e.g. 0.12"
        ) from None


def _size(place: str, text: str) -> float:
    size = _number(place, text, "a number of bytes")
    if size < 0:
        raise UserMistake.at(place, f"an answer of {size:g} bytes", "write the size of its body, or leave it empty")
    return size


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise ValueError(value)
    return value
