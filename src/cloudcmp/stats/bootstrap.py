"""Intervals of pooled statistics when values of one launch belong together."""

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from cloudcmp.stats.check import Floats, Integers, finite, fraction
from cloudcmp.stats.describe import Interval

Statistic = Literal["mean", "median"] | Callable[[Floats], float]

# Cells of the largest table that is built at once (32 MB of floats).
_TABLE_CELLS = 4_000_000


def cluster_bootstrap_interval(
    launch_groups: Sequence[npt.ArrayLike],
    statistic: Statistic,
    confidence: float,
    rng: np.random.Generator,
    resamples: int = 2000,
) -> Interval | None:
    """The percentile interval of a statistic of all values, drawing whole launches with replacement.

    `launch_groups` holds the values of each launch, shapes (n_i,); `statistic` is "mean", "median" (both fast) or a
    function of the pooled values. Unit of the statistic. None with fewer than 2 launches.
    It covers less than it says with few launches (at six, about 86 % for 95 %): it is for pooled percentiles, which
    have no exact interval; launch values have `t_interval` and `median_interval`.
    Raises ValueError when the statistic of a resample is not finite.
    Source: Davison and Hinkley, "Bootstrap Methods and their Application", section 3.8.
    """
    tail = (1.0 - fraction(confidence, "confidence")) / 2.0
    if resamples < 1:
        raise ValueError(f"resamples: {resamples}; draw at least one, a thousand for a 95 % interval")
    if len(launch_groups) == 0:
        raise ValueError("launch_groups: no launches; leave out what was not measured")
    groups = [finite(group, f"launch_groups, launch {at + 1}") for at, group in enumerate(launch_groups)]
    if len(groups) < 2:
        return None
    drawn = rng.integers(0, len(groups), size=(resamples, len(groups)))
    found = _statistics(groups, statistic, drawn)
    if not np.isfinite(found).all():
        raise ValueError("statistic: not finite for a resample; give a function that every pooled sample has")
    low, high = np.quantile(found, (tail, 1.0 - tail))
    return Interval(float(low), float(high))


def _statistics(groups: Sequence[Floats], statistic: Statistic, drawn: Integers) -> Floats:
    """The statistic of each row of `drawn` launch numbers, shape (resamples,)."""
    if statistic == "mean":
        sums, sizes = np.array([g.sum() for g in groups]), np.array([g.size for g in groups])
        means: Floats = sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1)
        return means
    if statistic == "median":
        return _medians(groups, drawn)
    if not callable(statistic):
        raise ValueError(f"statistic: {statistic!r}; give 'mean', 'median' or a function")
    return np.array([statistic(np.concatenate([groups[g] for g in row])) for row in drawn], dtype=np.float64)


def _medians(groups: Sequence[Floats], drawn: Integers) -> Floats:
    """Pooled medians without pooling: sort once, then weigh each value by how often its launch was drawn."""
    pooled = np.concatenate(groups)
    order = np.argsort(pooled)
    values, owner = pooled[order], np.repeat(np.arange(len(groups)), [g.size for g in groups])[order]
    medians = np.empty(len(drawn))
    at_once = max(1, _TABLE_CELLS // values.size)
    for first in range(0, len(drawn), at_once):
        rows = drawn[first : first + at_once]
        times_drawn = np.stack([(rows == g).sum(axis=1) for g in range(len(groups))], axis=1)
        reached = np.cumsum(times_drawn[:, owner], axis=1)
        total = reached[:, -1:]
        lower = np.argmax(reached >= (total + 1) // 2, axis=1)
        upper = np.argmax(reached >= total // 2 + 1, axis=1)
        medians[first : first + at_once] = (values[lower] + values[upper]) / 2.0
    return medians
