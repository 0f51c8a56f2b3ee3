"""The command at a terminal of its own."""

import os
import pty
import select
import signal
import time
from collections.abc import Mapping
from pathlib import Path

from tests.app.warm import warmth


class Terminal:
    """The command at a terminal of its own: what it shows, and what is typed."""

    def __init__(self, folder: Path, environ: Mapping[str, str], *words: str, term: str = "dumb") -> None:
        ours, theirs = pty.openpty()
        self._ours, self.shown, self._at = ours, "", 0
        self.job = warmth().start(words, {**environ, "TERM": term}, folder, terminal=os.ttyname(theirs))
        os.close(theirs)

    def until(self, text: str, within_s: float = 60.0) -> None:
        """Wait until a text is shown that was not waited for before."""
        end = time.monotonic() + within_s
        while (found := self.shown.find(text, self._at)) < 0:
            assert time.monotonic() < end, f"{text!r} was not shown: {self.shown}"
            self._read(1.0)
        self._at = found + len(text)

    def types(self, line: str) -> None:
        """Type a line."""
        os.write(self._ours, line.encode() + b"\n")

    def ends(self) -> None:
        """Say that there are no more answers, as Ctrl-D does."""
        os.write(self._ours, b"\x04")

    def interrupts(self) -> None:
        """Interrupt the command, as Ctrl-C does, once it waits for an answer.

        Between its question and the system call that waits, an interpreter hears a signal only with the next one.
        """
        asleep, end = 0, time.monotonic() + 5.0
        while asleep < 5 and time.monotonic() < end:
            state = Path(f"/proc/{self.job.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
            asleep = asleep + 1 if state == "S" else 0
            time.sleep(0.01)
        os.kill(self.job.pid, signal.SIGINT)

    def ended(self) -> int:
        """The exit code, once all is shown."""
        while self._read(60.0):
            pass
        os.close(self._ours)
        return self.job.wait(60.0)

    def _read(self, within_s: float) -> bool:
        ready, _, _ = select.select([self._ours], [], [], within_s)
        try:
            part = os.read(self._ours, 65536) if ready else b""
        except OSError:  # the other end was closed
            return False
        self.shown += part.decode(errors="replace").replace("\r\n", "\n")
        return bool(part)
