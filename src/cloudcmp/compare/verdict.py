"""The verdict on a pair in a cell: the first rule that holds."""

from collections.abc import Sequence

from cloudcmp.analysis import FEWEST_LAUNCHES
from cloudcmp.compare.family import ALPHA
from cloudcmp.compare.pairing import Figures
from cloudcmp.model.metric import Better, Metric
from cloudcmp.model.plan import Plan
from cloudcmp.model.result import Bounds, Estimate, Verdict

# Ratios inside (1 / SAME_RATIO, SAME_RATIO) make no practical difference.
SAME_RATIO = 1.03
LARGEST_FAILED_PERCENT = 10
TOO_WIDE = "interval too wide"
# The pair alone would be told apart; corrected for all questions of the family it is not.
TOO_WIDE_FOR_ALL = f"{TOO_WIDE} after correction for all questions"

_Key = tuple[str | None, int | None]


def bars_of(plan: Plan, estimates: Sequence[Estimate]) -> dict[tuple[str, int], str]:
    """For each cell and candidate why it can neither win nor lose there; empty text where nothing bars it.

    Bars are more than 10 % failed, and fewer than 6 launches. A planned launch that gave no value although a later one
    of the same candidate did counts as failed as well: where capacity ran out, no trial was ever started.
    """
    schedule: dict[int, list[_Key]] = {candidate.index: [] for candidate in plan.candidates}
    for launch in plan.launches:
        schedule[launch.candidate].append((launch.session, launch.round))
    return {(one.cell, one.candidate): _bar(plan, one, schedule[one.candidate]) for one in estimates}


def _bar(plan: Plan, one: Estimate, schedule: Sequence[_Key]) -> str:
    name = plan.candidates[one.candidate].id
    if one.n == 0:
        return f"{name}: {one.reason or 'no values'}"
    failed = one.n_started - one.n_ok
    if failed * 100 > LARGEST_FAILED_PERCENT * one.n_started:
        return f"{name}: {failed} of {one.n_started} trials failed"
    lost, due = (0, one.n) if plan.imported else _lost_launches(one, schedule)
    if lost * 100 > LARGEST_FAILED_PERCENT * due:
        return f"{name}: {lost} of {due} launches gave no value"
    if one.n < FEWEST_LAUNCHES:
        return f"{name}: {one.n} of at least {FEWEST_LAUNCHES} launches"
    return ""


def _lost_launches(one: Estimate, schedule: Sequence[_Key]) -> tuple[int, int]:
    """Planned launches without a value that came before the last one with a value, and all up to that one."""
    if one.n >= len(schedule):
        return 0, one.n
    seen = set(zip(one.sessions, one.rounds, strict=True))
    planned = [key in seen for key in schedule]
    due = len(planned) - planned[::-1].index(True) if True in planned else 0
    return due - sum(planned[:due]), due


def verdict_of(figures: Figures, metric: Metric, margin: float | None, p_adjusted: float | None) -> tuple[Verdict, str]:
    """The verdict of a pair that nothing bars, for the first candidate against the second, and its reason.

    In this order: `cannot tell yet` for fewer than 6 pairs; `practically the same` when the 90 % interval lies inside
    (1/1.03, 1.03), or for differences inside the margin that the study gives; `better` or `worse` when `p_adjusted` is
    below 0.05; else `cannot tell yet`.
    """
    if figures.n < FEWEST_LAUNCHES:
        what = "rounds with both" if figures.by_rounds else "launches"
        return Verdict.CANNOT_TELL, f"{figures.n} of at least {FEWEST_LAUNCHES} {what}"
    if _inside(figures.bounds_90, metric, margin):
        return Verdict.SAME, ""
    if p_adjusted is not None and p_adjusted < ALPHA:
        none = 0.0 if metric.signed else 1.0
        higher = figures.effect > none
        return (Verdict.BETTER if higher == (metric.better is Better.HIGHER) else Verdict.WORSE), ""
    alone = figures.p_paired is not None and figures.p_paired < ALPHA
    return Verdict.CANNOT_TELL, TOO_WIDE_FOR_ALL if alone else TOO_WIDE


def _inside(bounds: Bounds | None, metric: Metric, margin: float | None) -> bool:
    if bounds is None:
        return False
    if metric.signed:
        return margin is not None and -margin < bounds.low and bounds.high < margin
    return bounds.low > 1.0 / SAME_RATIO and bounds.high < SAME_RATIO
