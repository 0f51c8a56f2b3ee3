"""Shows the progress of a running study: a live line with the time left, or plain lines without a terminal."""

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TextIO, cast

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TaskID, TextColumn

from cloudcmp.model.plan import PlannedTrial
from cloudcmp.model.trial import Outcome
from cloudcmp.model.untrusted_text import clip, one_line
from cloudcmp.report.table import ascii_only, say
from cloudcmp.units import format_seconds

_WORDS = 30
_WHY = 300


class LiveProgress:
    """A `Progress` on a console: a live bar in a terminal, else lines at the start, for each launch, and at the end.

    `clock` returns monotonic seconds. The time left is the planned time of the remaining trials, scaled by the actual
    against the planned time of the trials so far; if the plan expects no real time (0 s), it follows from their number.
    """

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = console
        self._clock = clock
        self._trials = self._done = self._failed = 0
        self._expected_s = self._done_s = self._begun = 0.0
        self._where = self._money = ""
        self._reported: set[str] = set()
        self._bar: Progress | None = None
        self._task: TaskID | None = None

    def begin(self, trials: int, expected_s: float) -> None:
        """Start the progress of a new or resumed study with this much left."""
        self._trials, self._expected_s, self._begun = trials, expected_s, self._clock()
        self._done, self._failed, self._done_s = 0, 0, 0.0
        if not self._console.is_terminal:
            say(self._console, f"{trials} trials{', about ' + format_seconds(expected_s) if expected_s > 0 else ''}")
            return
        plain = ascii_only(self._console)
        self._bar = Progress(
            SpinnerColumn("line" if plain else "dots"),
            TextColumn("{task.fields[where]}", markup=False),
            BarColumn(bar_width=12),
            MofNCompleteColumn(),
            TextColumn("{task.fields[left]}", markup=False),
            console=self._console,
            transient=True,
        )
        self._task = self._bar.add_task("", total=trials, where="starting", left=self._left())
        self._bar.start()

    def replan(self, trials: int, expected_s: float) -> None:
        """Count with this much left, after what is done."""
        self._trials = self._done + trials
        self._expected_s = self._done_s + expected_s if expected_s > 0 else 0.0
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, total=self._trials)

    def launch(self, candidate: str, round: int) -> None:
        """Report the start of a launch; shows rounds counted from 1."""
        self._where = f"round {round + 1}: {one_line(candidate, 200)}"
        if self._bar is None:
            failed = f", {self._failed} not ok" if self._failed else ""
            left = f", about {self._left()}" if self._done else ""
            money = f"; {self._money}" if self._money else ""
            say(self._console, f"{self._where} ({self._done} of {self._trials} trials done{failed}{left}{money})")
        else:
            self._show(self._where)

    def trial(self, candidate: str, trial: PlannedTrial, outcome: Outcome, why: str) -> None:
        """Report an ended trial; shows a failure at once with its reason, and equal failures of a candidate once."""
        self._done += 1
        self._done_s += trial.expected_s
        name = one_line(_named(trial), 80)
        if outcome is not Outcome.OK:
            self._failed += 1
            because = f": {one_line(why, _WHY)}" if why else ""
            line = f"{one_line(candidate, 200)}: {name} {outcome}{because}"
            if line not in self._reported:
                self._reported.add(line)
                say(self._console, line, "yellow")
        if self._bar is not None:
            self._show(f"{self._where}, {name}")

    def money(self, text: str) -> None:
        """Report the money spent so far: next to the time left in a terminal, else with each launch."""
        self._money = one_line(text, 200)
        if self._bar is not None:
            self._show(self._where)

    def step(self, text: str) -> None:
        """Print one line at once."""
        say(self._console, one_line(text, 400))

    def note(self, text: str) -> None:
        """Print one line at once, as a warning."""
        say(self._console, one_line(text, 400), "yellow")

    def end(self) -> None:
        """End the progress."""
        if self._bar is not None:
            self._bar.stop()
            self._bar, self._task = None, None
        failed = f", {self._failed} of them not ok" if self._failed else ""
        say(self._console, f"{self._done} trials in {format_seconds(self._clock() - self._begun)}{failed}")

    def left_s(self) -> float | None:
        """Return the seconds left at the pace so far; None before the first trial has ended."""
        if not self._done:
            return None
        timed = self._expected_s > 0 and self._done_s > 0
        done, whole = (self._done_s, self._expected_s) if timed else (self._done, self._trials)
        return max(0.0, whole - done) * (self._clock() - self._begun) / done

    def _left(self) -> str:
        left = self.left_s()
        known = left if left is not None else self._expected_s
        time = f"{format_seconds(known)} left" if known > 0 or self._done else ""
        return f"{time}, {self._money.partition(' spent')[0]}" if self._money else time

    def _show(self, where: str) -> None:
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=self._done, where=clip(where, _WORDS), left=self._left())


class WarningsOnly(LiveProgress):
    """A `Progress` that prints only failed trials and notes."""

    def begin(self, trials: int, expected_s: float) -> None:
        """Print nothing."""

    def launch(self, candidate: str, round: int) -> None:
        """Print nothing."""

    def money(self, text: str) -> None:
        """Print nothing."""

    def step(self, text: str) -> None:
        """Print nothing."""

    def end(self) -> None:
        """Print nothing."""


class Silence:
    """A `Progress` that reports nothing."""

    def begin(self, trials: int, expected_s: float) -> None:
        """Report nothing."""

    def replan(self, trials: int, expected_s: float) -> None:
        """Report nothing."""

    def launch(self, candidate: str, round: int) -> None:
        """Report nothing."""

    def trial(self, candidate: str, trial: PlannedTrial, outcome: Outcome, why: str) -> None:
        """Report nothing."""

    def money(self, text: str) -> None:
        """Report nothing."""

    def step(self, text: str) -> None:
        """Report nothing."""

    def note(self, text: str) -> None:
        """Report nothing."""

    def end(self) -> None:
        """Report nothing."""


class _Lasting:
    """A stream whose reader may go away; then writes are discarded, and the study continues."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write a string, or discard it."""
        with suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Flush what was written."""
        with suppress(OSError):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _named(trial: PlannedTrial) -> str:
    """Return the trial's probe; for a command of the study, also its name."""
    own = dict(trial.params).get(trial.probe, "")
    return f"{trial.probe} {own}" if own else trial.probe


def progress_on(stream: TextIO | None, *, quiet: bool = False) -> LiveProgress | Silence:
    """Return the progress on a stream, or silence without one; a broken stream is ignored.

    With `quiet` it prints only failed trials and notes.
    """
    if stream is None:
        return Silence()
    kind = WarningsOnly if quiet else LiveProgress
    return kind(Console(file=cast(TextIO, _Lasting(stream)), highlight=False))
