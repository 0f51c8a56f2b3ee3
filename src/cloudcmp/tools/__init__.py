"""Tools that others trust: how they are run, and what their outputs say."""

from cloudcmp.model.tool import Reader, Tool
from cloudcmp.tools import dbench, fio, hpcc, openssl, pgbench, postmark, stream, stress_ng, sysbench, unixbench, wrk

_MODULES = (fio, sysbench, stress_ng, dbench, postmark, unixbench, hpcc, stream, openssl, pgbench, wrk)

TOOLS: dict[str, Tool] = {tool.name: tool for module in _MODULES for tool in module.TOOLS}
"""The tools that a study can run."""

READERS: dict[str, Reader] = {module.READER.name: module.READER for module in _MODULES}
"""The outputs that can be read."""

__all__ = ["READERS", "TOOLS"]
