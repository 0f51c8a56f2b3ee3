"""The table of probes with their parameters. A test compares it with the agent's own table.

`built=False` marks those that only the simulated provider answers so far.
"""

from cloudcmp.catalog.tables import FAMILIES
from cloudcmp.model.metric import Probe

PROBES: dict[str, Probe] = {probe.name: probe for family in FAMILIES for probe in family.PROBES}
