"""The catalogue of metrics, probes, suites and tools."""

from cloudcmp.catalog.lookup import (
    APART,
    COMMAND,
    DEFAULT,
    TOOL,
    canonical,
    cells_of,
    command_cells,
    expected_s,
    fill,
    measure_cell,
    metrics_with,
    once_a_launch,
    output_settings_text,
    pair_run,
    refusal,
    roles_of,
    settings_of,
    settings_text,
    suite_of,
    tool_of,
)
from cloudcmp.catalog.parameters import hint, nearest
from cloudcmp.catalog.places import place_of
from cloudcmp.catalog.tables import LOAD_START_S, LOADS, METRICS, PROBES, SUITES
from cloudcmp.catalog.tables.groups import exchange_bytes
from cloudcmp.tools import READERS, TOOLS
