"""A real watcher as a process of its own, killed at random moments, and what its metrics said that it had stored."""

import random
import re
import signal
import subprocess
import sys
import time
import urllib.request
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from cloudcmp.app.evidence import evidence_in

START = "from cloudcmp.cli.entry import main; main()"
_WITHIN_S = 60.0


class WatcherProcess:
    """`cloudcmp watch` in a process of its own, which serves metrics."""

    def __init__(self, url: str, folder: Path, *words: str) -> None:
        command = [sys.executable, "-c", START, "watch", url, "--out", str(folder), "--listen", "127.0.0.1:0", *words]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self.process.stderr is not None
        line = self.process.stderr.readline()
        found = re.search(r"metrics at (\S+)", line)
        assert found is not None, line + self.process.stderr.read()
        self._metrics = found[1]

    def stored(self) -> int:
        """How many samples the metrics say are stored."""
        with urllib.request.urlopen(self._metrics, timeout=10) as answer:
            text = answer.read().decode()
        return sum(map(int, re.findall(r"cloudcmp_watch_requests_total\{.*\} (\d+)", text)))

    def wait_for(self, samples: int) -> int:
        """Wait until so many samples are stored; returns how many are."""
        until = time.monotonic() + _WITHIN_S
        while (stored := self.stored()) < samples and time.monotonic() < until:
            time.sleep(0.02)
        return stored

    def end(self, number: int) -> tuple[int, str, str]:
        """Send a signal, and return the exit code and what was printed."""
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=_WITHIN_S)
        return self.process.returncode, out, err


@dataclass(frozen=True)
class Toll:
    """Watchers that were killed, samples that they had told to be stored, and those that are not."""

    kills: int
    told: int
    lost: int


def killed(url: str, folder: Path, kills: int, seed: int) -> Toll:
    """Kill a watcher (SIGKILL) at random moments; the same command goes on each time."""
    draw, told = random.Random(seed), 0
    for _ in range(kills):
        watcher = WatcherProcess(url, folder, "--every", "20ms", "--for", "1h")
        stored = watcher.wait_for(1)
        until = time.monotonic() + draw.uniform(0.0, 0.5)
        with suppress(OSError):
            while time.monotonic() < until:
                stored = watcher.stored()
        watcher.end(signal.SIGKILL)
        told += stored
    found = evidence_in(folder)
    assert found.starts == kills
    return Toll(kills, told, max(0, told - len(found.watched.samples)))
