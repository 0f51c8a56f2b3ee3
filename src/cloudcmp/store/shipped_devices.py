"""Reads a table of devices that providers ship for large moves of data."""

import csv
import math
from collections.abc import Mapping
from pathlib import Path

from cloudcmp.errors import UserMistake
from cloudcmp.model.move import ShippedDevice
from cloudcmp.model.untrusted_text import one_line
from cloudcmp.units import CURRENCIES

_NEEDED = ("name", "usable_tb", "fee", "handling_days", "copy_mb_per_s")
_EXAMPLE = ",".join(_NEEDED)
_NEVER = 1e6


def read_devices(path: Path) -> tuple[ShippedDevice, ...]:
    """Read devices: `name, usable_tb, fee, handling_days, copy_mb_per_s`, and what else is known.

    Further columns are provider, included_days (no limit without it), day_fee, out_per_gb, currency (USD), source and
    as_of. A fee of zero is unknown, and refused.

    Raises UserMistake for an unreadable file, and for a number that is missing or not above zero.
    """
    where = str(path)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = csv.DictReader(file)
            missing = [one for one in _NEEDED if one not in (rows.fieldnames or ())]
            if missing:
                raise UserMistake.at(f"{where}:1", f"no column {missing[0]!r}", f"begin with {_EXAMPLE!r}")
            found = tuple(_device(f"{where}:{rows.line_num}", row) for row in rows)
    except OSError as error:
        raise UserMistake.at(where, (error.strerror or str(error)).lower(), "name a CSV file") from None
    except (UnicodeDecodeError, csv.Error):
        raise UserMistake.at(where, "is no CSV text in UTF-8", f"begin with {_EXAMPLE!r}") from None
    if not found:
        raise UserMistake.at(where, "no device is in it", "write one row for each")
    return found


def _device(place: str, row: Mapping[str, str | None]) -> ShippedDevice:
    currency = one_line((row.get("currency") or "USD").strip(), 10)
    if currency not in CURRENCIES:
        raise UserMistake.at(place, f"{currency!r} is no currency", "write e.g. USD")
    out = _number(place, row, "out_per_gb", None)
    return ShippedDevice(
        name=one_line((row["name"] or "").strip(), 60), provider=one_line((row.get("provider") or "").strip(), 30),
        usable_bytes=_above_zero(place, row, "usable_tb") * 1e12, fee=_above_zero(place, row, "fee"),
        included_days=_number(place, row, "included_days", _NEVER) or 0.0,
        day_fee=_number(place, row, "day_fee", 0.0) or 0.0,
        handling_days=_above_zero(place, row, "handling_days"),
        copy_bytes_per_s=_above_zero(place, row, "copy_mb_per_s") * 1e6, out_per_gb=out or None, currency=currency,
        source=one_line((row.get("source") or "given").strip(), 80),
        as_of=one_line((row.get("as_of") or "").strip(), 20),
    )  # fmt: skip


def _above_zero(place: str, row: Mapping[str, str | None], column: str) -> float:
    value = _number(place, row, column, None)
    if not value:
        raise UserMistake.at(place, f"{column} is missing or zero", "write a number above zero")
    return value


def _number(place: str, row: Mapping[str, str | None], column: str, without: float | None) -> float | None:
    text = (row.get(column) or "").strip()
    if not text:
        return without
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value >= 0):
        raise UserMistake.at(place, f"{column} is {one_line(text, 40)!r}", "write a number of at least zero")
    return value
