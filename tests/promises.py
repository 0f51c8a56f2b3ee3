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
from typing import TYPE_CHECKING, Any

from tests.pipeline.planted import false_finds, missed
from tests.pipeline.test_kills import killed

if TYPE_CHECKING:
    from tests.pipeline.cloud_walk import Toll

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


def _seeded(played: Callable[[int, int], list[Any]], n: int, workers: int = os.cpu_count() or 1) -> list[Any]:
    """What was broken in n cases, played by so many processes."""
    shares = [n // workers + (k < n % workers) for k in range(workers)]
    with ProcessPoolExecutor(workers) as pool:
        parts = pool.map(played, shares, [SEED + k for k in range(workers)])
        return [one for part in parts for one in part]


def _environ(name: str, value: str) -> None:
    os.environ[name] = value


def simulated_histories() -> Row:
    """Lost answers, stale lists, false "gone", crashes, suspends, prices and times to live at random."""
    from tests.provision.history import histories

    n = 100_000 if LONG else 10_000
    broken = _seeded(histories, n)
    return Row("P2 P3 P4 P12", "no lease is untracked or forgotten, no budget is passed", n, len(broken))


def _lost(n: int, seed: int) -> list[Any]:
    from tests.provider.test_aws_lost import lost_answers

    return lost_answers(n, seed, _environ)


def answers_lost() -> Row:
    """Lost answers through Amazon's own client; each history mostly waits."""
    n = 300
    return Row("P2", "a lost answer doubles nothing and leaves nothing (emulated EC2)", n, len(_seeded(_lost, n, 8)))


WALKS = (("run", "cleanup"), ("run", "resume"), ("resume", "cleanup"), ("cleanup", "cleanup"))
"""What dies, and what mends it."""


def _walked(verb: str, mend: str) -> "Toll":
    from tests.pipeline.cloud_walk import walk

    with _folder() as folder:
        return walk(folder, verb=verb, mend=mend)


def crash_walk() -> Row:
    """Every passing of every named crash point of a study on two clouds, while it runs, goes on and cleans up."""
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        tolls = list(pool.map(_walked, *zip(*WALKS, strict=True)))
    for line in (line for toll in tolls for line in toll.wrong):
        sys.stdout.write(f"  {line}\n")
    return Row("P1 P16", "dead at every crash point of two clouds: 0 left, 0 foreign touched",
               sum(toll.deaths for toll in tolls), sum(len(toll.wrong) for toll in tolls))  # fmt: skip


def _killed(n: int, seed: int) -> "Toll":
    from tests.pipeline.cloud_walk import kills

    with _folder() as folder:
        return kills(folder, n, seed)


def cloud_kills() -> Row:
    """Controllers of a study on two clouds, killed at random moments."""
    n = 3000 if LONG else 500
    workers = os.cpu_count() or 1
    with ProcessPoolExecutor(workers) as pool:
        shares = [n // workers + (k < n % workers) for k in range(workers)]
        tolls = list(pool.map(_killed, shares, [SEED + k for k in range(workers)]))
    wrong = [line for toll in tolls for line in toll.wrong]
    for line in wrong:
        sys.stdout.write(f"  {line}\n")
    return Row("P1 P16", "killed at random on two clouds: 0 left, 0 foreign touched",
               sum(toll.deaths for toll in tolls), len(wrong))  # fmt: skip


def guest_kills() -> Row:
    """The same with guests of this host."""
    from tests.emulated.guests import missing
    from tests.pipeline.cloud_walk import GUEST, OWNED, kills

    if lacking := missing():
        return Row("P1", f"left out: {lacking}", 0, 0)
    with _folder() as folder:
        toll = kills(folder, 10, SEED, (GUEST, OWNED))
    return Row("P1", "killed at random on guests: 0 left", toll.deaths, len(toll.wrong))


def stopped() -> Row:
    """One, two and three signals at every phase of a study on two clouds."""
    from tests.pipeline.test_stopping import signals

    n = 400 if LONG else 120
    with _folder() as folder:
        toll = signals(folder, n, SEED)
    for line in toll.wrong:
        sys.stdout.write(f"  {line}\n")
    return Row("P8", "signals leave nothing that is not said", n, len(toll.wrong))


def makers_killed() -> Row:
    """Whoever starts guests is killed while it does."""
    from tests.emulated.guests import killed_makers, missing

    if lacking := missing():
        return Row("P1", f"left out: {lacking}", 0, 0)
    n = 60
    with tempfile.TemporaryDirectory() as folder:
        return Row("P1", "a guest whose maker was killed is found and ended", n,
                   len(killed_makers(n, Path(folder), SEED)))  # fmt: skip


def guests_die() -> Row:
    """Guests whose client never comes back."""
    from tests.emulated.guests import missing, powers_off

    if lacking := missing():
        return Row("P5", f"left out: {lacking}", 0, 0)
    n = 50
    with tempfile.TemporaryDirectory() as folder:
        return Row("P5", "a guest powers itself off by its time to live and a minute", n,
                   len(powers_off(n, Path(folder))))  # fmt: skip


def swept() -> Row:
    """Sweeps among look-alikes."""
    from tests.pipeline.test_sweep import misjudged

    return Row("P6", "1,000 look-alikes survive, 200 of 200 studies are found", 1200, misjudged(200, 1000, SEED))


def swept_on_ec2() -> Row:
    """The same among 1,000 look-alikes in an emulated EC2."""
    from tests.emulated.ec2 import ec2
    from tests.provider.test_aws_lists import leftovers_amid

    n = 1000
    with ec2() as cloud:
        for name, value in cloud.environ.items():
            _environ(name, value)
        return Row("P6", "1,000 look-alikes survive in an emulated EC2", n, len(leftovers_amid(cloud, n)))


def unreadable() -> Row:
    """Tags that fail, are empty or cut short."""
    from tests.pipeline.test_sweep import wrongly_deleted

    n = 10_000
    return Row("P7", "nothing is destroyed on missing or unreadable tags", n, wrongly_deleted(n, SEED))


def wrong_hosts() -> Row:
    """Machines that show another host key."""
    from tests.agent.wrong_hosts import wrong_keys

    toll = wrong_keys(200, SEED)
    failed = toll.n - toll.refused + (toll.logins > 0) + (toll.input_bytes > 0)
    return Row("P23", "wrong host keys are refused before anything is sent", toll.n, failed)


def silent_lines() -> Row:
    """Lines that go silent, slow or mad at any byte."""
    from tests.agent.black_holes import black_holes

    toll = black_holes(500, SEED)
    failed = len(toll.odd) + (toll.late_s > 5) + (toll.grown_bytes > 64 * 2**20)
    return Row("P24", f"no call outlives its deadline by 5 s (the latest: {toll.late_s:.1f} s)", toll.n, failed)


def silent_clouds() -> Row:
    """Calls of the SDK into a black hole."""
    from tests.provider.test_aws_faults import late

    n = 500
    return Row("P24", "no call to a provider outlives its deadline", n, len(late(n, _environ)))


def hostile_bytes() -> Row:
    """Hostile bytes at each surface of the agent, and strangers at its door."""
    cases = 1_000_000 if LONG else 100_000
    done = subprocess.run(
        ["cargo", "test", "--release", "--quiet", "--locked", "--test", "strangers", "--test", "lease"],
        cwd="agent", env={**os.environ, "CLOUDCMP_CASES": str(cases)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    sys.stdout.write("" if done.returncode == 0 else done.stdout[-4000:])
    return Row("P25-28 P30", "hostile bytes and strangers get nothing from the agent", cases, int(done.returncode != 0))


ROWS = (
    slices, kills, winners, ties, simulated_histories, answers_lost, crash_walk, cloud_kills, guest_kills, stopped,
    makers_killed, guests_die, swept, swept_on_ec2,
    unreadable, wrong_hosts, silent_lines, silent_clouds, hostile_bytes,
)  # fmt: skip


def main() -> int:
    """Run every row and print it; with names of rows, only these."""
    broken = 0
    wanted = sys.argv[1:]
    for check in ROWS:
        if wanted and check.__name__ not in wanted:
            continue
        began = time.monotonic()
        row = check()
        kept = row.failures <= row.allowed
        broken += not kept
        word = "left out" if row.n == 0 else "kept" if kept else "BROKEN"
        sys.stdout.write(
            f"{row.numbers:12} {word:8} {row.failures}/{row.n} failed  seed {SEED}  {time.monotonic() - began:.0f} s  "
            f"{row.statement}\n"
        )
        sys.stdout.flush()
    return int(broken > 0)


if __name__ == "__main__":
    sys.exit(main())
