"""Warnings about an estimate, one line each."""

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from cloudcmp.analysis.levels import LaunchFacts, level_words
from cloudcmp.catalog import once_a_launch
from cloudcmp.model.cell import Cell
from cloudcmp.model.metric import Metric
from cloudcmp.model.plan import Plan
from cloudcmp.model.study import FEWEST_LAUNCHES
from cloudcmp.stats.describe import mean
from cloudcmp.stats.drift import trend, two_modes
from cloudcmp.units import format_quantity

# Six rounds that only rise have p = 0.0028; about one in three studies of a hundred cells warns wrongly.
_DRIFT_P = 0.003
# Longer series are averaged to this many stretches first: the test compares every pair.
_DRIFT_POINTS = 40
# Two levels are searched among at most this many trials, evenly chosen.
_MODES_POINTS = 2000

Floats = npt.NDArray[np.float64]


def warnings_of(
    plan: Plan, cell: Cell, metric: Metric, counts: tuple[int, int], x: Floats, trials: Floats,
    trial_launches: npt.NDArray[np.int64], launches: Sequence[int], facts: LaunchFacts | None,
) -> Iterator[str]:  # fmt: skip
    """The warnings of one estimate: `x` are its launch values in the plan's order, `trials` those of single trials.

    `counts` are started and ok trials, `launches` the places of the launches in the plan, ascending.
    """
    n_started, n_ok = counts
    if x.size < FEWEST_LAUNCHES:
        yield f"too few launches: {x.size} of at least {FEWEST_LAUNCHES}, so no 95 % interval of the median"
    if n_ok < n_started:
        yield metric.why_without(n_started - n_ok, n_started)
    if trials.size == x.size and not once_a_launch(metric.name):
        yield "one run a launch: the between-launch share of the spread is unknown"
    if plan.imported and cell.get("percentile") is not None and trials.size > x.size:
        yield "percentiles of several runs were reduced as values: the table holds no histograms"
    modes = two_modes(trials[:: -(-trials.size // _MODES_POINTS)])
    if modes is not None:
        low, high = format_quantity(modes.low, metric.unit), format_quantity(modes.high, metric.unit)
        own, of_trial = np.unique(trial_launches, return_inverse=True)
        known = facts is not None and own.size == len(launches)
        upper = trials > (modes.low + modes.high) / 2.0
        why = level_words(launches, of_trial, upper, facts) if facts is not None and known else ""
        share = f"{modes.share_high * 100:.0f} % of the values in the upper one"
        yield f"two levels: {low} and {high}, {share}" + (f"; {why}" if why else "")
    drift = _drift_per_round(x) if _in_order(plan) else None
    if drift is not None:
        yield f"drift over rounds: {drift * 100:+.2g} % of the mean a round"


def _in_order(plan: Plan) -> bool:
    """True if the launches are in the order of time: an imported table need not have an order."""
    return not plan.imported or plan.rounds > 1 or plan.launches[0].start_s != plan.launches[-1].start_s


def _drift_per_round(x: Floats) -> float | None:
    """The slope per round as a share of the mean if the values clearly rise or fall, else None."""
    if x.size < FEWEST_LAUNCHES:
        return None
    stretch = -(-x.size // _DRIFT_POINTS)
    points = x if stretch == 1 else np.array([part.mean() for part in np.array_split(x, _DRIFT_POINTS)])
    centre = mean(x)
    if centre == 0.0 or not _leans(points):
        return None
    slope = trend(points)
    if slope is None or slope.p_value >= _DRIFT_P:
        return None
    return slope.slope_per_round * points.size / x.size / abs(centre)


def _leans(points: Floats) -> bool:
    """True if later values tend to one side at all: a cheap test that spares most cells the exact one."""
    n = points.size
    score = np.triu(np.sign(points[None, :] - points[:, None])).sum()
    return bool(abs(score) >= 2.5 * np.sqrt(n * (n - 1.0) * (2.0 * n + 5.0) / 18.0))
