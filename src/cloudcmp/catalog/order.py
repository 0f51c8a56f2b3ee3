"""The order in which cells of one metric are listed: by their parameters, reading before writing."""

import math
from contextlib import suppress
from functools import cache

from cloudcmp.catalog.tables import LOADS, PROBES
from cloudcmp.model.cast import INTENSITY, NEIGHBOUR, NO_LOAD
from cloudcmp.model.cell import Cell

_LAST = ("threads", "op", "percentile", NEIGHBOUR, INTENSITY)
"""Parameters that vary fastest, in this order; all others before them, by name."""
_THREADS = {"one": 1.0, "all": math.inf}


def cell_order(cell: Cell) -> tuple[object, ...]:
    """The sort key of a cell among those of its metric: numbers by size, words in the order of their probe."""
    words = _words(cell.metric)
    values = dict(cell.params)
    names = [*(name for name in values if name not in _LAST), *(name for name in _LAST if name in values)]
    return tuple((name, *_rank(name, values[name], words.get(name, ()))) for name in names)


def _rank(name: str, value: str, words: tuple[str, ...]) -> tuple[int, float, str]:
    if name == "threads" and value in _THREADS:
        return 0, _THREADS[value], ""
    with suppress(ValueError):
        if math.isfinite(number := float(value)):
            return 0, number, ""
    return (1, float(words.index(value)), "") if value in words else (2, 0.0, value)


@cache
def _words(metric: str) -> dict[str, tuple[str, ...]]:
    """The words of each parameter of the probes that give a metric, in their order."""
    probes = (probe for probe in PROBES.values() if metric in probe.metrics)
    own = {one.name: one.words for probe in probes for one in probe.params if one.words}
    return {**own, NEIGHBOUR: (NO_LOAD, *LOADS)}
