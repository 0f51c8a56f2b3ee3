"""The promises at full length: `make promises` prints a line for each with its n, failures, seed and time.

Each row is one that `make test` runs a slice of. The exit code is 1 when a promise was broken.
"""

import itertools
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.pipeline.planted import false_finds, missed
from tests.pipeline.test_kills import killed

SEED = 20260105
LONG = bool(os.environ.get("LONG"))


@dataclass(frozen=True)
class Row:
    """A promise kept or broken: so many failures in n, of which `allowed` are no breach."""

    numbers: str
    statement: str
    n: int
    failures: int
    allowed: int = 0


@contextmanager
def _folder() -> Iterator[Path]:
    """A folder that is gone afterwards; in memory where there is such a place, for these rows test no disk."""
    place = "/dev/shm" if Path("/dev/shm").is_dir() else None
    folder = Path(tempfile.mkdtemp(prefix="cloudcmp-", dir=place))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _missed(seed: int) -> bool:
    with _folder() as folder:
        return bool(missed(seed, folder / "demo"))


def _false(seed: int) -> bool:
    with _folder() as folder:
        return bool(false_finds(seed, folder / "tied"))


def _seeds(check: Callable[[int], bool], n: int) -> int:
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        return sum(pool.map(check, range(1, n + 1)))


def kills() -> Row:
    """Controllers killed at random moments."""
    n = 3000 if LONG else 200
    with tempfile.TemporaryDirectory() as folder:
        toll = killed(Path(folder), n, SEED)
    return Row("P16 P20", "no acknowledged trial is lost, and the export is the same", toll["kills"],
               toll["lost"] + toll["changed"])  # fmt: skip


def winners() -> Row:
    """Planted winners, over seeds of the demo."""
    n = 1000 if LONG else 100
    return Row("-", "the demo names every planted winner", n, _seeds(_missed, n))


def ties() -> Row:
    """Fully tied clouds, over seeds."""
    n = 1000 if LONG else 100
    return Row("P31", "tied clouds show no better one, but in a tenth of studies", n, _seeds(_false, n), n // 10)


def slices() -> Row:
    """All tests that carry a promise's number."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-k", "test_p", "--deselect", "tests/pipeline"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    sys.stdout.write(done.stdout)
    words = done.stdout.splitlines()[-1].replace(",", "").split()
    counts = {word: int(number) for number, word in itertools.pairwise(words) if number.isdigit()}
    failed = counts.get("failed", 0) + counts.get("error", 0) + counts.get("errors", 0)
    return Row("all", "tests that carry a promise's number", counts.get("passed", 0) + failed, failed)


def main() -> int:
    """Run every row and print it."""
    broken = 0
    for check in (slices, kills, winners, ties):
        began = time.monotonic()
        row = check()
        kept = row.n > 0 and row.failures <= row.allowed
        broken += not kept
        word = "kept" if kept else "BROKEN"
        sys.stdout.write(
            f"{row.numbers:8} {word:6} {row.failures}/{row.n} failed  seed {SEED}  {time.monotonic() - began:.0f} s  "
            f"{row.statement}\n"
        )
        sys.stdout.flush()
    return int(broken > 0)


if __name__ == "__main__":
    sys.exit(main())
