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
