"""Whatever moment a study is killed at, what was acknowledged is there, and the study goes on to the same table."""

import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from tests.crash_points import CRASH_POINTS, MIGRATION_CRASH_POINTS, REPLAN_CRASH_POINTS
from tests.store.conftest import QUICK, RTT

from cloudcmp.catalog import METRICS
from cloudcmp.errors import UserMistake
from cloudcmp.store import StudyStore
from cloudcmp.store.tidy_export import export_table
from cloudcmp.store.tidy_write import csv_parts

ROOT = Path(__file__).parents[2]
KILLS = 500 if os.environ.get("CLOUDCMP_PROMISES") else 20


class Worker:
    """The process of worker.py."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.store.worker"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, folder: Path, **order: Any) -> str:
        """Run or go on with the study in a folder; how that ended."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        acks = folder.with_name(folder.name + ".acks")
        stdin.write(json.dumps({"folder": str(folder), "acks": str(acks), **order}) + "\n")
        stdin.flush()
        return stdout.readline().strip()

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    made = Worker()
    yield made
    made.close()


def table(folder: Path) -> str:
    """The study's export, every digest checked."""
    with StudyStore.open(folder, write=False) as store:
        store.verify()
        percentiles = {(launch.index, RTT): 1e-4 for launch in store.plan.launches}
        return "".join(csv_parts(export_table(store, METRICS, percentiles)))


@pytest.fixture(scope="module")
def whole(worker: Worker) -> str:
    """The table of a study that nothing interrupted."""
    with TemporaryDirectory(dir=QUICK) as folder:
        assert worker.run(Path(folder) / "study") == "done"
        return table(Path(folder) / "study")


def check_acknowledged(folder: Path) -> None:
    """What was acknowledged is there once: each trial with its digest, each row of the ledger."""
    acks = folder.with_name(folder.name + ".acks")
    told = [json.loads(line) for line in (acks.read_text() if acks.exists() else "").splitlines()]
    try:
        store = StudyStore.open(folder, write=False)
    except UserMistake:
        assert not told
        return
    with store:
        store.verify()
        attempts = {(attempt.trial, attempt.attempt): attempt for attempt in store.attempts()}
        rows = [(row.slot, row.attempt, row.event.value) for row in store.lease_rows()]
        for kind, *what in told:
            if kind == "trial":
                assert attempts[what[0], what[1]].sha256 == what[2]
                assert not attempts[what[0], what[1]].interrupted
            else:
                assert rows.count(tuple(what)) == 1
        by_themselves = [attempt.trial for attempt in attempts.values() if not attempt.interrupted]
        assert len(by_themselves) == len(set(by_themselves))


@pytest.mark.parametrize("point", CRASH_POINTS)
def test_p16_a_crash_at_any_point_loses_nothing(point: str, worker: Worker, whole: str, tmp_path: Path) -> None:
    crashes = 0
    for nth in (3, 1):
        folder = tmp_path / f"study-{nth}"
        if point.startswith("interrupt."):
            assert worker.run(folder, crash_at=f"begin.after_commit:{nth}") == "killed"
        ended = worker.run(folder, crash_at=f"{point}:{1 if point.startswith('interrupt.') else nth}")
        assert ended in ("killed", "done")
        if ended == "done":
            continue
        crashes += 1
        check_acknowledged(folder)
        assert worker.run(folder) == "done"
        check_acknowledged(folder)
        assert table(folder) == whole
        kept = [path for path in (folder / "samples").iterdir() if path.suffix != ".unacknowledged"]
        assert [path.name.split("-")[0] for path in kept] == ["study"]
    assert crashes >= 1


def test_every_point_is_in_the_code_and_in_the_list() -> None:
    source = "".join(path.read_text() for path in (ROOT / "src/cloudcmp/store").glob("*.py"))
    used = {line.split('crash_point("')[1].split('"')[0] for line in source.splitlines() if 'crash_point("' in line}
    elsewhere = {*MIGRATION_CRASH_POINTS, *REPLAN_CRASH_POINTS}  # test_migration.py, tests/cli/test_more.py
    assert used - {"name"} == {*CRASH_POINTS, *elsewhere}
    assert len(set(CRASH_POINTS)) == len(CRASH_POINTS)


def test_p16_kills_at_random_moments_lose_nothing(worker: Worker, tmp_path: Path) -> None:
    assert worker.run(tmp_path / "whole", rounds=10) == "done"
    whole = table(tmp_path / "whole")
    chance = random.Random(16)
    kills = studies = 0
    while kills < KILLS:
        folder = tmp_path / f"study-{studies}"
        longest_s = 0.01
        while worker.run(folder, rounds=10, kill_after_s=chance.uniform(0.0, longest_s)) == "killed":
            kills += 1
            longest_s *= 1.2  # so that the study gets done on a machine of any speed
            check_acknowledged(folder)
        check_acknowledged(folder)
        assert table(folder) == whole
        studies += 1
        assert studies <= KILLS


@pytest.mark.parametrize("limit", [1_000, 4_000, 20_000, 40_000, 60_000])
def test_p19_a_limit_on_files_is_told_in_one_line_and_nothing_is_lost(
    limit: int, worker: Worker, whole: str, tmp_path: Path
) -> None:
    folder = tmp_path / "study"
    assert worker.run(folder, crash_at="create.renamed:1") == "killed"
    ended = worker.run(folder, file_limit=limit)
    assert ended.startswith(f"fault: StorageFault: {folder}/")
    check_acknowledged(folder)
    assert worker.run(folder) == "done"
    assert table(folder) == whole


def test_p19_a_study_that_cannot_be_made_leaves_nothing(worker: Worker, tmp_path: Path) -> None:
    ended = worker.run(tmp_path / "study", file_limit=1_000_000)
    assert ended.startswith(
        f"fault: StorageFault: {tmp_path}/study: the limit on the size of files is reached; raise it"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["study.acks"]
