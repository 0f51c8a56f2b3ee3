"""The family of questions, and the verdicts on the pairs of a cell: of each the first rule that holds."""

import math
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from cloudcmp.analysis import FEWEST_LAUNCHES
from cloudcmp.compare.pairing import Figures, Flags
from cloudcmp.model.cell import Cell
from cloudcmp.model.metric import Better, Metric
from cloudcmp.model.plan import Plan
from cloudcmp.model.result import Clause, Estimate, Verdict
from cloudcmp.stats.adjust import benjamini_hochberg, holm
from cloudcmp.stats.check import Floats

# Ratios inside (1 / SAME_RATIO, SAME_RATIO) make no practical difference.
SAME_RATIO = 1.03
LARGEST_FAILED_PERCENT = 10
# In a column a verdict is its place here.
CODES: tuple[Verdict | None, ...] = (None, *Verdict)
Codes = npt.NDArray[np.int8]

_Key = tuple[str | None, int | None]


def bars_of(plan: Plan, estimates: Sequence[Estimate]) -> dict[tuple[str, int], Clause | None]:
    """For each cell and candidate why it can neither win nor lose there; None where nothing bars it.

    Bars are more than 10 % failed, and fewer than 6 launches. A planned launch that gave no value although a later one
    of the same candidate did counts as failed as well: where capacity ran out, no trial was ever started.
    """
    schedule: dict[int, list[_Key]] = {candidate.index: [] for candidate in plan.candidates}
    for launch in plan.launches:
        schedule[launch.candidate].append((launch.session, launch.round))
    return {(one.cell, one.candidate): _bar(plan, one, schedule[one.candidate]) for one in estimates}


def _bar(plan: Plan, one: Estimate, schedule: Sequence[_Key]) -> Clause | None:
    name = plan.candidates[one.candidate].id
    if one.n == 0:
        return Clause(name, one.reason or "no values")
    failed = one.n_started - one.n_ok
    if failed * 100 > LARGEST_FAILED_PERCENT * one.n_started:
        return Clause(name, f"{failed} of {one.n_started} trials failed")
    lost, due = (0, one.n) if plan.imported else _lost_launches(one, schedule)
    if lost * 100 > LARGEST_FAILED_PERCENT * due:
        return Clause(name, f"{lost} of {due} launches gave no value")
    if one.n < FEWEST_LAUNCHES:
        return Clause(name, f"{one.n} of at least {FEWEST_LAUNCHES} launches")
    return None


def _lost_launches(one: Estimate, schedule: Sequence[_Key]) -> tuple[int, int]:
    """Planned launches without a value that came before the last one with a value, and all up to that one."""
    if one.n >= len(schedule):
        return 0, one.n
    seen = set(zip(one.sessions, one.rounds, strict=True))
    planned = [key in seen for key in schedule]
    due = len(planned) - planned[::-1].index(True) if True in planned else 0
    return due - sum(planned[:due]), due


def verdicts_of(figures: Figures, metric: Metric, margin: float | None, p_adjusted: Floats) -> Codes:
    """The verdict of each pair for its first candidate against the second, as its place in `CODES`.

    For pairs that nothing bars, in this order: `cannot tell yet` for fewer than 6 pairs; `practically the same` when
    the 90 % interval lies inside (1/1.03, 1.03), or for differences inside the margin that the study gives; `better` or
    `worse` when `p_adjusted` is below 0.05; else `cannot tell yet`.
    """
    better, worse = CODES.index(Verdict.BETTER), CODES.index(Verdict.WORSE)
    higher = (figures.centre > 0.0) == (metric.better is Better.HIGHER)
    codes = np.where(p_adjusted < ALPHA, np.where(higher, better, worse), CODES.index(Verdict.CANNOT_TELL))
    codes[_inside(figures, metric, margin)] = CODES.index(Verdict.SAME)
    codes[figures.n < FEWEST_LAUNCHES] = CODES.index(Verdict.CANNOT_TELL)
    return codes.astype(np.int8)


def _inside(figures: Figures, metric: Metric, margin: float | None) -> Flags:
    """Which 90 % intervals lie inside what makes no practical difference."""
    low, high = figures.centre - figures.half_90, figures.centre + figures.half_90
    if metric.signed:
        return np.zeros(low.shape, dtype=np.bool_) if margin is None else (-margin < low) & (high < margin)
    inside = (low > -2.0 * math.log(SAME_RATIO)) & (high < 2.0 * math.log(SAME_RATIO))
    for at in np.flatnonzero(inside).tolist():  # of the very ratios that are shown
        inside[at] = math.exp(low[at]) > 1.0 / SAME_RATIO and math.exp(high[at]) < SAME_RATIO
    return inside


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
