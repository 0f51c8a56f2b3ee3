"""Serves long traffic in windows of time that know nothing of each other, to need less memory."""

from collections.abc import Iterator

import numpy as np

from cloudcmp.answer.world.serve import Served, serve
from cloudcmp.answer.world.traffic import Traffic
from cloudcmp.model.scenario import Deployment, Scenario

_MESSAGES = 2_000_000
"""A window has about as many."""
_PAUSE_S = 1.0
"""A window may end where nobody sends for as long."""


def serve_in_windows(
    scenario: Scenario, deployment: Deployment, sent: Traffic, random: np.random.Generator, messages: int = _MESSAGES
) -> Iterator[tuple[Traffic, Served]]:  # fmt: skip
    """Yield parts of the traffic with what became of them.

    A part ends where every reply was back before the next message was sent: then all queues are empty, and the rest
    does not depend on it. A part that ends otherwise is served again with the next one. Traffic without pauses is one
    part.
    """
    ends = [*_pauses(sent, messages), len(sent.sent)]
    begin = 0
    for end in ends:
        part = sent.part(begin, end)
        served = serve(scenario, deployment, part, random)
        if end == len(sent.sent) or served.returned.max() <= sent.sent[end]:
            yield part, served
            begin = end


def _pauses(sent: Traffic, messages: int) -> list[int]:
    """The first message after a pause, about every so many messages."""
    after = np.flatnonzero(np.diff(sent.sent) > _PAUSE_S) + 1
    wanted = np.arange(messages, len(sent.sent), messages)
    if not len(after):
        return []
    found = after[np.minimum(np.searchsorted(after, wanted), len(after) - 1)]
    return [int(one) for one in np.unique(found)]
