"""The overall index: a study's metrics in one number, with the weights that the study declares."""

from collections.abc import Mapping, Sequence

import numpy as np

from cloudcmp.analysis.estimates import CellValues, estimate_of
from cloudcmp.model.cell import Cell
from cloudcmp.model.metric import OVERALL, Better, Metric
from cloudcmp.model.plan import Plan
from cloudcmp.model.result import Estimate

_Key = tuple[str | None, int | None]
_SHOWN = 100.0
"""The index of the first candidate."""


def overall(plan: Plan, estimates: Sequence[Estimate], metrics: Mapping[str, Metric]) -> tuple[Estimate, ...]:
    """Return each candidate's overall index, () for a study without weights.

    A launch's index is the geometric mean of its values in the weighted cells, those of less-is-better metrics
    inverted; a metric's weight is shared by its cells. So candidates are compared round by round in it as in any cell,
    and a ratio of two indices is the weighted mean of the ratios. The geometric mean of the first candidate with values
    is 100. A launch without a value in one of the cells has none, and neither has a candidate that cannot have a cell.

    Source of the geometric mean: Fleming and Wallace, "How not to lie with statistics", CACM 29 (3), 1986. It does not
    tell whether the weights are right for anybody.
    """
    weights = _cell_weights(plan, [one.cell for one in estimates])
    if not weights:
        return ()
    logs = [_logs(one.index, estimates, weights, metrics) for one in plan.candidates]
    reference = next((float(np.mean(list(some.values()))) for some in logs if some), 0.0)
    found = []
    for one, some in zip(plan.candidates, logs, strict=True):
        mine = [launch for launch in plan.launches if launch.candidate == one.index]
        launches = [launch.index for launch in mine if (launch.session, launch.round) in some]
        values = np.array([
            _SHOWN * np.exp(some[plan.launches[at].session, plan.launches[at].round] - reference) for at in launches
        ])  # fmt: skip
        own = {each.cell: each for each in estimates if each.candidate == one.index and each.cell in weights}
        offered = len(own) == len(weights) and all(each.offered for each in own.values())
        started = max((each.n for each in own.values()), default=0)
        cell_values = CellValues(launches, values, np.array(launches, dtype=np.int64), values)
        found.append(
            estimate_of(plan, one.index, Cell(OVERALL.name), OVERALL, (started, len(launches)), cell_values, offered)
        )
    return tuple(found)


def _cell_weights(plan: Plan, cells: Sequence[str]) -> dict[str, float]:
    """The weight of each cell; they add up to 1."""
    weights: dict[str, float] = {}
    known = dict.fromkeys(cells)
    for text, weight in plan.weights:
        some = [cell for cell in known if text in {cell, cell.partition(" ")[0]}]
        weights |= {cell: weights.get(cell, 0.0) + weight / len(some) for cell in some}
    total = sum(weights.values())
    return {cell: weight / total for cell, weight in weights.items()}


def _logs(
    candidate: int, estimates: Sequence[Estimate], weights: Mapping[str, float], metrics: Mapping[str, Metric]
) -> dict[_Key, float]:
    """The logarithm of the index of each launch with a value above zero in every weighted cell, by session and round.

    A round with several values of a cell has their geometric mean.
    """
    sums: dict[_Key, float] = {}
    counts: dict[_Key, int] = {}
    for one in estimates:
        if one.candidate != candidate or one.cell not in weights:
            continue
        sign = -1.0 if metrics[Cell.parse(one.cell).metric].better is Better.LOWER else 1.0
        by_round: dict[_Key, list[float]] = {}
        for session, number, value in zip(one.sessions, one.rounds, one.values, strict=True):
            if value > 0.0:
                by_round.setdefault((session, number), []).append(sign * float(np.log(value)))
        for key, logs in by_round.items():
            sums[key] = sums.get(key, 0.0) + weights[one.cell] * sum(logs) / len(logs)
            counts[key] = counts.get(key, 0) + 1
    return {key: total for key, total in sums.items() if counts[key] == len(weights)}
