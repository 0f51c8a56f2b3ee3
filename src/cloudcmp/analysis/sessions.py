"""What sessions differ by: peak from off-peak hours, weekends from weekdays."""

import math
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from cloudcmp.model.history import SessionEffect
from cloudcmp.model.result import Bounds
from cloudcmp.stats import many
from cloudcmp.stats.check import Floats

FEWEST = 6
"""The smallest number of launches on each side."""
WEEKEND = "weekend"
_DAY_S = 86400.0


def session_effects(
    values: Floats, times: Floats, sessions: Sequence[str | None], changes: Sequence[float], *, is_log: bool
) -> tuple[SessionEffect, ...]:
    """What each session differs by from all others, in the order of their names; the weekend if none is named.

    `values` are those of launches, or their logarithms if `is_log`, `times` in Unix seconds, `changes` the times at
    which a new level begins: each value counts as its difference from the median of its level. Of two sessions only the
    first one is told, and none with fewer than 6 launches on either side. Welch's t: it takes launches for independent.
    Source: Welch, Biometrika 34, 1947.
    """
    level = np.searchsorted(np.array(changes), times, side="right")
    flat = values.copy()
    for at in np.unique(level):
        flat[level == at] -= np.median(values[level == at])
    named = np.array([session or "" for session in sessions])
    names = [name for name in np.unique(named).tolist() if name] if len(sessions) == values.size else []
    if len(names) < 2:
        weekday = (np.floor(times / _DAY_S).astype(np.int64) + 3) % 7  # the first of January 1970 was a Thursday
        named, names = np.where(weekday > 4, WEEKEND, ""), [WEEKEND]
    return tuple(_effects(flat, named, names[:1] if len(names) == 2 else names, is_log))


def _effects(flat: Floats, named: npt.NDArray[np.str_], names: Sequence[str], is_log: bool) -> Iterator[SessionEffect]:
    for name in names:
        own, others = flat[named == name], flat[named != name]
        if min(own.size, others.size) < FEWEST:
            continue
        sides = [many.moments(side[None, :]) for side in (own, others)]
        sizes = (np.array([float(own.size)]), np.array([float(others.size)]))
        means, sds = zip(*sides, strict=True)
        difference, error, df = many.welch((means[0], means[1]), (sds[0], sds[1]), sizes)
        half = float(many.t_critical(df, 0.95)[0] * error[0])
        centre = float(difference[0])
        ends = (centre, centre - half, centre + half)
        effect, low, high = map(math.expm1, ends) if is_log else ends
        yield SessionEffect(name, effect, Bounds(low, high), not is_log, own.size, others.size)
