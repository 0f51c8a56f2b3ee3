"""A small study, its samples, and stores of it."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from tests.evidence import written

from cloudcmp.model.offering import Offering, Price
from cloudcmp.model.plan import Candidate, Launch, Plan, PlannedTrial, Quote
from cloudcmp.model.trial import Attempt, Outcome, Sample
from cloudcmp.store import StudyStore
from cloudcmp.units import Money

FMA = "fma_flop_per_s precision=f64;threads=one"
CHASE = "chase_latency_s pages=base;size_bytes=16384"
RTT = "rtt_s path=loopback;percentile=99;protocol=tcp;size_bytes=64"
RTT_PARAMS = "path=loopback;protocol=tcp;size_bytes=64"
QUICK = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
TOTALS = frozenset({"fma_flop_per_s"})


def make_plan(rounds: int = 2, runs: int = 1) -> Plan:
    """Two candidates x rounds launches x three probes x runs."""
    names = (("local", "here", "one"), ("local", "here", "all"))
    price = Price(Decimal("0.10"), "USD", "study")
    candidates = tuple(
        Candidate(i, name, Offering(provider, region, name, vcpus=i + 1, price=price if i else None), provider)
        for i, (provider, region, name) in enumerate(names)
    )
    launches = tuple(Launch(i, i % 2, i // 2, None, i * 60.0, i) for i in range(2 * rounds))
    cells = {"fma": (FMA,), "chase": (CHASE,), "rtt": (RTT, RTT.replace("99", "50"))}
    trials = tuple(
        PlannedTrial(index, launch, probe, (("threads", "one"),), cells[probe], run, index * 2.0, 1.5, 20.0, index)
        for index, (launch, probe, run) in enumerate(
            (launch.index, probe, run) for launch in launches for probe in cells for run in range(runs)
        )
    )
    quote = Quote(len(trials), 60.0, Money(Decimal("0.01"), "USD"), None, ((FMA, 0.03),), 0.05)
    return Plan("small", "which?", candidates, launches, trials, (), (), rounds, runs, 7, 1_700_000_000.0, quote)


def samples_of(trial: PlannedTrial, n: int = 3) -> list[Sample]:
    """What a trial's probe would say: rates at 1, 2, 3 s, latencies, or one histogram."""
    if trial.probe == "rtt":
        return [Sample(0, "rtt_s", RTT_PARAMS, 1.0, None, f"HIST{trial.index}")]
    metric, _, params = trial.cells[0].partition(" ")
    return [Sample(i, metric, params, i + 1.0, 10.0 * (trial.index + 1) + i, None) for i in range(n)]


def attempt_of(trial: PlannedTrial, number: int = 0, outcome: Outcome = Outcome.OK) -> Attempt:
    """An attempt that lasted as long as planned."""
    start = 1_700_000_000.0 + trial.start_s
    return Attempt(
        trial.index, number, outcome, start, start + trial.expected_s, "" if outcome is Outcome.OK else "why"
    )


def run_trial(store: StudyStore, trial: PlannedTrial, outcome: Outcome = Outcome.OK) -> Attempt:
    """Begin and finish the next attempt at a trial."""
    number = store.next_attempt(trial.index)
    attempt = attempt_of(trial, number, outcome)
    store.begin_attempt(trial.index, number, attempt.started_at)
    return store.finish_attempt(attempt, samples_of(trial) if outcome is Outcome.OK else [])


def create(folder: Path, plan: Plan | None = None) -> StudyStore:
    """A new store of the small study."""
    return StudyStore.create(
        folder, plan or make_plan(), study_text="question: which?\n", provenance={"cloudcmp": "0.1.0"}, created_at=5.0
    )


_NOBODY = """
import os, sys, duckdb, numpy, pyarrow.parquet
from pathlib import Path
from cloudcmp.errors import CloudcmpError
from cloudcmp.store import StudyStore
os.umask(0o022)
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
try:
    with StudyStore.open(Path(sys.argv[1]), write=sys.argv[2] == "write") as store:
        print(len(store.measured(frozenset()).values.value), "values")
except CloudcmpError as error:
    print(type(error).__name__ + ":", error)
"""


def as_nobody(folder: Path, mode: str) -> str:
    """What a process says that opens a copy of the folder, which it may read and not write, to `read` or `write`."""
    with TemporaryDirectory(dir=QUICK) as open_to_all:
        copy = Path(open_to_all) / "study"
        shutil.copytree(folder, copy)
        for path in (copy.parent, copy, *copy.rglob("*")):
            path.chmod(0o555 if path.is_dir() else 0o444)
        command = [sys.executable, "-c", _NOBODY, str(copy), mode]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
        for path in (copy.parent, copy, *copy.rglob("*")):
            path.chmod(0o700)
        return said.replace(str(copy), "STUDY")


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """A folder in memory where there is one: these tests sync thousands of files, and a kill is no loss of power."""
    with TemporaryDirectory(dir=QUICK) as folder:
        yield Path(folder)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[StudyStore]:
    """A store in which nothing was run yet."""
    with create(tmp_path / "study") as made:
        yield made


@pytest.fixture
def full(store: StudyStore) -> StudyStore:
    """A store in which every trial was run, one of them badly."""
    for trial in store.plan.trials:
        run_trial(store, trial, Outcome.TIMEOUT if trial.index == 4 else Outcome.OK)
    return store


@pytest.fixture(scope="module")
def evidence(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of whole evidence of a watch."""
    return written(tmp_path_factory.mktemp("evidence") / "watch")


@pytest.fixture
def copy(evidence: Path, tmp_path: Path) -> Path:
    """Such a folder for a test to change."""
    shutil.copytree(evidence, tmp_path / "watch")
    return tmp_path / "watch"
