"""Decides when a resource that a cloud no longer lists counts as gone."""

import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field


@dataclass(slots=True)
class Absence:
    """Evidence of absence: a missing resource is gone if its deletion was accepted, else after `settle_s` seconds.

    New resources may be missing at first (docs/adr/0027-gone-is-what-two-looks-agree-on.md). `how` completes "it is not
    ...". `clock` is in seconds of any origin. Drivers choose the keys of resources.
    """

    settle_s: float
    how: str
    clock: Callable[[], float] = time.monotonic
    _unseen: dict[Hashable, float] = field(default_factory=dict)
    _accepted: set[Hashable] = field(default_factory=set)

    def record_deletion(self, key: Hashable) -> None:
        """Records that the cloud accepted a deletion."""
        self._accepted.add(key)

    def record_presence(self, key: Hashable) -> None:
        """Records that a resource is listed; the wait starts again."""
        self._unseen.pop(key, None)

    def evidence(self, key: Hashable, id: str) -> str | None:
        """Records that a resource was not listed; returns why it counts as gone, None if it does not yet."""
        now = self.clock()
        since = self._unseen.setdefault(key, now)
        if key in self._accepted:
            return f"the deletion of {id} was accepted, and it is not {self.how}"
        if now > since and now - since >= self.settle_s:
            return f"{id} is not {self.how} for {now - since:.0f} s"
        return None
