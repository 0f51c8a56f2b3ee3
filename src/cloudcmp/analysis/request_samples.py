"""The single samples of a measurement by launch, as claims about a service level need them."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from cloudcmp.errors import UserMistake
from cloudcmp.model.cell import Cell
from cloudcmp.model.metric import Metric
from cloudcmp.model.plan import Plan
from cloudcmp.model.service_level import SampleGroup
from cloudcmp.model.trial import Attempt, Outcome
from cloudcmp.model.values import HistogramRow, StudyValues
from cloudcmp.stats.histogram import cdf, from_base64, merge

_SHOWN = 4
_PERCENTILE = "percentile"


def cell_named(name: str, cells: Iterable[str], where: str) -> str:
    """The one cell, without its percentile, that a metric with some of its parameters names.

    Raises UserMistake, at `where`, if there is none or several.
    """
    known = tuple(dict.fromkeys(_without_percentile(cell) for cell in cells))
    metric, _, params = name.partition(" ")
    wanted = set(filter(None, params.split(";")))
    parts = {one: one.partition(" ") for one in known}
    found = [one for one, (own, _, some) in parts.items() if own == metric and wanted <= set(some.split(";"))]
    if name in found:
        return name
    if len(found) == 1:
        return found[0]
    if found:
        what = f"{name!r} is {len(found)} measurements: {'; '.join(sorted(found)[:_SHOWN])}"
        raise UserMistake.at(where, what, "name one with its parameters")
    metrics = ", ".join(dict.fromkeys(one.partition(" ")[0] for one in known))
    raise UserMistake.at(where, f"the study did not measure {name!r}", f"it has {metrics}")


def _without_percentile(cell: str) -> str:
    parsed = Cell.parse(cell)
    return str(Cell.of(parsed.metric, {key: value for key, value in parsed.params if key != _PERCENTILE}))


def samples_by_launch(plan: Plan, cell: str, measured: StudyValues) -> dict[int, list[SampleGroup]]:
    """The samples of a cell for each candidate, a group for each launch.

    `measured` has all samples of the cell's metric in `whole`. Recorded latencies are those of the histograms, each the
    largest value of its bucket: at most 0.1 % too high. An imported table has one value for each trial.
    """
    owner = [launch.candidate for launch in plan.launches]
    metric, _, params = cell.partition(" ")
    by_launch: dict[int, list[float]] = {}
    for one in measured.whole:
        if one.cell == cell:
            by_launch.setdefault(one.launch, []).extend(one.values)
    if not by_launch and plan.imported and cell in measured.values.cells:
        values = measured.values
        rows = np.flatnonzero(values.ok & (values.cell == values.cells.index(cell)))
        for row in rows.tolist():
            by_launch.setdefault(int(values.launch[row]), []).append(float(values.value[row]))
    found: dict[int, list[SampleGroup]] = {}
    for launch, some in sorted(by_launch.items()):
        group = SampleGroup(np.array(some), np.ones(len(some), np.int64))
        found.setdefault(owner[launch], []).append(group)
    recorded = [one for one in measured.histograms if (one.metric, one.params) == (metric, params)]
    for launch, histograms in sorted(_by_launch(recorded).items()):
        whole = merge([from_base64(one.hist) for one in histograms])
        found.setdefault(owner[launch], []).append(SampleGroup(cdf(whole)[0], whole.counts))
    return found


def _by_launch(histograms: Iterable[HistogramRow]) -> dict[int, list[HistogramRow]]:
    found: dict[int, list[HistogramRow]] = {}
    for one in histograms:
        found.setdefault(one.launch, []).append(one)
    return found


def trials_by_launch(plan: Plan, attempts: Sequence[Attempt], measured: StudyValues) -> dict[int, list[SampleGroup]]:
    """How many trials of each launch ended ok, for each candidate: the last attempt of each counts.

    An imported table has a row for each trial and cell, without saying which rows are of one trial: of a launch the
    cell with the most failures counts.
    """
    found: dict[int, list[SampleGroup]] = {}
    for launch, (good, bad) in sorted((_rows(measured) if plan.imported else _ended(plan, attempts)).items()):
        group = SampleGroup(np.zeros(min(good, 1)), np.array([good] if good else [], np.int64), bad)
        found.setdefault(plan.launches[launch].candidate, []).append(group)
    return found


def _ended(plan: Plan, attempts: Sequence[Attempt]) -> dict[int, tuple[int, int]]:
    """Trials of each launch that ended ok, and that did not."""
    last = {one.trial: one.outcome for one in attempts if not one.interrupted and one.outcome is not Outcome.ABORTED}
    counts: dict[int, tuple[int, int]] = {}
    for trial, outcome in last.items():
        good, bad = counts.get(plan.trials[trial].launch, (0, 0))
        ok = outcome is Outcome.OK
        counts[plan.trials[trial].launch] = good + ok, bad + (not ok)
    return counts


def _rows(measured: StudyValues) -> dict[int, tuple[int, int]]:
    """Rows of each launch that are ok, and that are not, of the cell with the most that are not."""
    values = measured.values
    by_cell: dict[tuple[int, int], tuple[int, int]] = {}
    for launch, cell, ok in zip(values.launch.tolist(), values.cell.tolist(), values.ok.tolist(), strict=True):
        good, bad = by_cell.get((launch, cell), (0, 0))
        by_cell[launch, cell] = good + ok, bad + (not ok)
    counts: dict[int, tuple[int, int]] = {}
    for (launch, _), (good, bad) in by_cell.items():
        counts[launch] = max(counts.get(launch, (0, -1)), (good, bad), key=lambda one: (one[1], one[0]))
    return counts


def metric_of(cell: str, metrics: Mapping[str, Metric]) -> Metric:
    """The metric of a cell."""
    return metrics[Cell.parse(cell).metric]
