"""The table of metrics: every quantity that cloudcmp compares, with its unit and direction.

`typical` is a plausible magnitude, used only to draw values that a simulated study does not plant.
"""

from cloudcmp.catalog.tables import FAMILIES
from cloudcmp.model.metric import Metric

METRICS: dict[str, Metric] = {metric.name: metric for family in FAMILIES for metric in family.METRICS}
PERCENTILES = ("50", "95", "99")
