"""Planted cells of a study, and the draws that fill the cells in which it plants nothing."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from cloudcmp.model.cell import Cell
from cloudcmp.model.offering import CellTruth
from cloudcmp.plan.trials import generator

APART = 0.18
"""The spread of candidates without planted values, on the log scale: a factor of 1.2 is one standard deviation."""
_COV = (0.01, 0.05)
_BETWEEN = (0.01, 0.04)
# A typical tail of services: the 95th and 99th percentile as powers of one factor above the median.
_TAIL = (1.2, 1.8)
_TAIL_POWER = {"50": 0.0, "95": 1.0, "99": 1.7, "99.9": 2.6}


@dataclass(frozen=True, slots=True)
class PlantedCell:
    """The truth that the study plants in all cells with these parameters."""

    cell: Cell
    truth: CellTruth


def planted(cell: Cell, written: Sequence[PlantedCell]) -> CellTruth | None:
    """The truth that the study plants in a cell, by the text with most of its parameters; None if it plants none."""
    found = best(cell, written)
    return found.truth if found else None


def best(cell: Cell, written: Sequence[PlantedCell]) -> PlantedCell | None:
    """The planted cell with most of a cell's parameters; None if the study plants none."""
    fitting = [one for one in written if one.cell.metric == cell.metric and set(one.cell.params) <= set(cell.params)]
    return max(fitting, key=lambda one: len(one.cell.params), default=None)


def drawn_spreads(seed: int, candidate: int, series: Cell) -> tuple[float, float]:
    """Plausible coefficients of variation of a series without planted ones: between runs, and between launches."""
    draw = generator(seed, "truth", candidate, series)
    cov = log_uniform(draw.random(), _COV)
    between = log_uniform(draw.random(), _BETWEEN)
    return round(cov, 4), round(between, 4)


def tail(whose: int | str, cell: Cell, seed: int) -> float:
    """The ratio of a percentile to the median."""
    draw = generator(seed, "tail", whose, without(cell, "percentile"))
    return math.pow(draw.uniform(*_TAIL), _TAIL_POWER.get(cell.get("percentile") or "50", 1.0))


def without(cell: Cell, *keys: str) -> Cell:
    """The cell without some of its parameters."""
    return Cell(cell.metric, tuple(item for item in cell.params if item[0] not in keys))


def log_uniform(number: float, ends: tuple[float, float]) -> float:
    """A number between two ends, uniform on the log scale; `number` is uniform between 0 and 1."""
    return ends[0] * math.exp(number * math.log(ends[1] / ends[0]))
