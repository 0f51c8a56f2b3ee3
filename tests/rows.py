"""What a row of `make promises` is, and how it is played: folders in memory, processes that begin anew."""

import json
import multiprocessing
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

SEED = 20260105
LONG = bool(os.environ.get("LONG"))
_RECORD = Path(__file__).with_name("promises_ran.json")


@dataclass(frozen=True)
class Row:
    """A promise kept or broken: so many failures in n, of which `allowed` are no breach.

    `left_out` says why nothing was tried; without it a row of nothing is a broken one.
    """

    numbers: str
    statement: str
    n: int
    failures: int
    allowed: int = 0
    left_out: str = ""

    @property
    def word(self) -> str:
        """How it stands."""
        if self.left_out and not self.n:
            return "left out"
        return "kept" if self.n and self.failures <= self.allowed else "BROKEN"


@contextmanager
def folder() -> Iterator[Path]:
    """A folder that is gone afterwards; in memory where there is such a place, for these rows test no disk."""
    memory = "/dev/shm" if Path("/dev/shm").is_dir() else None
    place = Path(tempfile.mkdtemp(prefix="cloudcmp-", dir=memory))
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def pool(workers: int) -> ProcessPoolExecutor:
    """Processes that begin anew: a copy of this one would have what earlier rows left in it, such as their clouds."""
    return ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"))


def show(lines: Iterable[str]) -> None:
    """Print what was wrong, or left out, beneath a row to come."""
    for line in lines:
        sys.stdout.write(f"  {line}\n")
    sys.stdout.flush()


def record() -> dict[str, str]:
    """When each row last ran, and how it ended."""
    found: dict[str, str] = json.loads(_RECORD.read_text(encoding="utf-8")) if _RECORD.exists() else {}
    return found


def remember(name: str, row: Row, took_s: float) -> None:
    """Write down that a row ran, in the file that is kept with the source."""
    day = datetime.now(UTC).date()
    all_ = record() | {name: f"{day}: {row.word}, {row.failures}/{row.n} failed, {took_s:.0f} s"}
    _RECORD.write_text(json.dumps(all_, indent=1, sort_keys=True) + "\n", encoding="utf-8")
