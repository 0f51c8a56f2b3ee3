"""The differences that a plan can detect."""

import math
from collections.abc import Mapping, Sequence

from cloudcmp.catalog import METRICS
from cloudcmp.model.metric import Metric
from cloudcmp.model.study import Decide
from cloudcmp.plan.tasks import Task

# The CoV between launches that a plan assumes before any measurement; published clouds show 1 to 10 %.
ASSUMED_COV = 0.05
_ALPHA = 0.05
_POWER = 0.8
# With fewer launches there is no verdict, so no difference is detectable.
LAUNCHES_MIN = 6


def deciding_cells(decide: Sequence[Decide], tasks: Sequence[Task]) -> tuple[str, ...]:
    """The cells that decide: those that are named or whose metric is, or all if none is named."""
    cells = dict.fromkeys(cell for task in tasks for cell in task.cells)
    named = {one.cell for one in decide}
    return tuple(cell for cell in cells if not named or cell in named or cell.partition(" ")[0] in named)


def detectable_ratios(
    cells: Sequence[str], candidates: int, rounds: int, metrics: Mapping[str, Metric] = METRICS
) -> tuple[tuple[str, float], ...]:
    """For each deciding cell the smallest true difference (a ratio - 1) that is found with 80 % power.

    The paired t test over rounds on log launch values, at Holm's first step (0.05 / (pairs x cells)), for launches that
    vary by `ASSUMED_COV`. Cells compared by differences have no ratio and are left out; so is all with fewer than two
    candidates or six rounds, which give no verdict.
    """
    # scipy takes a third of a second to import: only a quote pays for it.
    from cloudcmp.stats.power import detectable_log_difference

    pairs = candidates * (candidates - 1) // 2
    if not pairs or not cells or rounds < LAUNCHES_MIN:
        return ()
    sd = math.sqrt(2 * math.log1p(ASSUMED_COV**2))
    found = detectable_log_difference(sd, rounds, _ALPHA / (pairs * len(cells)), _POWER)
    if found is None:
        return ()
    ratio = math.expm1(found)
    return tuple((cell, ratio) for cell in cells if not metrics[cell.partition(" ")[0]].signed)
