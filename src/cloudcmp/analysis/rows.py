"""Trial values in columns become launch values: one sort over all rows, then groups of neighbours."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cloudcmp.model.plan import Plan
from cloudcmp.model.values import TrialValues
from cloudcmp.stats.groups import group_medians

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """All ok trial values, sorted by cell, candidate, and launch in the plan's order, and the launch values.

    `slots[i]` is the place of launch i when launches are sorted by candidate, then by the plan's order; `launch_at` is
    its inverse. A key is cell * (number of launches) + slot. `keys`, `values` have one entry for each ok trial;
    `launch_keys`, `launch_values` one for each launch that has an ok trial; both rise by key.
    """

    slots: Integers
    launch_at: Integers
    keys: Integers
    values: Floats
    launch_keys: Integers
    launch_values: Floats

    def within(self, keys: Integers, cell: int, first: int, last: int) -> slice:
        """Where the rows of one cell and of the slots `first` up to `last` (excluded) lie in `keys`."""
        base = cell * self.slots.size
        low, high = np.searchsorted(keys, (base + first, base + last))
        return slice(int(low), int(high))


def rows_of(plan: Plan, values: TrialValues, asked: npt.NDArray[np.bool_], runs_step: str) -> Rows:
    """Sort the ok rows of the cells that are `asked` for (shape: cells) and reduce runs to launches.

    `runs_step` is `median` or `mean`. Raises ValueError for an ok value that is not a finite number.
    """
    slots, launch_at = _slots(plan)
    keys = values.cell.astype(np.int64)
    keys *= slots.size
    keys += slots.take(values.launch)
    kept_values = values.value
    kept = values.ok if asked.all() else values.ok & asked[values.cell]
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
    """For each candidate the range of slots that its launches take."""
    sizes = np.bincount([launch.candidate for launch in plan.launches], minlength=len(plan.candidates))
    ends = np.cumsum(sizes)
    return tuple((int(end - size), int(end)) for end, size in zip(ends, sizes, strict=True))


def _slots(plan: Plan) -> tuple[Integers, Integers]:
    owner = np.array([launch.candidate for launch in plan.launches], dtype=np.int64)
    launch_at = np.argsort(owner, kind="stable").astype(np.int64)
    slots = np.empty_like(launch_at)
    slots[launch_at] = np.arange(launch_at.size)
    return slots, launch_at
