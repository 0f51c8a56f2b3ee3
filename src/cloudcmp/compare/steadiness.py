"""Verdicts on the steadiness of pairs of candidates."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from cloudcmp.compare.verdict import ALPHA, adjusted, bars_of, deciding
from cloudcmp.model.cell import Cell
from cloudcmp.model.metric import Metric
from cloudcmp.model.plan import Plan
from cloudcmp.model.result import Bounds, Estimate
from cloudcmp.model.steadiness import Steady, SteadyPair
from cloudcmp.stats import describe
from cloudcmp.stats.spread import sd_ratio

AS_STEADY = 1.5
"""Standard deviations whose ratio lies inside (1 / 1.5, 1.5) make no practical difference; ten launches can hardly tell
a smaller one."""
_MOST_PAIRED = 5


def steady_pairs(plan: Plan, estimates: Sequence[Estimate], metrics: Mapping[str, Metric]) -> tuple[SteadyPair, ...]:
    """The verdict on the spread between launches of each pair of candidates in each deciding cell.

    Of more than 5 candidates each is compared with the steadiest alone. The first rule that applies: `cannot tell` for
    a candidate that is barred from a verdict (fewer than 6 launches, more than 10 % failed) or has no spread; `as
    steady`, if the interval of the ratio with the corrected confidence lies inside (1 / 1.5, 1.5); `steadier` or `less
    steady`, if Brown and Forsythe's p, corrected by Holm for all pairs in all deciding cells, is below 0.05; else
    `cannot tell`. It does not tell who is faster, and counts what both share over time, such as a daily cycle.
    """
    bars = bars_of(plan, estimates)
    decide = deciding(plan, dict.fromkeys(one.cell for one in estimates))
    pairs = list(_pairs([one for one in estimates if one.cell in decide and one.offered]))
    level = 2.0 * ALPHA / max(1, len(pairs))
    found, p_values = [], []
    for a, b in pairs:
        barred = next((bar for one in (a, b) if (bar := bars[one.cell, one.candidate]) is not None), None)
        pair = _pair(a, b, metrics[Cell.parse(a.cell).metric], level, "" if barred is None else str(barred))
        found.append(pair)
        p_values.append(math.nan if pair[0].p is None else pair[0].p)
    p_adjusted = adjusted(np.array(p_values, np.float64), decides=True).tolist()
    return tuple(_judged(pair, inside, p) for (pair, inside), p in zip(found, p_adjusted, strict=True))


def _pairs(estimates: Sequence[Estimate]) -> Iterator[tuple[Estimate, Estimate]]:
    for cell in dict.fromkeys(one.cell for one in estimates):
        some = [one for one in estimates if one.cell == cell]
        if len(some) <= _MOST_PAIRED:
            yield from combinations(some, 2)
            continue
        steadiest = min(some, key=_spread)
        yield from ((one, steadiest) for one in some if one is not steadiest)


def _spread(one: Estimate) -> float:
    """The coefficient of variation between launches; infinite if it is unknown."""
    cov = describe.cov(one.values) if one.values else None
    return math.inf if cov is None else cov


def _pair(a: Estimate, b: Estimate, metric: Metric, level: float, barred: str) -> tuple[SteadyPair, bool]:
    """A pair without its verdict, and whether its ratio is surely too near to 1 to matter."""
    bare = SteadyPair(a.cell, a.candidate, b.candidate, None, None, None, None, Steady.CANNOT_TELL, barred)
    if barred:
        return bare, False
    first, second = (np.array(one.values) for one in (a, b))
    if not metric.signed:
        first, second = np.log(first), np.log(second)
    ratio, narrow = sd_ratio(first, second), sd_ratio(first, second, 1.0 - level)
    if ratio is None or narrow is None:
        return replace(bare, reason="all launches of one have the same value"), False
    inside = narrow.low > 1.0 / AS_STEADY and narrow.high < AS_STEADY
    bounds = Bounds(ratio.low, ratio.high)
    return replace(bare, ratio=ratio.ratio, bounds=bounds, p=ratio.p), inside


def _judged(pair: SteadyPair, inside: bool, p_adjusted: float) -> SteadyPair:
    if pair.reason or pair.ratio is None:
        return pair
    if inside:
        return replace(pair, p_adjusted=p_adjusted, verdict=Steady.AS_STEADY)
    if p_adjusted < ALPHA:
        verdict = Steady.STEADIER if pair.ratio < 1.0 else Steady.LESS_STEADY
        return replace(pair, p_adjusted=p_adjusted, verdict=verdict)
    return replace(pair, p_adjusted=p_adjusted, reason="the interval is too wide")
