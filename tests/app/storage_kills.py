"""Studies of storage services killed at random moments, then cleaned up, or swept from an empty home."""

import os
import random
import signal
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

from cloudcmp.agent import locate
from cloudcmp.owned_folder import OwnedPath
from cloudcmp.provider.local import LocalProvider
from tests.app.warm import Job, warmth
from tests.cli.command import forked
from tests.servers.held import HeldService
from tests.servers.services import Standing

_OTHERS = (
    "AWS_",
    "AZURE_",
    "CLOUDCMP_",
    "CLOUDSDK_",
    "GOOGLE_",
    "HTTP",
    "OS_",
    "BIGTABLE_",
    "FIRESTORE_",
    "PUBSUB_",
    "STORAGE_",
    "XDG_",
)
PROBES = {
    "blob": "{probe: blob, params: {op: download, size_bytes: 1 KiB, objects: 2, duration_s: 0.1}}",
    "table": "{probe: table, params: {op: get, entries: 100, duration_s: 0.1}}",
    "queue": "{probe: queue, params: {op: send, duration_s: 0.1}}",
}
TOGETHER = 3
"""How many services a killed study measures, one after another."""


@dataclass
class Count:
    """Killed studies of one service: how many, and after how many deaths, and cleanups, it held a data set."""

    killed: int = 0
    held: int = 0
    left: int = 0


@dataclass
class Toll:
    """What killed studies left in each service, and what is wrong in words."""

    of: dict[str, Count]
    deaths: int = 0
    wrong: list[str] = field(default_factory=list)

    def lines(self, verb: str) -> Iterator[str]:
        """A line for each service."""
        for store, one in self.of.items():
            yield f"{store}: {one.killed} killed, of which {one.held} left a data set, {one.left} after {verb}"


def study(services: Iterable[HeldService], seed: int) -> str:
    """A study of one short launch of each service, seen from this machine."""
    some = list(services)
    here = LocalProvider(OwnedPath(Path())).offerings()[0].name
    seen = f"from: {{provider: local, offering: {here}, price: 0.01 USD/h}}"
    candidates = "\n".join(f"  - {{{one.candidate}, prices: {{{one.prices}}}, {seen}}}" for one in some)
    probes = "\n".join(f"  - {PROBES[kind]}" for kind in dict.fromkeys(one.kind for one in some))
    return (
        f"schema: 1\nquestion: What does a killed study leave?\ncandidates:\n{candidates}\nprobes:\n{probes}\n"
        f"launches: 1\nruns: 1\nbudget: 5 USD\nseed: {seed}\n"
    )


class Killer:
    """Runs studies of services that stand, in a folder, and kills them."""

    def __init__(self, work: Path, there: Standing, seed: int) -> None:
        self._work, self._there, self._chance = work, there, random.Random(seed)
        self._home = work / "home"
        self._home.mkdir(parents=True)
        kept = {name: text for name, text in os.environ.items() if not name.startswith(_OTHERS)}
        self._environ = {**kept, **there.environ, "COLUMNS": "80", "CLOUDCMP_AGENT": str(locate())}
        self._order = self._chance.sample(there.services, len(there.services))
        self._lead_s = 0.0
        self._leased_s: dict[str, float] = {}
        self._number = 0
        self._told: set[tuple[str, str]] = set()

    def whole(self) -> list[str]:
        """Runs a study of every service to its end, and takes the times of its leases; returns what is wrong."""
        self._command(self._home, "--version")  # what forks has imported everything now
        folder, began = self._work / "whole", time.monotonic()
        job = self._started(folder, self._there.services)
        _until_leased(folder, job)
        self._lead_s = time.monotonic() - began
        code = job.wait()
        self._leased_s = {store: last - first for store, (first, last) in _leases(folder).items()}
        wrong = [f"the study that nobody killed: {store} kept {name}" for store, name in sorted(self._left())]
        if code or "all ok" not in job.said():
            wrong.append(f"the study that nobody killed: exit code {code}: {job.said()[-600:]}")
        return wrong

    def kills(self, n: int, *, sweeps: bool) -> Toll:
        """Kills so many studies at random moments, each mended by `cleanup`, or by `sweep` from an empty home.

        Each measures a few of the services and is killed in the launch of one of them: each has its turn. A study that
        ended before its moment came does not count.
        """
        toll, together = Toll({one.store: Count() for one in self._there.services}), min(TOGETHER, len(self._order))
        for _ in range(2 * n + 2):
            if toll.deaths == n:
                break
            some = [self._order[(toll.deaths + k) % len(self._order)] for k in range(together)]
            self._kill(some, toll, sweeps=sweeps)
        return toll

    def _kill(self, some: Sequence[HeldService], toll: Toll, *, sweeps: bool) -> None:
        """Kills one study of some services in the launch of the first, ends what it left, and notes what is wrong then.

        One in ten is killed before it leases anything.
        """
        self._number += 1
        folder = self._work / f"killed-{self._number}"
        early, share = self._chance.random() < 0.1, self._chance.random()
        job = self._started(folder, some)
        if early:
            time.sleep(share * self._lead_s)
        else:
            _until_leased(folder, job, some[0].store)
            time.sleep(share * self._leased_s[some[0].store])
        job.kill()
        died = job.wait() == -signal.SIGKILL
        toll.deaths += died
        held = {one.store for one in some if one.left()}
        ended = self._swept(folder) if sweeps else self._cleaned(folder)
        left = self._left()
        wrong = [*ended, *(f"{store}: {name} is left" for store, name in sorted(left))]
        for one in some:
            count = toll.of[one.store]
            count.killed += died
            count.held += died and one.store in held
            count.left += any(store == one.store for store, _ in left)
            wrong += [f"{one.store}: {name} was touched" for name in one.touched()]
        toll.wrong += [f"study {self._number}: {line}" for line in wrong]

    def _started(self, folder: Path, some: Iterable[HeldService]) -> Job:
        file = folder.with_suffix(".yaml")
        file.write_text(study(some, self._chance.randrange(1000)))
        environ = {**self._environ, "HOME": str(self._home)}
        words = ("run", file, "--out", folder)
        return warmth().start(words, environ, self._work, out=folder.with_suffix(".said"))

    def _command(self, home: Path, *words: str | Path, **more: str) -> list[str]:
        """What is wrong with how a command ended."""
        done = forked([*map(str, words)], {**self._environ, "HOME": str(home), **more}, self._work, 240.0)
        return [f"exit code {done.code}: {done.out[-300:]}{done.err[-600:]}"] if done.code else []

    def _cleaned(self, folder: Path) -> list[str]:
        return self._command(self._home, "cleanup", folder) if (folder / "study.db").is_file() else []

    def _swept(self, folder: Path) -> list[str]:
        """Sweeps every service, each group that a command can sweep at once, from a home that has nothing."""
        if not (folder / "study.db").is_file():
            return []

        def apart(one: HeldService) -> Mapping[str, str]:
            return one.sweep_environ

        home, wrong = folder.with_suffix(".empty"), []
        home.mkdir()
        for environ, group in groupby(sorted(self._order, key=lambda one: sorted(apart(one).items())), key=apart):
            stores = [one.store for one in group]
            wrong += self._command(home, "sweep", *stores, "--delete", "--study", study_tag(folder), **environ)
        return wrong

    def _left(self) -> set[tuple[str, str]]:
        """The data sets that are still there, with their providers; each is told once."""
        left = {(one.store, name) for one in self._there.services for name in one.left()} - self._told
        self._told |= left
        return left


def _until_leased(folder: Path, job: Job, store: str = "", within_s: float = 120.0) -> None:
    """Waits until a study has written down a lease of a provider, or any, or has ended."""
    until = time.monotonic() + within_s
    while job.code() is None and not any(store in {"", provider} for provider in _leases(folder)):
        if time.monotonic() > until:
            raise TimeoutError(f"no lease after {within_s:g} s: {job.said()}")
        time.sleep(0.02)


def _leases(folder: Path) -> dict[str, tuple[float, float]]:
    """When the ledger tells of the data sets of each provider first, and last (Unix s)."""
    if not (folder / "study.db").is_file():
        return {}
    with closing(sqlite3.connect(f"file:{folder}/study.db?mode=ro", uri=True)) as database:
        try:
            rows = database.execute(
                "SELECT provider, min(at), max(at) FROM lease WHERE kind = 'data-set' GROUP BY provider"
            ).fetchall()
            return {store: (float(first), float(last)) for store, first, last in rows}
        except sqlite3.OperationalError:  # being laid out
            return {}


def study_tag(folder: Path) -> str:
    """The study's tag in the ledger's own file; one that never came so far has no resource."""
    with closing(sqlite3.connect(folder / "study.db")) as database:
        rows = dict(database.execute("SELECT key, value FROM meta").fetchall())
    return str(next((value for key, value in rows.items() if key.endswith("tag")), "none"))
