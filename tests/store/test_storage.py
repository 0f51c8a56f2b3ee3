"""A disk that is full, fails or lies: one line says so, nothing false is acknowledged, nothing damaged is read."""

import errno
import hashlib
import os
import random
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.forged import change
from tests.store.conftest import TOTALS, attempt_of, create, make_plan, run_trial, samples_of
from tests.store.worker import lease_row

from cloudcmp.errors import CloudcmpError, CorruptStore, StorageFault
from cloudcmp.model.lease import LeaseEvent
from cloudcmp.model.plan import Plan
from cloudcmp.store import StudyStore, attempts, files
from cloudcmp.store.faults import from_os

SAMPLES = 6000 if os.environ.get("CLOUDCMP_PROMISES") else 3
"""So many make a file of 64 KiB."""
ROOT = Path(__file__).parents[2]
FULL = "DiskFull the disk is full; free some space, then go on with --resume"


def test_p19_on_a_full_disk_only_the_clean_up_goes_on(tmp_path: Path) -> None:
    script = 'mount -t tmpfs -o size=5m none "$1" || exit 77; exec "$2" -m tests.store.full_disk "$1"'
    unshare = shutil.which("unshare")
    if unshare is None:
        pytest.skip("no unshare command to give the test a tiny disk of its own")
    command = [unshare, "-m" if os.geteuid() == 0 else "-rm", "sh", "-c", script, "sh", str(tmp_path), sys.executable]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if ended.returncode == 77 or "unshare failed" in ended.stderr:
        pytest.skip(f"a tiny disk cannot be mounted here: {ended.stderr.strip()}")
    assert ended.stdout.splitlines() == [
        f"finish {FULL}",
        f"begin {FULL}",
        f"intent {FULL}",
        "asked done",
        "gone done",
        "reserve False",
        f"create {FULL.replace('go on with --resume', 'run again')}",
        "second False",
        "done [0] [11.0]",
        "open done",
        "done [0, 1] [11.0, 21.0]",
        "reserve True ['gone']",
    ], ended.stderr


def failing_fsync(monkeypatch: pytest.MonkeyPatch, bad: Callable[[int, str], bool]) -> list[str]:
    """Make `fsync` fail where `bad` says so of its number and its file's name; the names that were synced."""
    synced: list[str] = []
    real = os.fsync

    def fsync(descriptor: int) -> None:
        name = Path(f"/proc/self/fd/{descriptor}").readlink().name
        synced.append(name)
        if bad(len(synced), name):
            raise OSError(errno.EIO, "Input/output error")
        real(descriptor)

    monkeypatch.setattr(files.os, "fsync", fsync)
    return synced


def test_p19_after_a_failed_fsync_the_file_is_written_again_elsewhere(
    store: StudyStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced = failing_fsync(monkeypatch, lambda number, _: number == 1)
    run_trial(store, store.plan.trials[0])
    assert synced == ["trial-000000-0.parquet.0.part", "trial-000000-0.parquet.1.part", "samples"]
    store.verify()
    assert store.done() == {0}


@pytest.mark.parametrize("where", ["part", "samples"])
def test_p19_what_the_disk_does_not_confirm_is_not_acknowledged(
    store: StudyStore, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    failing_fsync(monkeypatch, lambda _, name: name.endswith(where))
    with pytest.raises(StorageFault):
        run_trial(store, store.plan.trials[0])
    monkeypatch.undo()
    assert store.done() == frozenset()
    store.close()
    with StudyStore.open(store.folder, write=True) as again:
        assert [path.suffix for path in (again.folder / "samples").iterdir()] in ([], [".unacknowledged"])
        assert again.interrupt_open(lambda _: 9.0) == 1
        run_trial(again, again.plan.trials[0])
        assert again.measured(TOTALS).values.value.tolist() == [11.0]


def test_a_trial_takes_two_fsyncs_beside_the_journal(store: StudyStore, monkeypatch: pytest.MonkeyPatch) -> None:
    synced = failing_fsync(monkeypatch, lambda _, __: False)
    for trial in store.plan.trials[:4]:
        run_trial(store, trial)
    assert len(synced) == 8


def test_after_a_commit_that_was_not_confirmed_nothing_more_is_written(store: StudyStore) -> None:
    class Broken:
        """A connection on which every COMMIT fails as it does where the disk fails."""

        def __init__(self, real: sqlite3.Connection) -> None:
            self.real = real

        in_transaction = property(lambda self: self.real.in_transaction)

        def execute(self, statement: str, *values: object) -> sqlite3.Cursor:
            if statement == "COMMIT":
                error = sqlite3.OperationalError("disk I/O error")
                error.sqlite_errorcode = sqlite3.SQLITE_IOERR_FSYNC
                raise error
            return self.real.execute(statement, *values)

    real = store._database._connection
    store._database._connection = Broken(real)  # type: ignore[assignment]
    with pytest.raises(StorageFault, match=r"input or output failed \(disk I/O error\)"):
        store.begin_attempt(0, 0, 0.0)
    store._database._connection = real
    with pytest.raises(StorageFault, match="did not confirm"):
        store.begin_attempt(0, 0, 0.0)
    store.close()
    with StudyStore.open(store.folder, write=True) as again:
        again.begin_attempt(0, 0, 0.0)


@pytest.mark.parametrize(
    ("number", "what"),
    [
        (errno.ENOSPC, "the disk is full"),
        (errno.EDQUOT, "the disk is full"),
        (errno.EFBIG, "the limit on the size of files is reached"),
        (errno.EROFS, "the file system is read-only"),
        (errno.EACCES, "permission denied"),
        (errno.EIO, "input or output failed (Input/output error)"),
    ],
)
def test_each_error_of_the_system_is_one_line(number: int, what: str) -> None:
    line = str(from_os(OSError(number, os.strerror(number)), Path("study")))
    assert line.startswith(f"study: {what}; ")
    assert "\n" not in line


# Damage


@pytest.fixture
def one_trial(tmp_path: Path) -> StudyStore:
    """A closed study with one trial's samples."""
    with create(tmp_path / "study") as store:
        trial = store.plan.trials[0]
        chance = random.Random(18)
        found = [replace(sample, value=chance.random()) for sample in samples_of(trial, SAMPLES)]
        store.begin_attempt(0, 0, 0.0)
        store.finish_attempt(attempt_of(trial), found)
        return store


def detected(folder: Path) -> str:
    """What a reader says of a damaged study; the test fails where it says nothing."""
    with StudyStore.open(folder, write=False) as store, pytest.raises(CorruptStore) as caught:
        store.measured(TOTALS)
    return str(caught.value)


def test_p18_every_changed_byte_of_a_trial_is_found(one_trial: StudyStore) -> None:
    path = one_trial.folder / "samples" / "trial-000000-0.parquet"
    content = path.read_bytes()
    with StudyStore.open(one_trial.folder, write=False) as store:
        for at in range(len(content)):
            path.write_bytes(content[:at] + bytes([content[at] ^ (1 << at % 8)]) + content[at + 1 :])
            with pytest.raises(
                CorruptStore, match=r"trial-000000-0\.parquet: the samples of trial 0, attempt 0 were changed"
            ):
                store.verify()
        path.write_bytes(content)
        store.verify()


def test_p18_every_shorter_file_is_found(one_trial: StudyStore) -> None:
    path = one_trial.folder / "samples" / "trial-000000-0.parquet"
    content = path.read_bytes()
    with StudyStore.open(one_trial.folder, write=False) as store:
        for length in range(0, len(content), 5):
            path.write_bytes(content[:length])
            with pytest.raises(CorruptStore, match="trial 0, attempt 0"):
                store.verify()
    path.unlink()
    assert "the samples of trial 0, attempt 0 are missing; restore" in detected(one_trial.folder)


def test_p18_two_files_that_changed_places_are_found(full: StudyStore) -> None:
    one, other = (full.folder / "samples" / f"trial-00000{trial}-0.parquet" for trial in (0, 6))
    content = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(content)
    assert "trial 0, attempt 0" in detected(full.folder)
    with pytest.raises(CorruptStore) as caught:
        full.verify()
    assert [fault.what.split(" were")[0] for fault in caught.value.faults] == [
        "the samples of trial 0, attempt 0",
        "the samples of trial 6, attempt 0",
    ]


def test_p18_compaction_takes_in_no_damaged_file(full: StudyStore) -> None:
    path = full.folder / "samples" / "trial-000003-0.parquet"
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    before = sorted(path.name for path in path.parent.iterdir())
    with pytest.raises(CorruptStore, match="trial 3, attempt 0"):
        full.compact()
    assert sorted(path.name for path in path.parent.iterdir()) == before


def test_p18_a_changed_compacted_file_is_found(full: StudyStore) -> None:
    full.compact()
    path = full.folder / "samples" / "study-0.parquet"
    content = path.read_bytes()
    for at in random.Random(18).sample(range(len(content)), 300):
        path.write_bytes(content[:at] + bytes([content[at] ^ 0x10]) + content[at + 1 :])
        with pytest.raises(CorruptStore, match=r"study-0\.parquet: the samples of all trials were changed"):
            full.verify()


def what_it_says(folder: Path) -> tuple[object, ...]:
    """Everything that a study says."""
    with StudyStore.open(folder, write=False) as store:
        journal = (store.attempts(), store.lease_rows(), store.launches(), store.prices(), store.meta("note"))
        return store.plan, store.study_text, store.provenance, store.created_at, journal


def test_p18_a_changed_byte_of_the_database_is_found_or_changes_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "study"
    with create(folder, make_plan(rounds=1)) as store:
        store.append_lease(lease_row("slot", 0, LeaseEvent.INTENT))
        store.begin_launch(0, 0.0, "slot")
        run_trial(store, store.plan.trials[0])
        store.begin_attempt(1, 0, 0.0)
        store.end_launch(0, 1.0, "ok")
        store.set_meta("note", "text")
    before = what_it_says(folder)
    path = folder / "study.db"
    content = path.read_bytes()
    chance = random.Random(18)
    found = 0
    for _ in range(600):
        at = chance.randrange(len(content))
        path.write_bytes(content[:at] + bytes([content[at] ^ (1 << chance.randrange(8))]) + content[at + 1 :])
        for leftover in ("study.db-wal", "study.db-shm"):
            (folder / leftover).unlink(missing_ok=True)
        try:
            now = what_it_says(folder)
        except CloudcmpError:
            found += 1
        else:
            assert now == before
    assert found > 50


def test_p18_a_database_of_garbage_is_told_in_one_line(store: StudyStore) -> None:
    store.close()
    path = store.folder / "study.db"
    path.write_bytes(b"garbage " * 1000)
    with pytest.raises(CorruptStore) as caught:
        StudyStore.open(store.folder, write=True)
    assert str(caught.value) == f"{path}: is damaged (file is not a database); restore the study's folder from a copy"


def test_a_folder_of_samples_that_is_gone(one_trial: StudyStore) -> None:
    shutil.rmtree(one_trial.folder / "samples")
    assert "the samples of trial 0, attempt 0 are missing" in detected(one_trial.folder)
    with pytest.raises(CorruptStore, match="the folder of samples is missing"):
        StudyStore.open(one_trial.folder, write=True)


def strange_launch(plan: Plan) -> Plan:
    return replace(plan, launches=(replace(plan.launches[0], candidate=7), *plan.launches[1:]))


def strange_trial(plan: Plan) -> Plan:
    return replace(plan, trials=(replace(plan.trials[0], launch=99), *plan.trials[1:]))


def strange_twin(plan: Plan) -> Plan:
    return replace(plan, trials=(plan.trials[0], *plan.trials))


@pytest.mark.parametrize("spoil", [strange_launch, strange_trial, strange_twin])
def test_p41_a_plan_from_a_stranger_that_leads_nowhere(spoil: Callable[[Plan], Plan], tmp_path: Path) -> None:
    with pytest.raises(CorruptStore, match="does not have"):
        create(tmp_path / "study", spoil(make_plan()))


def test_p41_samples_from_a_stranger_that_are_no_samples(one_trial: StudyStore) -> None:
    path = one_trial.folder / "samples" / "trial-000000-0.parquet"
    for content in (b"", b"PAR1", b"PAR1" * 100, path.read_bytes()[:-20] + b"x" * 12 + path.read_bytes()[-8:]):
        path.write_bytes(content)
        with StudyStore.open(one_trial.folder, write=True) as store:
            (attempt,) = store.attempts()
            sealed = replace(attempt, sha256=hashlib.sha256(content).hexdigest())
            with store._database.transaction() as connection:
                connection.execute("UPDATE attempt SET outcome = NULL")
                attempts._update(connection, store._database.seals, sealed, path.name)
            store.verify()
        assert "cannot be read" in detected(one_trial.folder)


def test_the_file_of_another_attempt_is_no_help(store: StudyStore) -> None:
    trial = store.plan.trials[0]
    run_trial(store, trial)
    change(store.folder, "attempt", {"file": "../../../etc/passwd"})
    assert "the row of trial 0, attempt 0 names no file of samples" in detected(store.folder)


@pytest.mark.parametrize(
    ("table", "values", "what"),
    [
        (
            "attempt",
            {"outcome": "fine"},
            "the row of trial 0, attempt 0 makes no sense ('fine' is not a valid Outcome)",
        ),
        ("attempt", {"ended_at": "soon"}, "the row of trial 0, attempt 0 makes no sense (a number is needed, not str"),
        (
            "lease",
            {"event": "MADE"},
            "a row of the ledger, of slot slot, makes no sense ('MADE' is not a valid LeaseEvent)",
        ),
        ("lease", {"price_per_hour": "free"}, "a row of the ledger, of slot slot, makes no sense ("),
        ("price", {"amount_per_hour": "free"}, "the price of all makes no sense ("),
        ("price", {"as_of": "today"}, "the price of all makes no sense (Invalid isoformat string: 'today')"),
    ],
)
def test_p41_rows_from_a_stranger_that_make_no_sense(
    table: str, values: dict[str, str], what: str, one_trial: StudyStore
) -> None:
    with StudyStore.open(one_trial.folder, write=True) as store:
        store.append_lease(lease_row("slot", 0, LeaseEvent.INTENT))
    change(one_trial.folder, table, values)
    with StudyStore.open(one_trial.folder, write=False) as store, pytest.raises(CorruptStore) as caught:
        print(store.attempts(), store.lease_rows(), store.prices())
    assert caught.value.faults[0].what.startswith(what)
