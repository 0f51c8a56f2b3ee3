"""Wall time and the virtual time of a simulated study."""

import asyncio
import time
from typing import Protocol


class Time(Protocol):
    """A clock for planned steps, in Unix seconds."""

    def at(self, planned_s: float) -> float:
        """The time of a step that the plan puts `planned_s` seconds after its start."""

    def now(self) -> float:
        """The time now."""

    def monotonic(self) -> float:
        """Seconds on a clock that nobody sets, for durations."""

    async def sleep(self, seconds: float) -> None:
        """Lets time pass."""


class WallTime:
    """Real time: steps happen when they happen."""

    def at(self, planned_s: float) -> float:  # noqa: ARG002
        """The wall time; plans do not change it."""
        return time.time()

    def now(self) -> float:
        """The wall time."""
        return time.time()

    def monotonic(self) -> float:
        """The machine's monotonic clock."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Waits."""
        await asyncio.sleep(seconds)


class VirtualTime:
    """A simulated study's time from `start_at` (Unix s): steps happen exactly as planned, and waiting is instant."""

    def __init__(self, start_at: float) -> None:
        self._start_at = start_at
        self._now = start_at

    def at(self, planned_s: float) -> float:
        """The planned time; advances the clock to it."""
        step = self._start_at + planned_s
        self.reach(step)
        return step

    def reach(self, at: float) -> None:
        """Advances to a Unix time, if it is later."""
        self._now = max(self._now, at)

    def now(self) -> float:
        """The latest time reached."""
        return self._now

    def monotonic(self) -> float:
        """The latest time reached."""
        return self._now

    async def sleep(self, seconds: float) -> None:
        """Advances the clock at once, and yields to other tasks."""
        self._now += seconds
        await asyncio.sleep(0)
