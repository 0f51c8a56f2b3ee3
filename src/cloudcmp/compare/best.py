"""Many candidates: which may be the best of a cell, instead of a verdict on every pair (Hsu's comparisons with the
best)."""

import math

import numpy as np

from cloudcmp.compare.pairing import Flags, pairs_of
from cloudcmp.compare.question import Question
from cloudcmp.compare.verdict import ALPHA, CODES, SAME_RATIO, Codes
from cloudcmp.model.metric import Better
from cloudcmp.model.plan import Plan
from cloudcmp.model.result import Verdict
from cloudcmp.model.study import FEWEST_LAUNCHES
from cloudcmp.stats.check import Floats

MOST_FOR_PAIRS = 5
"""Up to this many candidates every pair is a question; of more, each candidate against the best is."""
_BETTER, _WORSE, _SAME, _CANNOT_TELL = (CODES.index(one) for one in Verdict)


def asks_for_the_best(plan: Plan) -> bool:
    """True if the question of a study is which candidate is the best, because it has many."""
    return len(plan.candidates) > MOST_FOR_PAIRS


def questions_of(question: Question) -> int:
    """Return the number of questions of one cell: each offered candidate but one against the best."""
    return max(0, int(question.offered.sum()) - 1)


def one_sided(question: Question, family: int) -> Floats:
    """Return the p value of each pair that the candidate with the worse mean is not behind, times `family`.

    Half of the two-sided p value over all looks; NaN for a pair that is barred or not in the family.
    """
    p = np.where(question.barred | ~question.in_family, np.nan, question.spent)
    return np.minimum(1.0, p / 2.0 * max(1, family))


def best_codes(question: Question, p_adjusted: Floats, margin: float | None, level: float) -> Codes:
    """Return the verdict on each pair's first candidate against the second, as its index in `CODES`.

    A candidate is behind if some other one is better with `p_adjusted` below 0.05; those that are not behind may be the
    best. A candidate is practically the same as the best if its one-sided interval (at `level`) of the difference from
    each that may be the best ends within 3 %, or within the `margin` of differences; two such get that verdict on each
    other. So with a probability of 95 % in all cells together, the truly best candidate of each is not called behind,
    and none that is 3 % or more behind it is called practically the same. Exactly equal candidates may be called behind
    each other; that one of them is the best stays true.

    Source: Hsu, "Multiple Comparisons: Theory and Methods", 1996, section 4.2, here by Bonferroni's inequality, because
    spreads differ.
    """
    figures = question.figures
    first, second = pairs_of(len(question.candidates))
    able = ~question.barred & question.in_family & (figures.n >= FEWEST_LAUNCHES)
    up = figures.centre if question.metric.better is Better.HIGHER else -figures.centre
    with np.errstate(invalid="ignore"):
        told = able & (p_adjusted < ALPHA)
    codes = np.where(told, np.where(up > 0.0, _BETTER, _WORSE), _CANNOT_TELL).astype(np.int8)
    behind = np.zeros(len(question.candidates), dtype=np.bool_)
    behind[second[codes == _BETTER]] = True
    behind[first[codes == _WORSE]] = True
    may_be_best = ~behind & np.array([not bar for bar in question.bars], dtype=np.bool_) & question.offered
    limit = math.log(SAME_RATIO) if not question.metric.signed else margin
    if limit is not None:
        close = _close(question, up, able, may_be_best, limit, level)
        codes[able & close[first] & close[second]] = _SAME
    codes[~question.in_family | question.barred] = _CANNOT_TELL
    return codes


def _close(question: Question, up: Floats, able: Flags, may_be_best: Flags, limit: float, level: float) -> Flags:
    """True for each candidate that is surely within `limit` of every one that may be the best."""
    figures = question.figures
    first, second = pairs_of(len(question.candidates))
    half = figures.half(1.0 - 2.0 * level)
    lowest = np.full(len(question.candidates), np.inf)
    with np.errstate(invalid="ignore"):
        against_second = np.where(able, up - half, -np.inf)
        against_first = np.where(able, -up - half, -np.inf)
    np.minimum.at(lowest, first[may_be_best[second]], against_second[may_be_best[second]])
    np.minimum.at(lowest, second[may_be_best[first]], against_first[may_be_best[first]])
    return np.asarray((lowest > -limit) & np.isfinite(lowest), dtype=np.bool_)
