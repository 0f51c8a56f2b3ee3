"""Studies of four machines in network namespaces, killed at random moments."""

import os
import random
import shutil
import signal
import sqlite3
import time
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from cloudcmp.agent import locate
from cloudcmp.provider.netns import network
from tests.app.storage_kills import study_tag
from tests.app.warm import warmth

STUDY = """\
schema: 1
question: What does a killed study of four machines leave?
candidates:
  - {provider: netns, region: link-1gbit, offering: 1cpu}
  - {provider: netns, region: local, offering: 1cpu-htb-100mbit}
launches: 1
runs: 1
seed: 1
probes:
  - {probe: barrier, params: {path: zone, peers: 4, rounds: 20}}
  - {probe: exchange, params: {path: zone, peers: 4, size_bytes: 100000, rounds: 5}}
  - {probe: tcp, params: {path: zone, duration_s: 0.1}}
  - {probe: udp, params: {path: zone, duration_s: 0.2, rate_bytes_per_s: 1 MB/s}}
"""
REGIONS = ("link-1gbit", "local")
WAYS = ("cleanup", "resume", "sweep")


@dataclass
class Toll:
    """What killing came to: kills by the way in which what was left was ended, and what was wrong."""

    kills: int = 0
    held: int = 0
    wrong: list[str] = field(default_factory=list)


def names_of(folder: Path) -> set[str]:
    """The names of all namespaces that a study may have made: those of its ledger's machines, and their switches.

    Other studies may run on this host meanwhile; what is theirs is not looked at.
    """
    if not (folder / "study.db").is_file():
        return set()
    with closing(sqlite3.connect(folder / "study.db")) as database:
        try:
            tokens = {token for (token,) in database.execute("SELECT token FROM lease WHERE kind = 'instance'")}
        except sqlite3.OperationalError:  # killed while its tables were made
            return set()
    switches = {network.switch_of(study_tag(folder), region) for region in REGIONS}
    return {network.namespace_of(token) for token in tokens} | switches


def existing(names: set[str]) -> set[str]:
    """Those of some namespaces that exist."""
    return {name for name in names if (Path("/run/netns") / name).exists()}


def _processes(of: set[str]) -> list[str]:
    """The processes that work in a study's folders."""
    found = []
    for process in Path("/proc").iterdir():
        try:
            if process.name.isdigit() and any(str((process / "cwd").readlink()).startswith(one) for one in of):
                found.append((process / "comm").read_text().strip())
        except OSError:
            continue
    return found


class Killer:
    """Runs the study in a folder again and again, and kills it."""

    def __init__(self, work: Path, seed: int) -> None:
        self._work, self._chance = work, random.Random(seed)
        self._made: set[str] = set()
        self._environ = {**os.environ, "CLOUDCMP_AGENT": str(locate()), "COLUMNS": "80"}
        (work / "study.yaml").write_text(STUDY)

    def whole(self) -> tuple[int, str, float]:
        """The exit code, the words and the length (s) of a study that nobody kills."""
        self._command("--version")  # what forks has imported everything now
        shutil.rmtree(self._work / "whole", ignore_errors=True)
        began = time.monotonic()
        code, said = self._command("run", "study.yaml", "--out", "whole", "--yes")
        return code, said, time.monotonic() - began

    def kills(self, n: int, length_s: float) -> Toll:
        """Kills so many, each at a moment of its own, and ends what each left in one of the three ways."""
        toll = Toll()
        for number in range(3 * n):
            if toll.kills == n:
                break
            self._kill(number, WAYS[toll.kills % 3], self._chance.uniform(0.1, length_s), toll)
        code, said, _ = self.whole()
        left = existing(self._made | names_of(self._work / "whole"))
        if code or left:
            toll.wrong.append(f"after the last study ({code}): {sorted(left)} is left: {said[-300:]}")
        return toll

    def _kill(self, number: int, way: str, after_s: float, toll: Toll) -> None:
        folder = self._work / f"killed-{number}"
        words = ["run", "study.yaml", "--out", folder.name, "--yes"]
        job = warmth().start(words, self._environ, self._work)
        time.sleep(after_s)
        job.kill()
        if job.wait() != -signal.SIGKILL:
            shutil.rmtree(folder, ignore_errors=True)
            return
        toll.kills += 1
        made = names_of(folder)
        toll.held += bool(existing(made))
        code, said = self._end(folder, way)
        made |= names_of(folder)  # a study that went on has made others
        self._made |= made
        if code:
            toll.wrong.append(f"{number}: {way} ended with {code}: {said[-300:]}")
        left = existing(made)
        if way == "sweep":  # what its maker did not finish has no tags yet: it goes at the next start
            left = {name for name in left if (found := network.read(name)) and found.tags}
        if left:
            toll.wrong.append(f"{number}: {way} left {sorted(left)}")
        if some := _processes({str(folder)}):
            toll.wrong.append(f"{number}: {way} left the processes {some}")

    def _end(self, folder: Path, way: str) -> tuple[int, str]:
        """Ends what a killed study left; one without a ledger has nothing."""
        if not (folder / "study.db").is_file():
            return 0, ""
        if way == "cleanup":
            return self._command("cleanup", folder.name)
        if way == "resume":
            return self._command("run", "--resume", folder.name, "--yes")
        tag = study_tag(folder)
        shutil.rmtree(folder)  # its agents died with their controller
        return self._command("sweep", "netns", "--delete", "--study", tag)

    def _command(self, *words: str) -> tuple[int, str]:
        code, out, err = warmth().run(words, self._environ, self._work, 300.0)
        return code, out + err
