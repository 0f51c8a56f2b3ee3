"""Reads measured throughput between places from a CSV file."""

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cloudcmp.errors import UserMistake
from cloudcmp.model.untrusted_text import one_line
from cloudcmp.units import are, counted

Pair = tuple[str, str]
_UNITS = {"bytes_per_s": 1.0, "throughput_received": 1 / 8, "throughput_recieved": 1 / 8, "bit_per_s": 1 / 8}
"""Columns that hold a rate, and their unit in bytes a second; Skyplane's tables spell one of theirs in two ways."""
_FROM, _TO = ("src_region", "from", "src"), ("dst_region", "to", "dst")
_TIER = "PREMIUM"
_CONNECTIONS = "iperf3_connections"
_EXAMPLE = "from,to,bytes_per_s"


@dataclass(frozen=True, slots=True)
class Throughputs:
    """The rates (B/s) of each pair of places that were measured, with their source and notes in words."""

    values: Mapping[Pair, tuple[float, ...]]
    source: str
    notes: tuple[str, ...] = ()


def read_throughputs(path: Path) -> Throughputs:
    """Read rates between places: `from, to, bytes_per_s`, or Skyplane's grid of iperf3 runs (bit/s).

    Places are `provider/region`, also written `provider:region`, or any name. Rows of another network tier than PREMIUM
    at either end, and runs that failed, are left out.

    Raises UserMistake for an unreadable file, and for a rate that is not above zero.
    """
    where = str(path)
    values: dict[Pair, list[float]] = {}
    left = 0
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = csv.DictReader(file)
            names = rows.fieldnames or ()
            origin, to, rate = _columns(where, names)
            for row in rows:
                tiers = {row.get("src_tier") or _TIER, row.get("dst_tier") or _TIER}
                if tiers != {_TIER} or (row.get("success") or "True") != "True":
                    left += 1
                    continue
                pair = place_name(row[origin] or ""), place_name(row[to] or "")
                values.setdefault(pair, []).append(_rate(f"{where}:{rows.line_num}", row[rate] or "") * _UNITS[rate])
    except OSError as error:
        raise UserMistake.at(where, (error.strerror or str(error)).lower(), "name a CSV file") from None
    except (UnicodeDecodeError, csv.Error):
        raise UserMistake.at(where, "is no CSV text in UTF-8", f"begin with {_EXAMPLE!r}") from None
    notes = (
        [f"{path.name}: {counted(left, 'row')} of another network tier or of failed runs {are(left)} left out"]
        if left
        else []
    )
    if _CONNECTIONS in names:
        notes.append(f"{path.name}: runs of seconds with many connections between large machines; a copy may be slower")
    return Throughputs({pair: tuple(some) for pair, some in values.items()}, path.name, tuple(notes))


def _columns(where: str, names: Sequence[str]) -> tuple[str, str, str]:
    found = [next((one for one in some if one in names), None) for some in (_FROM, _TO, tuple(_UNITS))]
    origin, to, rate = found
    if origin is None or to is None or rate is None:
        missing = next(name for name, one in zip(("from", "to", "bytes_per_s"), found, strict=True) if one is None)
        raise UserMistake.at(f"{where}:1", f"no column {missing!r}", f"begin with {_EXAMPLE!r}")
    return origin, to, rate


def place_name(text: str) -> str:
    """A place as `provider/region`, without the zone that Skyplane writes for Google's regions."""
    provider, colon, region = one_line(text.strip(), 80).partition(":")
    if not colon:
        provider, _, region = provider.partition("/")
    if provider == "gcp" and len(region) > 2 and region[-2] == "-" and region[-1].isalpha():
        region = region[:-2]
    return f"{provider}/{region}" if region else provider


def _rate(place: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        shown = one_line(text, 40)
        raise UserMistake.at(place, f"{shown!r} is no rate above zero", "leave the row out if the run failed")
    return value
