"""Reads a load over time from a CSV file: times, and requests per second from each time on."""

import csv
import math
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from cloudcmp.errors import UserMistake
from cloudcmp.model.replay import Load
from cloudcmp.model.untrusted_text import one_line

_TIMES = ("time", "timestamp", "time_s", "at")
_RATES = ("requests_per_s", "rps", "load", "requests", "machines")
_GAP = 10.0
"""Steps that are longer than this many usual ones are gaps."""
_USUAL = 1.5
_EXAMPLE = "time,requests_per_s"
_LONGEST = 40


def read_load(path: Path) -> Load:
    """Read a load; a rate holds until the next row, the last one for as long as the usual step, the median one.

    The first column is `time` (seconds, or dates as 2026-01-05T10:00, in UTC without a zone), the other one the rate.
    Steps may differ, but one of more than ten usual steps is a gap.

    Raises UserMistake for an unreadable file, a row that is none, times that do not increase, a gap, a rate below zero,
    and fewer than two rows.
    """
    import numpy as np

    where = str(path)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = csv.reader(file)
            time_at, rate_at = _columns(where, next(rows, []))
            times, rates = _numbers(where, rows, time_at, rate_at)
    except OSError as error:
        raise UserMistake.at(where, (error.strerror or str(error)).lower(), "name a CSV file") from None
    except (UnicodeDecodeError, csv.Error):
        raise UserMistake.at(
            where, "is no CSV text in UTF-8", f"write '{_EXAMPLE}' and one row for each time"
        ) from None
    if len(times) < 2:
        what = f"{len(times)} row of load" if len(times) == 1 else "no row of load"
        raise UserMistake.at(where, f"{what}; the length of a step is unknown", "give two rows or more")
    moments, loads = np.array(times), np.array(rates)
    steps = np.diff(moments)
    if (steps <= 0).any():
        at = int(np.argmax(steps <= 0)) + 1
        what = "the time of the row before again" if steps[at - 1] == 0 else "a time before that of the row before"
        raise UserMistake.at(f"{where}:{at + 2}", what, "sort the rows by time, one for each time")
    usual = float(np.median(steps))
    if (steps > _GAP * usual).any():
        at = int(np.argmax(steps > _GAP * usual)) + 1
        what = f"a gap of {steps[at - 1]:g} s, where the usual step has {usual:g} s"
        raise UserMistake.at(f"{where}:{at + 2}", what, "fill it, or cut the trace there")
    if not loads.any():
        raise UserMistake.at(where, "every load is 0", "give a trace with requests")
    return Load(moments, loads, float(moments[-1]) + usual, int((steps > _USUAL * usual).sum()))


def _columns(where: str, head: Sequence[str]) -> tuple[int, int]:
    """The indices of the columns of times and rates."""
    names = [one.strip().lower() for one in head]
    time_at = next((names.index(one) for one in _TIMES if one in names), None)
    rate_at = next((names.index(one) for one in _RATES if one in names), None)
    if time_at is not None and rate_at is None and len(names) == 2:
        rate_at = 1 - time_at
    if time_at is None or rate_at is None:
        raise UserMistake.at(
            f"{where}:1", "the columns time and requests_per_s are not both named", f"begin with {_EXAMPLE!r}"
        )
    return time_at, rate_at


def _numbers(where: str, rows: Iterator[list[str]], time_at: int, rate_at: int) -> tuple[list[float], list[float]]:
    times: list[float] = []
    rates: list[float] = []
    dated: bool | None = None
    for number, row in enumerate(rows, 2):
        if not row:  # an empty line
            continue
        place = f"{where}:{number}"
        try:
            time_text, rate_text = row[time_at], row[rate_at]
        except IndexError:
            cells = f"{len(row)} cell{'s' * (len(row) != 1)} in the row"
            raise UserMistake.at(place, cells, "write a time and a rate in each row") from None
        try:
            time, is_date = float(time_text), False
        except ValueError:
            time, is_date = _date(place, time_text), True
        if dated not in {None, is_date}:
            raise UserMistake.at(place, "seconds and dates in one trace", "write all times alike")
        dated = is_date
        times.append(time)
        rates.append(_rate(place, rate_text))
        if not math.isfinite(time):
            raise UserMistake.at(place, f"{time_text!r} is no time", "write seconds, or 2026-01-05T10:00")
    return times, rates


def _date(place: str, text: str) -> float:
    try:
        at = datetime.fromisoformat(text.strip())
    except ValueError:
        shown = one_line(text, _LONGEST)
        raise UserMistake.at(place, f"{shown!r} is no time", "write seconds, or 2026-01-05T10:00") from None
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()


def _rate(place: str, text: str) -> float:
    try:
        rate = float(text)
    except ValueError:
        shown = one_line(text, _LONGEST)
        what = f"{shown!r} is no load" if shown.strip() else "the load is missing: a gap"
        raise UserMistake.at(place, what, "write requests per second, 0 for none") from None
    if not math.isfinite(rate) or rate < 0:
        raise UserMistake.at(place, f"a load of {text.strip()}", "write requests per second, 0 for none")
    return rate
