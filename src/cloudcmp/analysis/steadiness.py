"""How steady candidates are between and inside launches, what goes with two levels, and how many launches they need."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from cloudcmp.analysis.levels import LaunchFacts, two_levels
from cloudcmp.model.cell import Cell
from cloudcmp.model.metric import Metric
from cloudcmp.model.plan import Plan
from cloudcmp.model.result import Bounds, Estimate
from cloudcmp.model.steadiness import LaunchesNeeded, Steadiness
from cloudcmp.model.study import FEWEST_LAUNCHES
from cloudcmp.model.values import TrialValues
from cloudcmp.stats import describe
from cloudcmp.stats.check import Floats
from cloudcmp.stats.repetitions import about_launches_for, launches_for
from cloudcmp.stats.spread import sd_interval, within_interval

SHARES = (0.01, 0.02, 0.05)
"""The half widths of the median's interval for which the launches are told."""

_Place = Mapping[tuple[int, str | None, int | None], int]


def steadiness(
    plan: Plan, estimates: Iterable[Estimate], metrics: Mapping[str, Metric], values: TrialValues | None,
    facts: LaunchFacts | None = None,
) -> tuple[Steadiness, ...]:  # fmt: skip
    """How steady each candidate is in each cell with two launches or more, in the order of `estimates`.

    `values` are those of trials, `facts` those of launches, None if unknown. Intervals are
    those of standard deviations, divided by the mean, whose own error is left out: it adds less than a tenth to the
    interval for coefficients of variation below 0.3. It does not tell whether the spread is the candidate's own: the
    controller's network and clock are in it.
    """
    place: _Place = {(one.candidate, one.session, one.round): one.index for one in plan.launches}
    runs = {} if values is None else runs_of(plan, values)
    known = LaunchFacts(plan) if facts is None else facts
    return tuple(
        _steadiness(one, metrics[Cell.parse(one.cell).metric], runs.get((one.candidate, one.cell), ()), place, known)
        for one in estimates
        if one.n > 1
    )


def _steadiness(one: Estimate, metric: Metric, runs: Sequence[Floats], place: _Place, facts: LaunchFacts) -> Steadiness:
    values = np.array(one.values)
    mean = abs(describe.mean(values))
    scale = 1.0 if metric.signed or mean == 0.0 else mean
    spread, interval = describe.sd(values), sd_interval(values)
    inside = within_interval([run / (1.0 if metric.signed else abs(run.mean()) or 1.0) for run in runs])
    needed = () if metric.signed else tuple(_needed(one, values, share) for share in SHARES)
    launches = [
        place.get((one.candidate, session, round_)) for session, round_ in zip(one.sessions, one.rounds, strict=True)
    ]
    return Steadiness(
        one.candidate, one.cell, one.n, metric.signed,
        None if spread is None else spread / scale, _bounds(interval, scale),
        None if inside is None else inside[0], None if inside is None else _bounds(inside[1], 1.0),
        tuple(each for each in needed if each is not None),
        two_levels(values, launches, facts),
    )  # fmt: skip


def _bounds(interval: describe.Interval | None, scale: float) -> Bounds | None:
    return None if interval is None else Bounds(interval.low / scale, interval.high / scale)


def _needed(one: Estimate, values: Floats, share: float) -> LaunchesNeeded | None:
    cov = describe.cov(values)
    if cov is None or one.n < FEWEST_LAUNCHES:
        return None
    found = launches_for(values, share)
    return LaunchesNeeded(share, found or max(about_launches_for(cov, share), one.n + 1), found is not None)


def runs_of(plan: Plan, values: TrialValues) -> dict[tuple[int, str], list[Floats]]:
    """The values of the ok trials of each launch, by candidate and cell, where there are two or more."""
    launches = len(plan.launches)
    code = values.cell[values.ok].astype(np.int64) * launches + values.launch[values.ok]
    order = np.argsort(code, kind="stable")
    code, value = code[order], values.value[values.ok][order]
    ids, starts, counts = np.unique(code, return_index=True, return_counts=True)
    found: dict[tuple[int, str], list[Floats]] = {}
    for at in np.flatnonzero(counts > 1).tolist():
        cell, launch = divmod(int(ids[at]), launches)
        own = value[starts[at] : starts[at] + counts[at]]
        found.setdefault((plan.launches[launch].candidate, values.cells[cell]), []).append(own)
    return found
