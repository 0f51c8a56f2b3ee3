"""Every pair of candidates in every cell: effects with intervals, p values of the whole family, verdicts."""

import functools
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from cloudcmp.analysis import NOT_OFFERED
from cloudcmp.compare.family import ALPHA, adjusted, deciding
from cloudcmp.compare.pairing import Figures, figures_of
from cloudcmp.compare.unlike import trial_params, unlike
from cloudcmp.compare.verdict import bars_of, verdict_of
from cloudcmp.compare.winners import winner_of
from cloudcmp.model.cell import Cell
from cloudcmp.model.metric import Metric
from cloudcmp.model.plan import Plan
from cloudcmp.model.result import Comparison, Estimate, Verdict, Winner
from cloudcmp.stats.power import detectable_log_difference

POWER = 0.8
# The note of a plan made from a table that does not say which rows came from one launch.
REPLICATION_UNKNOWN = "replication unknown"
Facts = Mapping[int, Mapping[str, str]]
Bars = Mapping[tuple[str, int], str]


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


def compare(
    plan: Plan, estimates: Sequence[Estimate], metrics: Mapping[str, Metric], facts: Facts
) -> tuple[tuple[Comparison, ...], tuple[Winner, ...]]:
    """Set every pair of candidates against each other in every cell, by cell as in `estimates`; and who wins each cell.

    Give all estimates of a study, always: the family of the verdicts is every pair in every deciding cell that the plan
    gives to both (see `deciding`, `adjusted`), whatever is shown of it later. `facts` holds for each candidate's index
    what `unlike` looks at. Where `plan.quote.notes` holds `replication unknown` (a table that does not tell launches
    apart), every comparison is marked so.
    `detectable` is on the scale of `effect` (a ratio above 1, or a difference), two-sided at 0.05 / family size.
    A comparison says nothing of launches outside the rounds that were measured.
    """
    bars = bars_of(plan, estimates)
    questions = _questions(plan, estimates, metrics, facts, bars)
    found: list[Comparison | None] = [None] * len(questions)
    for decides in (True, False):
        members = [at for at, one in enumerate(questions) if one.asked and one.decides is decides]
        corrected = adjusted([questions[at].p for at in members], decides)
        for at, p_adjusted in zip(members, corrected, strict=True):
            found[at] = _answered(questions[at], p_adjusted, len(members))
    comparisons = tuple(
        _not_asked(question) if one is None else one for question, one in zip(questions, found, strict=True)
    )
    return comparisons, _winners(plan, estimates, metrics, comparisons, bars)


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
            refused, marks = unlike(plan, cell, a.candidate, b.candidate, facts)
            if params.get((text, a.candidate)) != params.get((text, b.candidate)) and not plan.imported:
                refused = "; ".join(filter(None, (refused, "probe parameters")))
            figures = figures_of(a, b, metric.signed)
            bar = "; ".join(filter(None, (bars[text, a.candidate], bars[text, b.candidate])))
            bar = bar or (f"unlike: {refused}" if refused else "") or _untestable(figures)
            questions.append(
                _Question(
                    cell, metric, a, b, text in margins, margins.get(text),
                    NOT_OFFERED not in (a.reason, b.reason), figures, bar,
                    (*marks, *_more_marks(plan, figures)),
                )
            )  # fmt: skip
    return questions


def _untestable(figures: Figures | None) -> str:
    return "no rounds with both, or a value of 0 or below" if figures is None else ""


def _more_marks(plan: Plan, figures: Figures | None) -> tuple[str, ...]:
    marks = []
    if figures is not None and not figures.by_rounds:
        marks.append("no rounds: Welch's t decides")
    if REPLICATION_UNKNOWN in plan.quote.notes:
        marks.append(REPLICATION_UNKNOWN)
    if figures is not None and figures.spread == 0.0:
        marks.append("no spread at all: coarse or copied values")
    return tuple(marks)


def _answered(question: _Question, p_adjusted: float | None, family: int) -> Comparison:
    """The comparison of a pair that belongs to a family of `family` questions."""
    bare, figures = _bare(question), question.figures
    if figures is not None:
        bare = replace(bare, p_adjusted=p_adjusted, detectable=_detectable(figures, question.metric, family))
    if not question.decides:
        return bare
    if question.bar or figures is None:
        return replace(bare, verdict=Verdict.CANNOT_TELL, reason=question.bar)
    verdict, reason = verdict_of(figures, question.metric, question.margin, p_adjusted)
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


def _detectable(figures: Figures, metric: Metric, family: int) -> float | None:
    if figures.spread is None:
        return None
    factor = _detectable_factor(figures.n, family)
    # A spread of 0 says nothing of what could be found; a factor of 700 spreads is beyond any ratio.
    if factor is None or figures.spread == 0.0:
        return None
    difference = factor * figures.spread
    if metric.signed:
        return difference
    return math.exp(difference) if difference < 700.0 else None


@functools.lru_cache(maxsize=4096)
def _detectable_factor(n: int, family: int) -> float | None:
    """The detectable difference in standard deviations of a difference: the same for all pairs of a plan."""
    return detectable_log_difference(1.0, n, ALPHA / family, POWER)


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
