"""A study compared pair by pair, one object after another, with the statistics of single samples: a second witness."""

import itertools
import math
import warnings
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import scipy
from tests.compare.welch import difference_interval
from tests.compare.witness_winners import winner_of
from tests.stats.paired import paired_t

from cloudcmp.compare import ALPHA, REPLICATION_UNKNOWN, SAME_RATIO, deciding
from cloudcmp.compare.comparability import differences, trial_params
from cloudcmp.compare.verdict import bars_of
from cloudcmp.model.cell import Cell
from cloudcmp.model.metric import Better, Metric
from cloudcmp.model.plan import Plan
from cloudcmp.model.result import Bounds, Comparison, Estimate, Verdict, Winner
from cloudcmp.model.study import FEWEST_LAUNCHES
from cloudcmp.stats import describe, many, tests
from cloudcmp.stats.adjust import benjamini_hochberg, holm
from cloudcmp.stats.power import detectable_log_difference

Floats = npt.NDArray[np.float64]
Facts = Mapping[int, Mapping[str, str]]
Bars = Mapping[tuple[str, int], str]
POWER = 0.8
_LARGEST_LOG = 700.0


@dataclass(frozen=True, slots=True)
class Figures:
    """What the launch values say; fields as in `Comparison`. `p` decides, `spread` is the sd of one difference."""

    n: int
    by_rounds: bool
    effect: float
    bounds: Bounds | None
    bounds_90: Bounds | None
    p: float | None
    p_paired: float | None
    p_welch: float | None
    hodges_lehmann: float
    cliffs_delta: float
    spread: float | None
    same: Callable[[float], float | None]
    """The p value of the two one-sided tests within a margin."""


@dataclass(frozen=True, slots=True)
class _Question:
    """One pair in one cell before the family is corrected. `bar` says why no verdict is possible, empty if it is.

    `asked` is whether the plan gives the cell to both: only then does the pair belong to a family.
    """

    cell: Cell
    metric: Metric
    a: Estimate
    b: Estimate
    decides: bool
    margin: float | None
    asked: bool
    figures: Figures | None
    bar: str
    marks: tuple[str, ...]

    @property
    def p(self) -> float | None:
        """The p value with which the question stands in its family; None stands for 1."""
        return None if self.bar or self.figures is None else self.figures.p

    @property
    def p_same(self) -> float | None:
        """The p value of sameness, None without a margin."""
        limit = math.log(SAME_RATIO) if not self.metric.signed else self.margin
        return None if self.bar or self.figures is None or limit is None else self.figures.same(limit)


def one_by_one(
    plan: Plan, estimates: Sequence[Estimate], metrics: Mapping[str, Metric], facts: Facts
) -> tuple[tuple[Comparison, ...], tuple[Winner, ...]]:
    """What `cloudcmp.compare.compare` promises, one pair at a time; unknown replication if imported."""
    bars = {key: str(bar or "") for key, bar in bars_of(plan, estimates).items()}
    questions = _questions(plan, estimates, metrics, facts, bars)
    found: list[Comparison | None] = [None] * len(questions)
    share = 1.0 if plan.imported else FIRST_LOOK
    for decides in (True, False):
        members = [at for at, one in enumerate(questions) if one.asked and one.decides is decides]
        corrected = adjusted([_over(questions[at].p, share if decides else 1.0) for at in members], decides)
        same = adjusted([_over(questions[at].p_same, share) for at in members], decides)
        for at, p_adjusted, p_same in zip(members, corrected, same, strict=True):
            found[at] = _answered(questions[at], p_adjusted, p_same, len(members), share)
    comparisons = tuple(
        _not_asked(question) if one is None else one for question, one in zip(questions, found, strict=True)
    )
    return comparisons, _winners(plan, estimates, metrics, comparisons, bars)


FIRST_LOOK = 0.8
"""The share of the error that a study's first look may spend."""


def _over(p: float | None, share: float) -> float | None:
    return None if p is None else min(1.0, p / share)


def _questions(
    plan: Plan, estimates: Sequence[Estimate], metrics: Mapping[str, Metric], facts: Facts, bars: Bars
) -> list[_Question]:
    by_cell: dict[str, list[Estimate]] = {}
    for one in estimates:
        by_cell.setdefault(one.cell, []).append(one)
    margins = deciding(plan, by_cell)
    params = trial_params(plan)
    questions = []
    for text, some in by_cell.items():
        cell = Cell.parse(text)
        metric = metrics[cell.metric]
        for a, b in itertools.combinations(sorted(some, key=lambda one: one.candidate), 2):
            told, marks = differences(plan, cell, a.candidate, b.candidate, facts)
            refused = "; ".join(map(str, told))
            if params.get((text, a.candidate)) != params.get((text, b.candidate)) and not plan.imported:
                refused = "; ".join(filter(None, (refused, "probe parameters")))
            figures = figures_of(a, b, metric.signed)
            bar = "; ".join(filter(None, (bars[text, a.candidate], bars[text, b.candidate])))
            bar = bar or (f"unlike: {refused}" if refused else "")
            bar = bar or ("no rounds with both, or a value of 0 or below" if figures is None else "")
            questions.append(
                _Question(
                    cell, metric, a, b, text in margins, margins.get(text),
                    a.offered and b.offered, figures, bar,
                    (*marks, *_more_marks(plan, figures)),
                )
            )  # fmt: skip
    return questions


def _more_marks(plan: Plan, figures: Figures | None) -> tuple[str, ...]:
    marks = []
    if figures is not None and not figures.by_rounds:
        marks.append("no rounds: Welch's t decides")
    if plan.imported:
        marks.append(REPLICATION_UNKNOWN)
    if figures is not None and figures.spread == 0.0:
        marks.append("no spread at all: coarse or copied values")
    return tuple(marks)


def _answered(
    question: _Question, p_adjusted: float | None, p_same: float | None, family: int, share: float
) -> Comparison:
    """The comparison of a pair that belongs to a family of `family` questions."""
    bare, figures = _bare(question), question.figures
    if figures is not None:
        found = _detectable(figures, question.metric, ALPHA * (share if question.decides else 1.0) / family)
        bare = replace(bare, p_adjusted=p_adjusted, p_same=p_same, detectable=found)
    if not question.decides:
        return bare
    if question.bar or figures is None:
        return replace(bare, verdict=Verdict.CANNOT_TELL, reason=question.bar)
    alone = (figures.p or 1.0) < ALPHA or (_over(question.p_same, share) or 1.0) < ALPHA
    verdict, reason = verdict_of(figures, question.metric, p_adjusted, p_same, alone)
    return replace(bare, verdict=verdict, reason=reason)


def _not_asked(question: _Question) -> Comparison:
    """A pair of which one has no such cell: told, but no part of any family."""
    return replace(_bare(question), verdict=Verdict.CANNOT_TELL if question.decides else None)


def _bare(question: _Question) -> Comparison:
    figures = question.figures
    return Comparison(
        cell=str(question.cell),
        a=question.a.candidate,
        b=question.b.candidate,
        n=0 if figures is None else figures.n,
        decides=question.decides,
        by_difference=question.metric.signed,
        effect=None if figures is None else figures.effect,
        bounds=None if figures is None else figures.bounds,
        bounds_90=None if figures is None else figures.bounds_90,
        p_paired=None if figures is None else figures.p_paired,
        p_adjusted=None,
        p_welch=None if figures is None else figures.p_welch,
        hodges_lehmann=None if figures is None else figures.hodges_lehmann,
        cliffs_delta=None if figures is None else figures.cliffs_delta,
        detectable=None,
        verdict=None,
        reason=question.bar,
        marks=question.marks,
    )


def _detectable(figures: Figures, metric: Metric, level: float) -> float | None:
    if figures.spread is None:
        return None
    factor = _detectable_factor(figures.n, level)
    # A spread of 0 says nothing of what could be found; a factor of 700 spreads is beyond any ratio.
    if factor is None or figures.spread == 0.0:
        return None
    difference = factor * figures.spread
    if metric.signed:
        return difference
    return math.exp(difference) if difference < 700.0 else None


def _detectable_factor(n: int, level: float) -> float | None:
    """The detectable difference in standard deviations of a difference: the same for all pairs of a plan."""
    return detectable_log_difference(1.0, n, level, POWER)


def _winners(
    plan: Plan,
    estimates: Sequence[Estimate],
    metrics: Mapping[str, Metric],
    comparisons: Sequence[Comparison],
    bars: Bars,
) -> tuple[Winner, ...]:
    by_cell: dict[str, tuple[list[Estimate], list[Comparison]]] = {}
    for one in estimates:
        by_cell.setdefault(one.cell, ([], []))[0].append(one)
    for comparison in comparisons:
        by_cell[comparison.cell][1].append(comparison)
    return tuple(
        winner_of(plan, text, metrics[Cell.parse(text).metric], some, pairs, bars)
        for text, (some, pairs) in by_cell.items()
    )


def figures_of(a: Estimate, b: Estimate, by_difference: bool) -> Figures | None:
    """Compare the launch values of `a` with those of `b`; None when there is nothing to set against each other.

    Ratios come from differences of natural logarithms; `by_difference` takes the values as they are. Launches of the
    same session and round are paired (several of one candidate in a round are averaged first) and the paired t
    decides. Where a round is unknown, Welch's t decides and n is the smaller number of launches.
    None also when a ratio is asked for and a value is not above 0.
    """
    if not a.values or not b.values:
        return None
    if not by_difference and min(*a.values, *b.values) <= 0.0:
        return None
    x, y = (_scaled(one, by_difference) for one in (a, b))
    if None in a.rounds or None in b.rounds:
        return _unpaired(x, y, by_difference)
    return _paired(a, b, x, y, by_difference)


def _paired(a: Estimate, b: Estimate, x: Floats, y: Floats, by_difference: bool) -> Figures | None:
    first, second = _by_round(a, x), _by_round(b, y)
    d = np.array([first[key] - second[key] for key in first if key in second])
    if d.size == 0:
        return None
    test, welch = paired_t(d), tests.welch_t(x, y)
    p = None if test is None else test.p_value
    return Figures(
        n=d.size,
        by_rounds=True,
        effect=_shown(describe.mean(d), by_difference),
        bounds=_bounds(describe.t_interval(d, 0.95), 0.95, by_difference),
        bounds_90=_bounds(describe.t_interval(d, 0.90), 0.90, by_difference),
        p=p,
        p_paired=p,
        p_welch=None if welch is None else welch.p_value,
        hodges_lehmann=_shown(many.hodges_lehmann(d), by_difference),
        cliffs_delta=many.cliffs_delta(x, y),
        spread=describe.sd(d),
        same=lambda limit: one_sided(d, None, limit),
    )


def _unpaired(x: Floats, y: Floats, by_difference: bool) -> Figures:
    welch = tests.welch_t(x, y)
    p = None if welch is None else welch.p_value
    return Figures(
        n=min(x.size, y.size),
        by_rounds=False,
        effect=_shown(describe.mean(x) - describe.mean(y), by_difference),
        bounds=_bounds(difference_interval(x, y, 0.95), 0.95, by_difference),
        bounds_90=_bounds(difference_interval(x, y, 0.90), 0.90, by_difference),
        p=p,
        p_paired=None,
        p_welch=p,
        hodges_lehmann=_shown(many.hodges_lehmann_shift(x, y), by_difference),
        cliffs_delta=many.cliffs_delta(x, y),
        spread=_spread_of_two(x, y),
        same=lambda limit: one_sided(x, y, limit),
    )


def one_sided(x: Floats, y: Floats | None, limit: float) -> float | None:
    """The larger p of scipy's one-sided t tests against both ends of (-limit, limit): of differences, or Welch's."""
    if min(x.size, x.size if y is None else y.size) < 2:
        return None
    if float(np.ptp(x)) == 0.0 and (y is None or float(np.ptp(y)) == 0.0):
        centre = describe.mean(x) - (0.0 if y is None else describe.mean(y))
        return 0.0 if abs(centre) < limit else 1.0
    with warnings.catch_warnings(action="ignore", category=RuntimeWarning):  # values without any spread
        found = [
            scipy.stats.ttest_1samp(x, end, alternative=way)
            if y is None
            else scipy.stats.ttest_ind(x - end, y, equal_var=False, alternative=way)
            for end, way in _ends(limit)
        ]
    return max(float(one.pvalue) for one in found)


def _ends(limit: float) -> tuple[tuple[float, str], ...]:
    return ((-limit, "greater"), (limit, "less"))


def _scaled(one: Estimate, by_difference: bool) -> Floats:
    values = np.array(one.values, dtype=np.float64)
    return values if by_difference else np.log(values)


def _by_round(one: Estimate, scaled: Floats) -> dict[tuple[str | None, int | None], float]:
    found: dict[tuple[str | None, int | None], list[float]] = defaultdict(list)
    for key, value in zip(zip(one.sessions, one.rounds, strict=True), scaled.tolist(), strict=True):
        found[key].append(value)
    return {key: some[0] if len(some) == 1 else describe.mean(some) for key, some in found.items()}


def _spread_of_two(x: Floats, y: Floats) -> float | None:
    """The spread of a difference that, over the smaller n, gives the standard error of Welch's test."""
    first, second = describe.sd(x), describe.sd(y)
    if first is None or second is None:
        return None
    return math.hypot(first / math.sqrt(x.size), second / math.sqrt(y.size)) * math.sqrt(min(x.size, y.size))


def _shown(difference: float, by_difference: bool) -> float:
    return difference if by_difference else math.exp(difference)


def _bounds(interval: describe.Interval | None, confidence: float, by_difference: bool) -> Bounds | None:
    if interval is None:
        return None
    if by_difference:
        return Bounds(interval.low, interval.high, confidence)
    # An interval that leaves the range of floats (two launches orders of magnitude apart) bounds nothing.
    if max(abs(interval.low), abs(interval.high)) > _LARGEST_LOG:
        return None
    return Bounds(math.exp(interval.low), math.exp(interval.high), confidence)


def verdict_of(
    figures: Figures, metric: Metric, p_adjusted: float | None, p_same: float | None, alone: bool
) -> tuple[Verdict, str]:
    """The verdict of a pair that nothing bars, for the first candidate against the second, and its reason.

    The first rule of `cloudcmp.compare.verdict.verdicts_of` that holds; `alone` if one holds before the correction.
    """
    if figures.n < FEWEST_LAUNCHES:
        what = "rounds with both" if figures.by_rounds else "launches"
        return Verdict.CANNOT_TELL, f"{figures.n} of at least {FEWEST_LAUNCHES} {what}"
    if p_same is not None and p_same < ALPHA:
        return Verdict.SAME, ""
    if p_adjusted is not None and p_adjusted < ALPHA:
        none = 0.0 if metric.signed else 1.0
        higher = figures.effect > none
        return (Verdict.BETTER if higher == (metric.better is Better.HIGHER) else Verdict.WORSE), ""
    return Verdict.CANNOT_TELL, f"interval too wide{' after correction for all questions' * alone}"


def adjusted(p: Sequence[float | None], decides: bool) -> tuple[float | None, ...]:
    """Holm's adjusted p values for the cells that decide, Benjamini and Hochberg's for all others; in the order of `p`.

    `p` is one whole family: every pair in every cell that the plan gives to both candidates, whatever came of it. A
    question that could not be tested, or that was barred from a verdict, is None: it stays in the family with p = 1.
    Leaving it out would let the data choose the size of the family; a larger p than a test's own never adds a false
    `better`. Its own adjusted value is None.
    """
    if not p:
        return ()
    correct = holm if decides else benjamini_hochberg
    raw = [1.0 if value is None else value for value in p]
    return tuple(None if was is None else now for was, now in zip(p, correct(raw).tolist(), strict=True))
