"""Which quantities of several machines add up, as declared facts of metrics and columns.

Rates and scores of a whole machine add up if the work can be divided. Times, latencies, ratios and the work of one
thread do not: two machines finish one job no sooner.
"""

from collections.abc import Mapping
from enum import Enum

from cloudcmp.catalog.public_tables import PUBLIC_COLUMNS
from cloudcmp.catalog.tables import METRICS
from cloudcmp.model.cell import Cell
from cloudcmp.model.metric import Better

FACTS = ("vcpus", "memory_gib")
"""Advertised facts that add up."""
WIDTHS = ("threads", "copies", "clients")
"""Parameters of cells for how much runs at once on a machine; `all` is every processor."""
ALL = "all"


class NotAdded(Enum):
    """Why a quantity of several machines is not that of one times their number; the value is the reason in words."""

    TIME = "times, latencies and ratios do not add up: two machines finish one job no sooner"
    ONE_THREAD = "it is the work of one thread, not of the whole machine"
    UNDECLARED = "whether it adds up is not known"
    TEXT = "it is a text"


def width_of(column: str) -> float | NotAdded:
    """The number of processors whose work a column counts, infinite for a whole machine, or why it does not add up.

    `column` is a cell, an advertised fact, or a column of a public table.
    """
    if column in FACTS:
        return float("inf")
    if column in PUBLIC_COLUMNS:
        public = PUBLIC_COLUMNS[column]
        if public.better is Better.LOWER:
            return NotAdded.TIME
        return float("inf") if public.is_whole else NotAdded.ONE_THREAD
    metric = METRICS.get(column.partition(" ")[0])
    if metric is None:
        return NotAdded.UNDECLARED
    if not (metric.is_rate or metric.is_score):
        return NotAdded.UNDECLARED if metric.better is Better.HIGHER and not metric.signed else NotAdded.TIME
    return _width(dict(Cell.parse(column).params))


def _width(params: Mapping[str, str]) -> float | NotAdded:
    words = [params[name] for name in WIDTHS if name in params]
    if not words:
        return NotAdded.UNDECLARED
    if ALL in words:
        return float("inf")
    numbers = [float(word) for word in words if word.isdigit()]
    widest = max(numbers, default=1.0)
    return widest if widest > 1 else NotAdded.ONE_THREAD
