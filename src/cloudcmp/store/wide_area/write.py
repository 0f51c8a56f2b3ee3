"""Writes times between vantage points and sites as the plain table that is read back."""

import csv
import io
from pathlib import Path

from cloudcmp.model.wide_area import WideArea
from cloudcmp.store.files import write_durably
from cloudcmp.store.output_files import check_replaceable
from cloudcmp.store.wide_area.table import is_latency_table

_HEAD = ("vantage", "provider", "region", "phase", "ms", "n", "started", "least", "size_bytes")


def write_latency_table(path: Path, area: WideArea) -> int:
    """Write the times of an area, one row a path; returns their number. Raises UserMistake if another file is there."""
    check_replaceable(path, "table of times", _is_one)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_HEAD)
    for one in area.paths:
        site = area.sites[one.site]
        times = (_ms(one.median_s), one.n, one.started, _ms(one.least_s))
        size = "" if one.size_bytes is None else one.size_bytes
        writer.writerow((area.vantages[one.vantage].name, site.provider, site.region, one.phase.value, *times, size))
    write_durably(path, text.getvalue().encode())
    return len(area.paths)


def _ms(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds * 1e3:.9g}"


def _is_one(head: bytes) -> bool:
    first = head.split(b"\n", 1)[0].decode("utf-8", errors="replace")
    return is_latency_table(tuple(name.strip().lower() for name in first.split(",")))
