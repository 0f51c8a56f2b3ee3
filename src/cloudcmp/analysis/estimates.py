"""Estimates of each candidate in each cell, over launches, with warnings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from cloudcmp.analysis.latencies import LaunchLatencies, latencies_of
from cloudcmp.analysis.levels import LaunchFacts
from cloudcmp.analysis.warnings import warnings_of
from cloudcmp.errors import UserMistake
from cloudcmp.model.cell import Cell
from cloudcmp.model.metric import Metric, Reduce
from cloudcmp.model.plan import Plan, steps_of
from cloudcmp.model.result import Bounds, Estimate
from cloudcmp.model.values import HistogramRow, TrialValues
from cloudcmp.stats import describe
from cloudcmp.stats.describe import between_share, group_medians

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """All ok trial values, sorted by cell, candidate, and launch in the plan's order, and the launch values.

    `slots[i]` is the index of launch i when launches are sorted by candidate, then by the plan's order; `launch_at` is
    its inverse. A key is cell * (number of launches) + slot. `keys`, `values` have one entry for each ok trial;
    `launch_keys`, `launch_values` one for each launch with an ok trial; both are ascending by key.
    """

    slots: Integers
    launch_at: Integers
    keys: Integers
    values: Floats
    launch_keys: Integers
    launch_values: Floats

    def within(self, keys: Integers, cell: int, first: int, last: int) -> slice:
        """The slice of `keys` with the rows of one cell and of the slots `first` up to `last` (excluded)."""
        base = cell * self.slots.size
        low, high = np.searchsorted(keys, (base + first, base + last))
        return slice(int(low), int(high))


def rows_of(plan: Plan, values: TrialValues, requested: npt.NDArray[np.bool_], runs_step: str) -> Rows:
    """Sorts the ok rows of the `requested` cells (shape: cells) and reduces runs to launches.

    `runs_step` is `median` or `mean`. Raises ValueError for an ok value that is not a finite number.
    """
    slots, launch_at = _slots(plan)
    keys = values.cell.astype(np.int64)
    keys *= slots.size
    keys += slots.take(values.launch)
    kept_values = values.value
    kept = values.ok if requested.all() else values.ok & requested[values.cell]
    if not kept.all():
        keys, kept_values = keys[kept], kept_values[kept]
    if keys.size and (keys[1:] < keys[:-1]).any():
        order = np.argsort(keys, kind="stable")
        keys, kept_values = keys[order], kept_values[order]
    if keys.size == 0:
        return Rows(slots, launch_at, keys, kept_values, keys, kept_values)
    launch_keys, launch_values = group_medians(kept_values, keys)
    if runs_step == "mean":
        starts = np.searchsorted(keys, launch_keys)
        launch_values = np.add.reduceat(kept_values, starts) / np.diff(starts, append=keys.size)
    return Rows(slots, launch_at, keys, kept_values, launch_keys, launch_values)


def counts_of(plan: Plan, values: TrialValues) -> tuple[Integers, Integers]:
    """Started and ok trials, both of shape (candidates, cells)."""
    shape = (len(plan.candidates), len(values.cells))
    owner = np.array([launch.candidate for launch in plan.launches], dtype=np.int64)
    flat = owner.take(values.launch) * shape[1] + values.cell
    size = shape[0] * shape[1]
    started = np.bincount(flat, minlength=size)
    ok = started if values.ok.all() else np.bincount(flat[values.ok], minlength=size)
    return started.reshape(shape), ok.reshape(shape)


def slot_ranges(plan: Plan) -> tuple[tuple[int, int], ...]:
    """The range of slots of each candidate's launches."""
    sizes = np.bincount([launch.candidate for launch in plan.launches], minlength=len(plan.candidates))
    ends = np.cumsum(sizes)
    return tuple((int(end - size), int(end)) for end, size in zip(ends, sizes, strict=True))


def _slots(plan: Plan) -> tuple[Integers, Integers]:
    owner = np.array([launch.candidate for launch in plan.launches], dtype=np.int64)
    launch_at = np.argsort(owner, kind="stable").astype(np.int64)
    slots = np.empty_like(launch_at)
    slots[launch_at] = np.arange(launch_at.size)
    return slots, launch_at


@dataclass(frozen=True, slots=True, eq=False)
class CellValues:
    """One candidate's values in one cell: of launches (with their plan indices) and of single trials."""

    launches: Sequence[int]
    values: Floats
    trial_launches: npt.NDArray[np.int64]
    trial_values: Floats


def estimate(
    plan: Plan, values: TrialValues, histograms: Sequence[HistogramRow], metrics: Mapping[str, Metric],
    facts: LaunchFacts | None = None,
) -> tuple[Estimate, ...]:  # fmt: skip
    """Every candidate's figures in every cell of the plan, by cell in the plan's order and candidate by index.

    A launch's value is the median (or mean, by `plan.aggregation`) of its ok trials' values; a latency percentile is
    read from the merged histograms of the launch. n, median with its exact order-statistic interval, mean with its
    Student-t interval, 5th and 95th percentile and CoV are over launches; `value` follows the plan's whole order of
    aggregation. The between-launch share needs two ok runs on a launch; for a percentile it compares the trials' own. A
    candidate without a planned trial of a cell has the reason `not offered`; one without an ok trial has no figures and
    the failures as its reason. In an imported table percentiles are values like others. Raises UserMistake for a metric
    missing from `metrics`, ValueError for an ok value that is not finite. With `facts`, a warning of two levels names
    those that go with them. It does not tell whether a launch was typical
    of the offering: launches in other rounds do.
    """
    offered = _offered(plan)
    cells = {text: Cell.parse(text) for text in dict.fromkeys([*offered, *values.cells])}
    reduced = _reduced(cells, metrics, plan)
    started, ok = counts_of(plan, values)
    column = {text: at for at, text in enumerate(values.cells)}
    requested = np.array([not reduced[text] for text in values.cells], dtype=np.bool_)
    rows = rows_of(plan, values, requested, steps_of(plan)[0])
    latencies = latencies_of(histograms, (cell for text, cell in cells.items() if reduced[text]))
    ranges = slot_ranges(plan)
    estimates: list[Estimate] = []
    for text, cell in cells.items():
        at = column.get(text)
        for candidate in plan.candidates:
            first, last = ranges[candidate.index]
            counts = (0, 0) if at is None else (int(started[candidate.index, at]), int(ok[candidate.index, at]))
            if reduced[text]:
                cell_values = _from_histograms(latencies[cell], rows.launch_at[first:last].tolist())
            else:
                cell_values = _NOTHING if at is None else _from_rows(rows, at, first, last)
            is_offered = candidate.index in offered.get(text, frozenset()) or counts[0] > 0
            estimates.append(
                estimate_of(plan, candidate.index, cell, metrics[cell.metric], counts, cell_values, is_offered, facts)
            )
    return tuple(estimates)


def _offered(plan: Plan) -> dict[str, frozenset[int]]:
    """The cells of the plan, in its order, with the candidates that have them."""
    owner = [launch.candidate for launch in plan.launches]
    cells_of: dict[str, set[int]] = {}
    for candidate, cells in dict.fromkeys((owner[trial.launch], trial.cells) for trial in plan.trials):
        for cell in cells:
            cells_of.setdefault(cell, set()).add(candidate)
    return {cell: frozenset(candidates) for cell, candidates in cells_of.items()}


def _reduced(cells: Mapping[str, Cell], metrics: Mapping[str, Metric], plan: Plan) -> dict[str, bool]:
    """For each cell whether its values come from histograms."""
    unknown = sorted({cell.metric for cell in cells.values()} - set(metrics))
    if unknown:
        raise UserMistake.at("metrics", f"{unknown[0]!r} is not in the table of metrics", "see 'cloudcmp list metrics'")
    return {
        text: metrics[cell.metric].reduce is Reduce.PERCENTILE and not plan.imported for text, cell in cells.items()
    }


_NOTHING = CellValues((), np.empty(0), np.empty(0, dtype=np.int64), np.empty(0))


def _from_rows(rows: Rows, cell: int, first: int, last: int) -> CellValues:
    launches, trials = rows.within(rows.launch_keys, cell, first, last), rows.within(rows.keys, cell, first, last)
    base = cell * rows.slots.size
    return CellValues(
        rows.launch_at[rows.launch_keys[launches] - base].tolist(),
        rows.launch_values[launches],
        rows.keys[trials],
        rows.values[trials],
    )


def _from_histograms(latencies: LaunchLatencies, launches: Sequence[int]) -> CellValues:
    seen = [at for at in launches if at in latencies.launches]
    if not seen:
        return _NOTHING
    return CellValues(
        seen,
        np.array([latencies.launches[at] for at in seen], dtype=np.float64),
        np.array([at for at in seen for _ in latencies.trials[at]], dtype=np.int64),
        np.array([value for at in seen for value in latencies.trials[at]], dtype=np.float64),
    )


def estimate_of(
    plan: Plan,
    candidate: int,
    cell: Cell,
    metric: Metric,
    counts: tuple[int, int],
    cell_values: CellValues,
    is_offered: bool,
    facts: LaunchFacts | None = None,
) -> Estimate:
    n_started, n_ok = counts
    launches = [plan.launches[at] for at in cell_values.launches]
    sessions = tuple(launch.session for launch in launches)
    x = cell_values.values
    found = partial(Estimate, candidate, str(cell), n_started, n_ok, len(launches), tuple(x.tolist()),
                    tuple(launch.round for launch in launches), sessions)  # fmt: skip
    if not launches:
        failed = (metric.why_without(n_started - n_ok, n_started),) if n_ok < n_started else ()
        return found(reason=_why_nothing(metric, n_started, n_ok, is_offered), warnings=failed, offered=is_offered)
    figures = describe.summary(x, (0.05, 0.95))
    runs, of_runs = cell_values.trial_values, cell_values.trial_launches
    return found(
        value=_value_in_order(plan, x, sessions, figures),
        median=figures.median,
        median_bounds=_bounds(figures.median_interval),
        mean=figures.mean,
        mean_bounds=_bounds(figures.t_interval),
        p5=figures.quantiles[0],
        p95=figures.quantiles[1],
        cov=figures.cov,
        between_share=between_share(runs, of_runs) if runs.size > len(launches) else None,
        warnings=tuple(warnings_of(plan, cell, metric, counts, x, runs, of_runs, cell_values.launches, facts)),
    )


def _why_nothing(metric: Metric, n_started: int, n_ok: int, is_offered: bool) -> str:
    if not is_offered:
        return "not offered"
    if n_started == 0:
        return "no trial was started"
    if n_ok == 0:
        return metric.why_without(n_started, n_started)
    return f"{n_ok} ok trials recorded no latency"


def _bounds(interval: describe.Interval | None, confidence: float = 0.95) -> Bounds | None:
    return None if interval is None else Bounds(interval.low, interval.high, confidence)


_STEPS = {"median": describe.median, "mean": describe.mean}


def _value_in_order(
    plan: Plan, launch_values: Floats, sessions: Sequence[str | None], figures: describe.Summary
) -> float:
    """The candidate's value: each session's launches reduced by the plan's step, then the sessions by theirs.

    `launch_values` has shape (n,), n >= 1, and `figures` are theirs; `sessions` names each one's session (None: all are
    one session).
    """
    _, launch, session = steps_of(plan)
    names = dict.fromkeys(sessions)
    if len(names) == 1:
        return figures.median if launch == "median" else figures.mean
    owner = np.array([list(names).index(name) for name in sessions])
    return _STEPS[session]([_STEPS[launch](launch_values[owner == at]) for at in range(len(names))])
