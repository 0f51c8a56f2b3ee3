"""Many small groups at once: the value of each trial from its samples, over millions of rows."""

import numpy as np
import numpy.typing as npt

from cloudcmp.stats.check import Floats, Integers, finite

# Rows that are gathered into one block at a time; keeps the copies inside the cache and memory flat.
_BLOCK_ROWS = 1 << 20


def group_medians(values: npt.ArrayLike, group_ids: npt.ArrayLike) -> tuple[Integers, Floats]:
    """The median of each group: (the ids in rising order, shape (k,); their medians, shape (k,), unit of `values`).

    `values` and whole `group_ids` have shape (n,), in any order; rows that already come group by group are faster.
    """
    sample, ids = finite(values, "group_medians"), _ids(group_ids, np.size(values), "group_medians")
    if (ids[1:] < ids[:-1]).any():
        order = np.argsort(ids)
        sample, ids = sample[order], ids[order]
    starts, sizes = _runs(ids)
    medians = np.empty(starts.size)
    # One block for each size: at most sqrt(2 n) different sizes share n rows, so the loop stays short.
    for size in np.unique(sizes):
        groups = np.flatnonzero(sizes == size)
        at_once = max(1, _BLOCK_ROWS // int(size))
        for first in range(0, groups.size, at_once):
            some = groups[first : first + at_once]
            block = np.sort(sample[starts[some][:, None] + np.arange(size)], axis=1)
            medians[some] = (block[:, (size - 1) // 2] + block[:, size // 2]) / 2.0
    return ids[starts], medians


def group_total(rates: npt.ArrayLike, t_s: npt.ArrayLike, group_ids: npt.ArrayLike) -> tuple[Integers, Floats]:
    """The whole run's total over its time, for each group: (ids in rising order, shape (k,); rates, shape (k,)).

    `rates` holds rates over consecutive intervals, `t_s` the end of each interval in seconds from the start of the
    measured phase, both shape (n,), rows in any order: sum rate[i] (t[i] - t[i-1]) / t[last], with t[-1] = 0.
    Raises ValueError when times of a group are not above 0, or two of its intervals end together.
    """
    sample, ends = finite(rates, "group_total rates"), finite(t_s, "group_total t_s")
    ids = _ids(group_ids, sample.size, "group_total")
    if ends.shape != sample.shape:
        raise ValueError(f"group_total: {sample.size} rates but {ends.size} times; give one end time for each rate")
    same = ids[1:] == ids[:-1]
    if ((ids[1:] < ids[:-1]) | (same & (ends[1:] < ends[:-1]))).any():
        order = np.lexsort((ends, ids))
        sample, ends, ids = sample[order], ends[order], ids[order]
    starts, sizes = _runs(ids)
    lengths = np.diff(ends, prepend=0.0)
    lengths[starts] = ends[starts]
    if lengths.min() <= 0.0:
        at = int(np.argmin(lengths))
        raise ValueError(
            f"group_total: group {ids[at]} has an interval of {lengths[at]} s that ends at {ends[at]} s; "
            "times must rise from 0 within a run"
        )
    return ids[starts], np.add.reduceat(sample * lengths, starts) / ends[starts + sizes - 1]


def _ids(group_ids: npt.ArrayLike, rows: int, name: str) -> Integers:
    ids = np.asarray(group_ids)
    if ids.shape != (rows,):
        raise ValueError(f"{name}: {rows} values but group ids of shape {ids.shape}; give one id for each value")
    if ids.dtype.kind not in "iu":
        raise ValueError(f"{name}: group ids are {ids.dtype}; give whole numbers")
    return ids.astype(np.int64, copy=False)


def _runs(ids: Integers) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Where each run of equal ids starts, and how long it is."""
    starts = np.concatenate(([0], np.flatnonzero(ids[1:] != ids[:-1]) + 1))
    return starts, np.diff(starts, append=ids.size)
