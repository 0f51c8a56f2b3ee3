"""Two candidates in one cell: their launch values, paired by round where rounds are known."""

import math
from collections import defaultdict
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cloudcmp.model.result import Bounds, Estimate
from cloudcmp.stats import describe, effect, tests

Floats = npt.NDArray[np.float64]

# exp() beyond this leaves the range of floats.
_LARGEST_LOG = 700.0


@dataclass(frozen=True, slots=True)
class Figures:
    """What the launch values of a pair say; fields as in `Comparison`. `p` decides; `spread` is the standard deviation
    of one difference (of logarithms, unless by difference), None where fewer than two are known."""

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
    test, welch = tests.paired_t(d), tests.welch_t(x, y)
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
        hodges_lehmann=_shown(effect.hodges_lehmann(d), by_difference),
        cliffs_delta=effect.cliffs_delta(x, y),
        spread=describe.sd(d),
    )


def _unpaired(x: Floats, y: Floats, by_difference: bool) -> Figures:
    welch = tests.welch_t(x, y)
    p = None if welch is None else welch.p_value
    return Figures(
        n=min(x.size, y.size),
        by_rounds=False,
        effect=_shown(describe.mean(x) - describe.mean(y), by_difference),
        bounds=_bounds(effect.difference_interval(x, y, 0.95), 0.95, by_difference),
        bounds_90=_bounds(effect.difference_interval(x, y, 0.90), 0.90, by_difference),
        p=p,
        p_paired=None,
        p_welch=p,
        hodges_lehmann=_shown(effect.hodges_lehmann_shift(x, y), by_difference),
        cliffs_delta=effect.cliffs_delta(x, y),
        spread=_spread_of_two(x, y),
    )


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
