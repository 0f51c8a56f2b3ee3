"""The tables, one file for each family of metrics, probes and suites."""

from cloudcmp.catalog.tables import (
    commands,
    dbench,
    iozone,
    machines,
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

FAMILIES = (peaks, tasks, unixbench, dbench, iozone, postmark, npb, machines, network, services, wan, tools, commands)

__all__ = ["FAMILIES"]
