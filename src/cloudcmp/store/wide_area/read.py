"""Reads a file of times between vantage points and sites, whatever its form."""

from pathlib import Path

from cloudcmp.errors import UserMistake
from cloudcmp.model.wide_area import WideArea
from cloudcmp.store.wide_area.atlas import read_atlas
from cloudcmp.store.wide_area.cells import columns_of
from cloudcmp.store.wide_area.documents import is_json
from cloudcmp.store.wide_area.skyplane import is_skyplane, read_skyplane
from cloudcmp.store.wide_area.table import is_latency_table, read_latency_table
from cloudcmp.store.wide_area.targets import Targets

KNOWN = (
    "RIPE Atlas results (JSON), a table with vantage, provider, region and ms, a tidy table or study with wan_rtt_s, "
    "Skyplane's round-trip times"
)
"""The files that are understood, for messages."""


def is_wide_area(path: Path) -> bool:
    """True if a file has one of the forms that `read_wide_area` reads.

    Raises UserMistake if there is no such file, or it is neither JSON nor a table.
    """
    if is_json(path):
        return True
    columns = columns_of(path)
    return is_skyplane(columns) or is_latency_table(columns)


def read_wide_area(path: Path, targets: Targets | None = None) -> WideArea:
    """Read RIPE Atlas results, Skyplane's grid of round-trip times, or a plain table of times, by content.

    `targets` says to which sites the names and addresses in RIPE Atlas results belong.

    Raises UserMistake for a file of no known form, and for each fault in it: where, what, and what to do next.
    """
    if is_json(path):
        return read_atlas(path, targets or Targets({}))
    columns = columns_of(path)
    if is_skyplane(columns):
        return read_skyplane(path)
    if is_latency_table(columns):
        return read_latency_table(path)
    raise UserMistake.at(str(path), "no times between vantage points and regions", f"name one of: {KNOWN}")
