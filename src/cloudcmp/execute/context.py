"""What measuring takes, and what it hands back."""

import asyncio
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from cloudcmp.model.command import Command
from cloudcmp.model.metric import Metric, Probe
from cloudcmp.model.protocol import Clock, Progress
from cloudcmp.model.trial import Attempt, Outcome, Sample


class Records(Protocol):
    """What is needed of the store: what a method has written outlasts the process when it returns."""

    def next_attempt(self, trial: int) -> int:
        """The number of the next attempt at a trial."""
        ...

    def earlier(self, trial: int) -> int:
        """How many attempts at a trial ended by themselves."""
        ...

    def begin_attempt(self, trial: int, attempt: int, started_at: float) -> None:
        """Write that an attempt starts."""
        ...

    def keep_output(self, trial: int, attempt: int, texts: Mapping[str, str], facts: str) -> str:
        """Write what a command printed in an attempt; the facts with where it is."""
        ...

    def finish_attempt(
        self, attempt: Attempt, samples_of: Sequence[Sample], *, begin_next: tuple[int, int, float] | None = None
    ) -> Attempt:
        """Write how an attempt ended, with its samples, and that the next one starts."""
        ...


def _secret() -> str:
    return secrets.token_hex(32)


def _slept_s() -> float:
    """How long the machine has slept since it was booted: one clock counts that, the other does not."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) - time.monotonic()


@dataclass(frozen=True, slots=True)
class Bench:
    """All that is needed to run trials: where results go, the tables, the time, who wants to know, and when to stop.

    `read_histogram` raises ValueError for a histogram that cannot be read. `stop` ends after the trial that runs.
    `grace_s` is what a controller waits beyond a trial's own deadline. `secret` gives 64 hex digits for one trial;
    `slept_s` tells how long this machine has been asleep in all. `commands` are those of the plan.
    """

    records: Records
    metrics: Mapping[str, Metric]
    probes: Mapping[str, Probe]
    clock: Clock
    progress: Progress
    read_histogram: Callable[[str], object]
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    grace_s: float = 2.0
    secret: Callable[[], str] = _secret
    slept_s: Callable[[], float] = _slept_s
    commands: Sequence[Command] = ()


@dataclass(frozen=True, slots=True)
class Visit:
    """What came of a launch: `finished` is false when it was stopped with trials left; `why` is one line, if any."""

    outcome: Outcome
    finished: bool
    why: str = ""
