"""The family of questions, and the verdicts on the pairs of a cell: the first rule that applies decides."""

import math
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from cloudcmp.catalog import METRICS
from cloudcmp.compare.pairing import Figures
from cloudcmp.model.cell import Cell
from cloudcmp.model.metric import Better, Metric
from cloudcmp.model.plan import Plan
from cloudcmp.model.result import Clause, Estimate, Verdict
from cloudcmp.model.study import FEWEST_LAUNCHES
from cloudcmp.stats import many
from cloudcmp.stats.adjust import benjamini_hochberg, holm
from cloudcmp.stats.check import Floats

# Ratios inside (1 / SAME_RATIO, SAME_RATIO) make no practical difference.
SAME_RATIO = 1.03
LARGEST_FAILED_PERCENT = 10
# Columns store a verdict as its index here.
CODES: tuple[Verdict | None, ...] = (None, *Verdict)
Codes = npt.NDArray[np.int8]

_Key = tuple[str | None, int | None]


def bars_of(plan: Plan, estimates: Sequence[Estimate]) -> dict[tuple[str, int], Clause | None]:
    """Return, for each cell and candidate, why it can neither win nor lose there; None if nothing bars it.

    Bars are more than 10 % failures, and fewer than 6 launches. A planned launch without a value also counts as a
    failure if a later launch of the same candidate gave one, because without capacity no trial is ever started.
    """
    schedule: dict[int, list[_Key]] = {candidate.index: [] for candidate in plan.candidates}
    for launch in plan.launches:
        schedule[launch.candidate].append((launch.session, launch.round))
    planned = set() if plan.imported else {plan.launches[trial.launch].candidate for trial in plan.trials}
    return {
        (one.cell, one.candidate): _bar(plan, one, schedule[one.candidate] if one.candidate in planned else ())
        for one in estimates
    }


def _bar(plan: Plan, one: Estimate, schedule: Sequence[_Key]) -> Clause | None:
    """Return what bars a candidate in a cell; the `schedule` of an imported one, which had no plan, is empty."""
    name = plan.candidates[one.candidate].id
    if one.n == 0:
        return Clause(name, one.reason or "no values")
    failed = one.n_started - one.n_ok
    if failed * 100 > LARGEST_FAILED_PERCENT * one.n_started:
        metric = METRICS.get(Cell.parse(one.cell).metric)
        sparse = metric is not None and metric.sparse
        return Clause(name, f"{failed} of {one.n_started} trials {'gave no value' if sparse else 'failed'}")
    lost, due = _lost_launches(one, schedule)
    if lost * 100 > LARGEST_FAILED_PERCENT * due:
        return Clause(name, f"{lost} of {due} launches gave no value")
    if one.n < FEWEST_LAUNCHES:
        return Clause(name, f"{one.n} of at least {FEWEST_LAUNCHES} launches", lacks_launches=True)
    return None


def _lost_launches(one: Estimate, schedule: Sequence[_Key]) -> tuple[int, int]:
    """Return the planned launches without a value before the last one with a value, and all up to that one."""
    if one.n >= len(schedule):
        return 0, one.n
    measured = set(zip(one.sessions, one.rounds, strict=True))
    planned = [key in measured for key in schedule]
    due = len(planned) - planned[::-1].index(True) if True in planned else 0
    return due - sum(planned[:due]), due


def verdicts_of(figures: Figures, metric: Metric, p_adjusted: Floats, p_same: Floats) -> Codes:
    """Return the verdict on each pair's first candidate against the second, as its index in `CODES`.

    For pairs that nothing bars, the first rule that applies: `cannot tell yet` with fewer than 6 pairs;
    `practically the same` if `p_same`, corrected for the family, is below 0.05; `better` or `worse` if `p_adjusted` is;
    else `cannot tell yet`.
    """
    better, worse = CODES.index(Verdict.BETTER), CODES.index(Verdict.WORSE)
    higher = (figures.centre > 0.0) == (metric.better is Better.HIGHER)
    codes = np.where(p_adjusted < ALPHA, np.where(higher, better, worse), CODES.index(Verdict.CANNOT_TELL))
    codes[p_same < ALPHA] = CODES.index(Verdict.SAME)
    codes[figures.n < FEWEST_LAUNCHES] = CODES.index(Verdict.CANNOT_TELL)
    return codes.astype(np.int8)


def same_limit(metric: Metric, margin: float | None) -> float | None:
    """Return the difference below which two are practically the same: 3 % of the ratio, or for differences the study's
    margin; None without one."""
    return math.log(SAME_RATIO) if not metric.signed else margin


def sameness(figures: Figures, metric: Metric, margin: float | None) -> Floats:
    """Return the p values of the two one-sided tests that a pair differs by less than `same_limit`; NaN without one."""
    limit = same_limit(metric, margin)
    if limit is None:
        return np.full(figures.centre.shape, np.nan)
    at_one_look = many.equivalence(figures.centre, figures.error, figures.df, limit)
    return np.where(figures.by_rounds, figures.p_same, at_one_look) if figures.every_look else at_one_look


ALPHA = 0.05


def deciding(plan: Plan, cells: Iterable[str]) -> dict[str, float | None]:
    """Return the deciding cells with their margins: those that `plan.decide` names, or all if it names none.

    A metric's name stands for all its cells. If a cell is named twice, the last given margin applies.
    """
    known = tuple(cells)
    if not plan.decide:
        return dict.fromkeys(known)
    margins: dict[str, float | None] = {}
    for named in plan.decide:
        wanted = Cell.parse(named.cell)
        for text in known:
            cell = Cell.parse(text)
            if cell == wanted or (not wanted.params and cell.metric == wanted.metric):
                margins[text] = margins.get(text) if named.margin is None else named.margin
    return {text: margins[text] for text in known if text in margins}


def adjusted(p: Floats, decides: bool) -> Floats:
    """Return the adjusted p values in the order of `p`: Holm's for deciding cells, else Benjamini and Hochberg's.

    `p` is one whole family: every pair in every cell that the plan gives to both candidates, whatever its result. A
    question that could not be tested, or that was barred from a verdict, is NaN: it stays in the family with p = 1, and
    its own adjusted value is NaN. If it were left out, the data would choose the size of the family. A p larger than a
    test's own never adds a false `better`.
    """
    if not p.size:
        return p
    correct, unknown = holm if decides else benjamini_hochberg, np.isnan(p)
    return np.where(unknown, np.nan, correct(np.where(unknown, 1.0, p)))
