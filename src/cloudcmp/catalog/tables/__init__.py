"""The tables of metrics, probes and suites, one file for each family.

`typical` of a metric is a plausible magnitude, used only to draw values that a simulated study does not plant.
A test compares the table of probes with the agent's own. Each value of a parameter of a suite is run.
"""

from cloudcmp.catalog.tables import (
    commands,
    dbench,
    groups,
    iozone,
    machines,
    neighbours,
    network,
    npb,
    peaks,
    postmark,
    services,
    tasks,
    tools,
    unixbench,
    wan,
)
from cloudcmp.catalog.tables.neighbours import LOAD_START_S, LOADS
from cloudcmp.model.metric import Metric, Probe, Suite

FAMILIES = (
    peaks, tasks, unixbench, dbench, iozone, postmark, npb, machines, neighbours, network, groups, services, wan, tools,
    commands,
)  # fmt: skip

METRICS: dict[str, Metric] = {metric.name: metric for family in FAMILIES for metric in family.METRICS}
PROBES: dict[str, Probe] = {probe.name: probe for family in FAMILIES for probe in family.PROBES}
SUITES: dict[str, Suite] = {suite.name: suite for family in FAMILIES for suite in family.SUITES}
PERCENTILES = ("50", "95", "99")
