"""Shows the progress of a watch: a live line in a terminal, else a line for each change of the service."""

import threading
from collections import Counter
from collections.abc import Callable
from typing import Self

from rich.console import Console
from rich.live import Live

from cloudcmp.model.watch import WatchSample
from cloudcmp.report.table import safe, say
from cloudcmp.report.watch import moment
from cloudcmp.units import counted, format_quantity, format_seconds


class _LiveLine:
    """A line that is drawn anew in a terminal, and nothing elsewhere or if `quiet`."""

    def __init__(self, console: Console, *, quiet: bool) -> None:
        self._console = console
        drawn = console.is_terminal and not quiet
        self._live = Live(console=console, auto_refresh=False, transient=True) if drawn else None

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def _draw(self, text: str) -> None:
        if self._live is not None:
            self._live.update(safe(self._console, text), refresh=True)


class WatchProgress(_LiveLine):
    """The progress of watchers in several threads; `witness` receives a line for each signed head.

    A change of the service is printed at once, and notes always.
    """

    def __init__(self, console: Console, *, quiet: bool = False, witness: Callable[[str], None] | None = None) -> None:
        super().__init__(console, quiet=quiet)
        self._quiet, self._witness = quiet, witness
        self._lock = threading.Lock()
        self._was_ok: dict[str, bool] = {}
        self._good: Counter[bool] = Counter()

    def sampled(self, target: str, sample: WatchSample, lines: int) -> None:  # noqa: ARG002
        """Show a stored sample."""
        with self._lock:
            self._good[sample.ok] += 1
            if not self._quiet and sample.ok is not self._was_ok.get(target, True):
                self._say(f"{moment(sample.at)} {target}: " + ("good again" if sample.ok else sample.reason))
            self._was_ok[target] = sample.ok
            time = "" if sample.response_s is None else f" in {format_quantity(sample.response_s, 's')}"
            last = f"{moment(sample.at)} {'good' if sample.ok else sample.reason}{time}"
            self._draw(f"{counted(self._good.total(), 'sample')}, {self._good[False]} failed; {last}")

    def signed(self, target: str, lines: int, sha256: str) -> None:
        """Give a signed head to the witness."""
        if self._witness is not None:
            with self._lock:
                self._witness(f"head {lines} {sha256} {target}")

    def note(self, target: str, text: str) -> None:
        """Print a note."""
        with self._lock:
            self._say(f"{target}: {text}", "yellow")

    def listening(self, url: str) -> None:
        """Print where the metrics are."""
        if not self._quiet:
            with self._lock:
                self._say(f"metrics at {url}")

    def _say(self, text: str, style: str = "") -> None:
        say(self._console, text, style)


class CountDown(_LiveLine):
    """The connections that a passive watch has seen and the time that is left, as a live line in a terminal."""

    def __init__(self, console: Console, *, quiet: bool = False) -> None:
        super().__init__(console, quiet=quiet)

    def show(self, connections: int, left_s: float) -> None:
        """Show how many connections were seen, and how long it still takes."""
        self._draw(f"{counted(connections, 'connection')}, {format_seconds(max(0.0, left_s))} left")
