"""Watched services with planted outages and response times."""

from collections.abc import Iterable

import numpy as np

from cloudcmp.answer.sla.timeline import Timeline, timeline
from cloudcmp.model.watch import Watched, WatchSample

MAY = 1777593600.0
"""The first of May 2026, 00:00 UTC."""
DAY = 86400.0


def watch(
    n: int, *, every: float = 60.0, start: float = MAY, down: Iterable[int] = (), unseen: Iterable[int] = (),
    seconds: float | np.ndarray = 0.1,
) -> Timeline:  # fmt: skip
    """A service that is asked every 60 s: samples with these numbers failed, those were never made."""
    failed, missing = set(down), set(unseen)
    times = np.broadcast_to(seconds, (n,)).tolist()
    samples = tuple(
        WatchSample(start + every * at, at not in failed, None if at in failed else times[at])
        for at in range(n)
        if at not in missing
    )
    return timeline(Watched("shop", every, samples))
