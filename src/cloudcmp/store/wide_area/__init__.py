"""Readers of times between vantage points and data centres: RIPE Atlas results, Skyplane's grid, and plain tables."""

from cloudcmp.store.wide_area.read import is_wide_area, read_wide_area
from cloudcmp.store.wide_area.targets import Targets, read_targets
from cloudcmp.store.wide_area.vantages import read_vantages, with_vantages
from cloudcmp.store.wide_area.write import write_latency_table
