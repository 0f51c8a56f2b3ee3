"""Third-party benchmark tools: how each is run, and how its output is read."""

from cloudcmp.model.tool import Reader, Tool
from cloudcmp.tools import (
    dbench,
    fio,
    hpcc,
    hyperfine,
    inspector,
    iozone,
    k6,
    lmbench,
    memtier,
    messages,
    network,
    npb,
    openssl,
    pgbench,
    phoronix,
    postmark,
    scores,
    sparecores,
    stream,
    stress_ng,
    sysbench,
    unixbench,
    wrk,
    ycsb,
)

_MODULES = (
    fio,
    sysbench,
    stress_ng,
    dbench,
    postmark,
    unixbench,
    hpcc,
    stream,
    iozone,
    npb,
    openssl,
    pgbench,
    memtier,
    ycsb,
    wrk,
)
_IMPORTED = (network, messages, scores, sparecores, inspector, lmbench, hyperfine, k6, phoronix)

TOOLS: dict[str, Tool] = {tool.name: tool for module in (*_MODULES, network) for tool in module.TOOLS}
"""The tools that a study can run."""

_READERS = (
    *(module.READER for module in _MODULES),
    *(reader for module in _IMPORTED for reader in module.READERS),
)
READERS: dict[str, Reader] = {reader.name: reader for reader in _READERS}
"""The readable outputs."""
