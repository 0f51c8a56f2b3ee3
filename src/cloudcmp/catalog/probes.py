"""The table of probes: what can be run, with which parameters. A test holds the agent's own table against it.

`built=False` marks those that only the simulated provider answers so far.
"""

from cloudcmp.catalog.tables import FAMILIES
from cloudcmp.model.metric import Probe

PROBES: dict[str, Probe] = {probe.name: probe for family in FAMILIES for probe in family.PROBES}
