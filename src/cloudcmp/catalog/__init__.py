"""The one table of metrics, probes and suites."""

from cloudcmp.catalog.lookup import (
    canonical,
    cells_of,
    expected_s,
    fill,
    hint,
    nearest,
    once_a_launch,
    probe_of,
    suite_of,
)
from cloudcmp.catalog.metrics import METRICS, PERCENTILES
from cloudcmp.catalog.places import PLACES, Place, place_of
from cloudcmp.catalog.probes import PROBES
from cloudcmp.catalog.suites import SUITES

__all__ = [
    "METRICS",
    "PERCENTILES",
    "PLACES",
    "PROBES",
    "SUITES",
    "Place",
    "canonical",
    "cells_of",
    "expected_s",
    "fill",
    "hint",
    "nearest",
    "once_a_launch",
    "place_of",
    "probe_of",
    "suite_of",
]
