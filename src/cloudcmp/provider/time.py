"""The two kinds of time: the wall's, and a simulated study's own."""

import asyncio
import time
from typing import Protocol


class Time(Protocol):
    """A clock that tells when a planned step happens, what time it is, and lets time pass. Unix seconds."""

    def at(self, planned_s: float) -> float:
        """The time of a step that the plan puts `planned_s` seconds after its start."""
        ...

    def now(self) -> float:
        """The time now."""
        ...

    def monotonic(self) -> float:
        """Seconds on a clock that nobody sets, from which durations are taken."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Let time pass."""
        ...


class WallTime:
    """Real time: a step happens when it happens."""

    def at(self, planned_s: float) -> float:  # noqa: ARG002
        """The wall's time: plans do not move it."""
        return time.time()

    def now(self) -> float:
        """The wall's time."""
        return time.time()

    def monotonic(self) -> float:
        """The machine's own clock, which goes on when the wall's is set."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Really wait."""
        await asyncio.sleep(seconds)


class VirtualTime:
    """A simulated study's time: a step happens exactly when the plan says, and waiting takes none of ours.

    `start_at` is the plan's start in Unix seconds.
    """

    def __init__(self, start_at: float) -> None:
        self._start_at = start_at
        self._now = start_at

    def at(self, planned_s: float) -> float:
        """The planned time, which is also reached by asking."""
        step = self._start_at + planned_s
        self.reach(step)
        return step

    def reach(self, at: float) -> None:
        """Move on to a Unix time, if it is not reached yet."""
        self._now = max(self._now, at)

    def now(self) -> float:
        """The latest time that was reached."""
        return self._now

    def monotonic(self) -> float:
        """The latest time that was reached: nobody sets it."""
        return self._now

    async def sleep(self, seconds: float) -> None:
        """Reach a later time at once, and let others run."""
        self._now += seconds
        await asyncio.sleep(0)
