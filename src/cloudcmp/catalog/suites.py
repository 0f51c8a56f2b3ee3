"""The table of suites: named sets of probes with parameters; each value of a parameter is run."""

from cloudcmp.catalog.tables import FAMILIES
from cloudcmp.model.metric import Suite

SUITES: dict[str, Suite] = {suite.name: suite for family in FAMILIES for suite in family.SUITES}
