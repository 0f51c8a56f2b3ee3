"""Studies whose controller is killed again and again, run by the real command line in forked processes (warm.py)."""

import contextlib
import os
import random
import re
import signal
import sqlite3
import time
from dataclasses import dataclass
from pathlib import Path

from tests.app.warm import SHORT, Job, warmth


@dataclass
class Toll:
    """What killing came to."""

    kills: int = 0
    studies: int = 0
    lost: int = 0
    changed: int = 0


def acknowledged(folder: Path) -> dict[tuple[int, int], str | None]:
    """The attempts that ended by themselves, with their samples' digests, read without the product's code."""
    if not (folder / "study.db").is_file():
        return {}
    with contextlib.closing(sqlite3.connect(folder / "study.db")) as database:
        try:
            found = database.execute(
                "SELECT trial, attempt, sha256 FROM attempt WHERE outcome IS NOT NULL AND NOT interrupted"
            ).fetchall()
        except sqlite3.OperationalError as error:
            if "no such table" in str(error):  # killed while the folder was being laid out
                return {}
            raise
    return {(trial, attempt): digest for trial, attempt, digest in found}


def _report(folder: Path) -> str:
    """The report that the run wrote, without the one block that may tell of interruptions."""
    page = (folder / "report.html").read_text(encoding="utf-8")
    return re.sub(r'<footer id="interruptions">.*?</footer>', "", page, flags=re.DOTALL)


def run(study: Path, work: Path, kills: int, seed: int) -> Toll:
    """Kill controllers of one study after another until `kills` have died; hold each study against an unkilled one."""
    chance = random.Random(seed)
    whole = work / "whole"
    _command(work, "--version")  # what forks has imported everything now
    began = time.monotonic()
    _command(work, "run", study, "--out", whole)
    length_s = time.monotonic() - began
    _command(work, "export", whole, "--out", work / "whole.csv")
    wanted, wanted_report = (work / "whole.csv").read_bytes(), _report(whole)
    toll = Toll()
    while toll.kills < kills:
        folder = work / f"killed-{toll.studies}"
        known: dict[tuple[int, int], str | None] = {}
        code = -signal.SIGKILL
        while code == -signal.SIGKILL:
            started = (folder / "study.db").is_file()
            job = _begin(work, *(("run", "--resume", folder) if started else ("run", study, "--out", folder)))
            if toll.kills < kills:
                time.sleep(chance.uniform(0.0, length_s))
                job.kill()
            code = job.wait()
            toll.kills += code == -signal.SIGKILL
            after = acknowledged(folder)
            toll.lost += sum(after.get(key) != digest for key, digest in known.items())
            known = after
        if code != 0:
            raise RuntimeError(f"{folder}: exit code {code} after {toll.kills} kills: {job.said()}")
        _command(work, "export", folder, "--out", work / "killed.csv")
        toll.changed += (work / "killed.csv").read_bytes() != wanted or _report(folder) != wanted_report
        toll.studies += 1
    return toll


def _begin(work: Path, *words: str | Path) -> Job:
    return warmth().start(words, os.environ, work, SHORT, out=work / "said")


def _command(work: Path, *words: str | Path) -> None:
    job = _begin(work, *words)
    if (code := job.wait()) != 0:
        raise RuntimeError(f"cloudcmp {' '.join(map(str, words))}: exit code {code}: {job.said()}")
