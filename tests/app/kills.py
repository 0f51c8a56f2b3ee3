"""Studies whose controller is killed again and again, run by the real command line in forked processes.

Forking spares each kill the second that imports take; nothing but the imports is shared.
"""

import contextlib
import json
import os
import random
import re
import signal
import sqlite3
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass
class Toll:
    """What killing came to."""

    kills: int = 0
    studies: int = 0
    lost: int = 0
    changed: int = 0


def _child(*arguments: str) -> int:
    """The command in a process of its own; the process id."""
    pid = os.fork()
    if pid:
        return pid
    os.setsid()
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    from cloudcmp.cli import entry

    sys.argv = ["cloudcmp", *arguments]
    code = 70
    try:
        entry.main()
    except SystemExit as done:
        code = int(done.code or 0)
    finally:
        os._exit(code)


def _ended(pid: int, within_s: float | None) -> int | None:
    """The exit code of a process, None after it was killed because it was not done in time."""
    end = None if within_s is None else time.monotonic() + within_s
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        if end is not None and time.monotonic() >= end:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return None
        time.sleep(0.001)


def _command(*arguments: str) -> None:
    code = _ended(_child(*arguments), None)
    if code != 0:
        raise RuntimeError(f"cloudcmp {' '.join(arguments)}: exit code {code}")


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
    began = time.monotonic()
    _command("run", str(study), "--out", str(whole))
    length_s = time.monotonic() - began
    _command("export", str(whole), "--out", str(work / "whole.csv"))
    wanted, wanted_report = (work / "whole.csv").read_bytes(), _report(whole)
    toll = Toll()
    while toll.kills < kills:
        folder = work / f"killed-{toll.studies}"
        known: dict[tuple[int, int], str | None] = {}
        code = None
        while code is None:
            started = (folder / "study.db").is_file()
            words = ("run", "--resume", str(folder)) if started else ("run", str(study), "--out", str(folder))
            limit = chance.uniform(0.0, length_s) if toll.kills < kills else None
            code = _ended(_child(*words), limit)
            toll.kills += code is None
            after = acknowledged(folder)
            toll.lost += sum(after.get(key) != digest for key, digest in known.items())
            known = after
        if code != 0:
            raise RuntimeError(f"{folder}: exit code {code} after {toll.kills} kills")
        _command("export", str(folder), "--out", str(work / "killed.csv"))
        toll.changed += (work / "killed.csv").read_bytes() != wanted or _report(folder) != wanted_report
        toll.studies += 1
    return toll


if __name__ == "__main__":
    sys.path.append(str(Path(__file__).parents[2]))
    from tests.guard_side import import_all

    import_all(["duckdb", "pyarrow.parquet", "rich.console", "rich.progress", "rich.table", "scipy.stats"])
    print(json.dumps(asdict(run(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])))))
    sys.stdout.flush()
    os._exit(0)  # what is frozen would be called leaked
