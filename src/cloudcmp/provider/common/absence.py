"""When something that a cloud does not show any more counts as gone."""

import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field


@dataclass(slots=True)
class Absence:
    """What is not shown is gone at once where its deletion was accepted, else after `settle_s` seconds without being
    shown: what is new may not be seen at first (docs/adr/0027-gone-is-what-two-looks-agree-on.md).

    `how` ends the sentence "it is not", by the way in which it was looked for. `clock` is in seconds of any origin.
    Keys tell resources apart, as a driver sees fit.
    """

    settle_s: float
    how: str
    clock: Callable[[], float] = time.monotonic
    _unseen: dict[Hashable, float] = field(default_factory=dict)
    _accepted: set[Hashable] = field(default_factory=set)

    def accepted(self, key: Hashable) -> None:
        """The cloud took our request to delete it."""
        self._accepted.add(key)

    def shown(self, key: Hashable) -> None:
        """It is there: whatever was not seen before, the wait begins anew."""
        self._unseen.pop(key, None)

    def unseen(self, key: Hashable, id: str) -> str | None:
        """A look did not show it; why it counts as gone by now, None where it does not yet."""
        now = self.clock()
        since = self._unseen.setdefault(key, now)
        if key in self._accepted:
            return f"the deletion of {id} was accepted, and it is not {self.how}"
        if now > since and now - since >= self.settle_s:
            return f"{id} is not {self.how} for {now - since:.0f} s"
        return None
