"""The one table of metrics, probes and suites."""

from cloudcmp.catalog.command_metrics import COMMAND, command_cells, metrics_with
from cloudcmp.catalog.lookup import (
    canonical,
    cells_of,
    expected_s,
    fill,
    once_a_launch,
    probe_of,
    refusal,
    suite_of,
)
from cloudcmp.catalog.metrics import METRICS, PERCENTILES
from cloudcmp.catalog.parameters import hint, nearest
from cloudcmp.catalog.places import PLACES, Place, place_of
from cloudcmp.catalog.probes import PROBES
from cloudcmp.catalog.suites import SUITES
from cloudcmp.catalog.tooling import (
    DEFAULT,
    TOOL,
    UNTOLD,
    measure_cell,
    settings_of,
    settings_text,
    told_text,
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
    "UNTOLD",
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
    "place_of",
    "probe_of",
    "refusal",
    "settings_of",
    "settings_text",
    "suite_of",
    "told_text",
    "tool_of",
    "tool_settings",
]
