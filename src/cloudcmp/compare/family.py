"""Which cells decide, and how p values are corrected for how many questions were asked."""

from collections.abc import Iterable

import numpy as np

from cloudcmp.model.cell import Cell
from cloudcmp.model.plan import Plan
from cloudcmp.stats.adjust import benjamini_hochberg, holm
from cloudcmp.stats.check import Floats

ALPHA = 0.05


def deciding(plan: Plan, cells: Iterable[str]) -> dict[str, float | None]:
    """The cells that decide, with their margins: those that `plan.decide` names, or all where it names none.

    A metric's name stands for all its cells. Where a cell is named twice, the last margin that is given holds.
    """
    known = tuple(cells)
    if not plan.decide:
        return dict.fromkeys(known)
    found: dict[str, float | None] = {}
    for named in plan.decide:
        wanted = Cell.parse(named.cell)
        for text in known:
            cell = Cell.parse(text)
            if cell == wanted or (not wanted.params and cell.metric == wanted.metric):
                found[text] = found.get(text) if named.margin is None else named.margin
    return {text: found[text] for text in known if text in found}


def adjusted(p: Floats, decides: bool) -> Floats:
    """Holm's adjusted p values for the cells that decide, Benjamini and Hochberg's for all others; in the order of `p`.

    `p` is one whole family: every pair in every cell that the plan gives to both candidates, whatever came of it. A
    question that could not be tested, or that was barred from a verdict, is NaN: it stays in the family with p = 1.
    Leaving it out would let the data choose the size of the family; a larger p than a test's own never adds a false
    `better`. Its own adjusted value is NaN.
    """
    if not p.size:
        return p
    correct, unknown = holm if decides else benjamini_hochberg, np.isnan(p)
    return np.where(unknown, np.nan, correct(np.where(unknown, 1.0, p)))
