"""The catalogue of metrics, probes, suites and tools."""

from cloudcmp.catalog.lookup import (
    COMMAND,
    canonical,
    cells_of,
    command_cells,
    expected_s,
    fill,
    metrics_with,
    once_a_launch,
    probe_of,
    refusal,
    suite_of,
)
from cloudcmp.catalog.parameters import hint, nearest
from cloudcmp.catalog.places import PLACES, Place, place_of
from cloudcmp.catalog.tables import METRICS, PERCENTILES, PROBES, SUITES
from cloudcmp.catalog.tool_settings import (
    DEFAULT,
    TOOL,
    UNKNOWN_SETTINGS,
    measure_cell,
    output_settings_text,
    settings_of,
    settings_text,
    tool_of,
    tool_settings,
)
from cloudcmp.tools import READERS, TOOLS

__all__ = [
    "COMMAND",
    "DEFAULT",
    "METRICS",
    "PERCENTILES",
    "PLACES",
    "PROBES",
    "READERS",
    "SUITES",
    "TOOL",
    "TOOLS",
    "UNKNOWN_SETTINGS",
    "Place",
    "canonical",
    "cells_of",
    "command_cells",
    "expected_s",
    "fill",
    "hint",
    "measure_cell",
    "metrics_with",
    "nearest",
    "once_a_launch",
    "output_settings_text",
    "place_of",
    "probe_of",
    "refusal",
    "settings_of",
    "settings_text",
    "suite_of",
    "tool_of",
    "tool_settings",
]
