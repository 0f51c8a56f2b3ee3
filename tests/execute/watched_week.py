"""A week of watching on a virtual clock, in which the watcher dies and power fails as a seed says."""

import os
import random
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import pytest
from tests.evidence import START, opened

from cloudcmp.app.evidence import evidence_in
from cloudcmp.execute.watch.watcher import Watcher
from cloudcmp.model.watch import WatchAnswer, WatchSample, WatchTerms
from cloudcmp.store import files
from cloudcmp.store.watch import log as log_module
from cloudcmp.store.watch.read import FILE

EVERY_S = 7200.0
STEP_S = 5.0


class Death(BaseException):
    """The end of the watching process at a crash point."""


@dataclass
class VirtualClock:
    """A wall clock that can be set, and a steady one that begins anew with each boot."""

    wall: float = START
    steady: float = 5000.0
    boot: str = "boot 0"

    def now(self) -> tuple[float, float]:
        """Both clocks."""
        return self.wall, self.steady

    def sleep_until(self, steady_s: float) -> None:
        """Pass time."""
        self.pass_s(max(0.0, steady_s - self.steady))

    def pass_s(self, seconds: float) -> None:
        """Both clocks go on."""
        self.wall += seconds
        self.steady += seconds


@dataclass
class Service:
    """A service that is down in some times of the wall clock, and the prober that asks it."""

    clock: VirtualClock
    down: tuple[tuple[float, float], ...] = ()
    slow_s: float = 0.02

    def probe(self) -> WatchAnswer | None:
        """One answer, which takes time."""
        down = any(start <= self.clock.wall - START < end for start, end in self.down)
        self.clock.pass_s(self.slow_s)
        return WatchAnswer(False, None, "refused") if down else WatchAnswer(True, self.slow_s, "", 200, 10)

    def interrupt(self) -> None:
        """Nothing to interrupt."""


@dataclass
class Acknowledged:
    """What the watcher told that it stored."""

    samples: list[WatchSample] = field(default_factory=list)
    heads: list[tuple[int, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def sampled(self, sample: WatchSample, lines: int) -> None:
        """A sample is stored."""
        self.samples.append(sample)

    def signed(self, lines: int, sha256: str) -> None:
        """A head is signed."""
        self.heads.append((lines, sha256))

    def note(self, text: str) -> None:
        """A note."""
        self.notes.append(text)


class Disk:
    """Knows what was synced of each file, and loses the rest in a power failure."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._synced: dict[int, int] = {}
        real = os.fsync

        def fsync(descriptor: int) -> None:
            real(descriptor)
            found = os.fstat(descriptor)
            self._synced[found.st_ino] = found.st_size

        monkeypatch.setattr(os, "fsync", fsync)

    def fail(self, path: Path, draw: random.Random) -> None:
        """Lose a random part of what was not synced."""
        if path.exists():
            found = path.stat()
            synced = self._synced.get(found.st_ino, 0)
            if found.st_size > synced:
                os.truncate(path, draw.randint(synced, found.st_size))


def die_at(monkeypatch: pytest.MonkeyPatch, wanted: Callable[[str], bool]) -> None:
    """Have the process die at the crash points that a function picks."""

    def crash_point(name: str) -> None:
        if wanted(name):
            raise Death(name)

    monkeypatch.setattr(log_module, "crash_point", crash_point)
    monkeypatch.setattr(files, "crash_point", crash_point)


def watch_once(
    folder: Path, clock: VirtualClock, service: Service, told: Acknowledged, for_s: float, terms: WatchTerms
) -> str:
    """One process that watches: how it ended, or `died`."""
    log = None
    with suppress(Death):
        log = opened(folder, clock.wall, terms)
        try:
            return Watcher(log, terms.every_s, for_s, service, clock, told).run()
        finally:
            log.close()
    return "died"


def week(
    folder: Path, seed: int, monkeypatch: pytest.MonkeyPatch, *, every_s: float = EVERY_S, kill: float = 0.04,
    for_s: float = 7 * 86400.0,
) -> tuple[Acknowledged, dict[str, int]]:  # fmt: skip
    """Watch for a week with random deaths, power failures, reboots and steps of the clock; returns what was told."""
    draw, disk, told = random.Random(seed), Disk(monkeypatch), Acknowledged()
    clock = VirtualClock()
    service = Service(clock, down=((40_000.0, 47_000.0), (300_000.0, 300_500.0)))
    terms = WatchTerms("http://service.test/", every_s, min(10.0, every_s))
    die_at(monkeypatch, lambda _: draw.random() < kill)
    count = {"deaths": 0, "steps": 0}
    while watch_once(folder, clock, service, told, for_s, terms) != "finished":
        count["deaths"] += 1
        if draw.random() < 0.5:
            disk.fail(folder / FILE, draw)
        clock.pass_s(draw.choice((0.1, 30.0, 4000.0)))
        if draw.random() < 0.2:
            clock.boot, clock.steady = f"boot {count['deaths']}", 20.0
        elif draw.random() < 0.1:
            clock.wall += STEP_S
            count["steps"] += (folder / FILE).exists()
    return told, count


def lost_in_week(
    folder: Path, seed: int, monkeypatch: pytest.MonkeyPatch, *, every_s: float = EVERY_S, kill: float = 0.04
) -> list[str]:
    """What a week of watching lost of what it had acknowledged, and what its evidence does not say; none if well."""
    told, count = week(folder, seed, monkeypatch, every_s=every_s, kill=kill)
    found = evidence_in(folder)
    kept = [(round(one.at, 6), one.ok) for one in found.watched.samples]
    wrong = [f"lost: {one}" for one in sorted({(round(one.at, 6), one.ok) for one in told.samples} - set(kept))]
    if not len(kept) == len(set(kept)) <= len(told.samples) + count["deaths"]:
        wrong.append(f"{len(kept)} samples are kept, and {len(told.samples)} were told")
    # Steps before the same line are one, and one before a reboot is not seen if nothing was written between.
    steps = [one.step_s / STEP_S for one in found.steps if one.step_s is not None]
    if any(abs(one - round(one)) > 1e-3 for one in steps) or not count["steps"] / 2 <= sum(map(round, steps)):
        wrong.append(f"steps of the clock are known as {steps}, and there were {count['steps']}")
    if sum(map(round, steps)) > count["steps"]:
        wrong.append(f"{sum(map(round, steps))} steps of the clock are known, and there were {count['steps']}")
    gaps = {round(one.start, 6) for one in found.gaps}
    holes = [one for one, after in pairwise(kept) if after[0] - one[0] > 1.6 * every_s]
    wrong += [f"no gap is known after {at}" for at, _ in holes if at not in gaps]
    starts = sorted((gap.start, gap.end) for gap in found.gaps)
    wrong += [f"a sample within a gap: {at}" for at, _ in kept if any(low < at < high for low, high in starts)]
    return wrong
