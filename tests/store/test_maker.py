"""Whose word a study's folder is: its maker's, a stranger's, or one that lost a part."""

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.forged import as_a_stranger_made_it, change, change_plan, database_of
from tests.store.conftest import TOTALS, attempt_of, create, run_trial, samples_of
from tests.store.worker import lease_row

from cloudcmp.errors import CorruptStore, StorageFault
from cloudcmp.model.lease import LeaseEvent
from cloudcmp.store import StudyStore
from cloudcmp.store.database import _TABLES_BEFORE
from cloudcmp.store.seals import MIGRATED_COLUMNS, SEALED_COLUMNS, MadeElsewhere, Seals, is_intact
from cloudcmp.store.user_key import KEY_BYTES, new_study_key, state_folder, study_key

VALUES = st.lists(st.none() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(), max_size=6)


@pytest.fixture
def study(full: StudyStore) -> Iterator[Path]:
    """A finished study with a lease, closed."""
    full.append_lease(lease_row("launch-0", 1, LeaseEvent.INTENT))
    full.begin_launch(0, 5.0, "launch-0")
    full.end_launch(0, 6.0, "done")
    full.close()
    return full.folder


@given(VALUES, VALUES)
def test_a_seal_fits_one_row_and_one_key(values: list[object], others: list[object]) -> None:
    own, other = Seals(b"a" * 32), Seals(b"b" * 32)
    seal = own.make("lease", *values)
    assert is_intact(seal, "lease", *values)
    assert own.signs(seal, "lease", *values)
    assert not other.signs(seal, "lease", *values)
    assert not own.signs(seal, "launch", *values)
    if repr(values) != repr(others):
        assert not is_intact(seal, "lease", *others)
        assert not own.signs(seal, "lease", *others)


def test_every_changed_byte_of_a_seal_is_damage_and_no_stranger() -> None:
    seal = Seals(b"a" * 32).make("meta", "key", "value")
    changed = [seal[:at] + ("0" if char != "0" else "1") + seal[at + 1 :] for at, char in enumerate(seal)]
    assert not any(is_intact(one, "meta", "key", "value") for one in changed)
    assert not is_intact(b"bytes", "meta", "key", "value")


def test_the_key_is_the_users_alone_and_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert study_key("study-1") is None
    key = new_study_key("study-1")
    assert len(key) == KEY_BYTES
    assert key == new_study_key("study-1") == study_key("study-1")
    assert key != study_key("study-2")
    path = state_folder() / "key"
    assert path == tmp_path / "state" / "cloudcmp" / "key"
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert list(path.parent.iterdir()) == [path]


def short(path: Path) -> None:
    path.write_bytes(b"short")


def open_to_all(path: Path) -> None:
    path.chmod(0o644)


def linked(path: Path) -> None:
    path.rename(path.with_name("other"))
    path.symlink_to("other")


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path, 0o600)


@pytest.mark.parametrize("spoil", [short, open_to_all, linked, pipe])
def test_a_key_that_cannot_be_trusted_is_told_and_not_used(
    spoil: object, study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    new_study_key("any")
    spoil(state_folder() / "key")  # type: ignore[operator]
    with pytest.raises(StorageFault, match=str(state_folder() / "key")) as caught:
        create(tmp_path / "another")
    assert len(str(caught.value).splitlines()) == 1
    assert not (tmp_path / "another").exists()
    with StudyStore.open(study, write=False) as store:  # who only reads needs no key
        assert len(store.attempts()) == 12


def test_a_study_made_here_is_written_on(study: Path) -> None:
    with StudyStore.open(study, write=True) as store:
        assert store.made_here()


def test_another_users_study_is_read_and_not_acted_on(
    study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with StudyStore.open(study, write=False) as store:
        before = store.measured(TOTALS).values.value.tolist()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "of another user"))
    for _ in range(2):
        with StudyStore.open(study, write=False) as store:
            assert not store.made_here()
            assert store.measured(TOTALS).values.value.tolist() == before
            store.verify()
        for ending in (False, True):
            with pytest.raises(MadeElsewhere, match="--adopt"):
                StudyStore.open(study, write=True, ending=ending)
        new_study_key("any")  # the other user has a key by now
    StudyStore.adopt(study)
    with StudyStore.open(study, write=True) as store:
        assert store.made_here()
        assert store.measured(TOTALS).values.value.tolist() == before


SOME = {
    "meta": {"value": "elsewhere"},
    "price": {"currency": "EUR"},
    "lease": {"cloud_id": "Documents"},
    "launch": {"outcome": "fine"},
    "attempt": {"why": "other"},
}


@pytest.mark.parametrize("table", SEALED_COLUMNS)
def test_one_row_of_a_stranger_makes_it_a_strangers(table: str, study: Path) -> None:
    row = "key = '.pseudonyms'" if table == "meta" else f"rowid = (SELECT max(rowid) FROM {table})"
    change(study, table, SOME[table], row)
    with pytest.raises(MadeElsewhere):
        StudyStore.open(study, write=True)


def test_a_plan_of_a_stranger_is_a_strangers(study: Path) -> None:
    change_plan(study, "which?", "run this?", Seals(new_study_key("another study")))
    with StudyStore.open(study, write=False) as store:
        assert store.plan.question == "run this?"
        assert not store.made_here()


def test_rows_of_another_study_of_the_same_user_are_not_this_ones(study: Path, tmp_path: Path) -> None:
    with database_of(study) as connection:
        connection.execute("UPDATE lease SET cloud_id = 'i-1'")
        (row,) = connection.execute(f"SELECT {SEALED_COLUMNS['lease']} FROM lease").fetchall()
        seal = Seals(new_study_key("another study")).make("lease", *row)
        connection.execute("UPDATE lease SET seal = ?", (seal,))
    with pytest.raises(MadeElsewhere):
        StudyStore.open(study, write=True)


def as_schema_1(folder: Path) -> None:
    """Write the seals of a study as the version before did."""
    import hashlib
    import json

    with database_of(folder) as connection:
        for table, columns in SEALED_COLUMNS.items():
            covered = columns.removesuffix(", notes").removesuffix(", reason").removesuffix(", file")
            if table in MIGRATED_COLUMNS:
                (old,) = (one for one in _TABLES_BEFORE.split(";") if f" {table} (" in one)
                connection.executescript(f"ALTER TABLE {table} RENAME TO later; {old}")
                kept = ", ".join(row[1] for row in connection.execute(f"PRAGMA table_info({table})"))
                connection.executescript(f"INSERT INTO {table} SELECT {kept} FROM later; DROP TABLE later")
            for rowid, *row in connection.execute(f"SELECT rowid, {covered} FROM {table}").fetchall():
                seal = hashlib.sha256(json.dumps([table, *row]).encode()).hexdigest()[:16]
                connection.execute(f"UPDATE {table} SET seal = ? WHERE rowid = ?", (seal, rowid))
        connection.execute("DELETE FROM meta WHERE key = '.plan'")
        connection.execute("PRAGMA user_version = 1")


def test_a_study_of_the_version_before_is_read_and_adopted(study: Path) -> None:
    with StudyStore.open(study, write=False) as store:
        before = store.measured(TOTALS).values.value.tolist()
    as_schema_1(study)
    with StudyStore.open(study, write=False) as store:
        assert store.measured(TOTALS).values.value.tolist() == before
        assert [row.slot for row in store.lease_rows()] == ["launch-0"]
    with pytest.raises(MadeElsewhere, match="signed nothing"):
        StudyStore.open(study, write=True)
    StudyStore.adopt(study)
    with StudyStore.open(study, write=True) as store:
        assert store.measured(TOTALS).values.value.tolist() == before
    with database_of(study) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (3,)


def test_adoption_does_not_sign_damage(study: Path) -> None:
    with database_of(study) as connection:
        connection.execute("UPDATE lease SET cloud_id = 'Documents'")
    StudyStore.adopt(study)
    with StudyStore.open(study, write=True, ending=True) as store:
        assert store.readable_leases() == ((), 1)


def the_samples(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (folder / "samples").iterdir()}


def test_p16_a_flipped_bit_in_the_name_of_a_file_removes_no_samples(study: Path) -> None:
    before = the_samples(study)
    with database_of(study) as connection:
        connection.execute("UPDATE attempt SET file = 'trial-000001-1.parquet' WHERE trial = 1")
    with StudyStore.open(study, write=True, ending=True):
        pass
    with pytest.raises(CorruptStore, match="the row of trial 1, attempt 0 was changed"):
        StudyStore.open(study, write=True)
    assert the_samples(study) == before


def test_p16_nothing_is_removed_while_a_file_is_missing(study: Path) -> None:
    (study / "samples" / "trial-000001-0.parquet").unlink()
    (study / "samples" / "trial-000002-0.parquet.0.part").write_bytes(b"half")
    before = the_samples(study)
    with pytest.raises(CorruptStore, match=r"trial-000001-0\.parquet"):
        StudyStore.open(study, write=True)
    assert the_samples(study) == before


def test_p16_a_linked_folder_of_samples_is_refused(study: Path, tmp_path: Path) -> None:
    with create(tmp_path / "other") as other:
        for trial in other.plan.trials:
            run_trial(other, trial)
    shutil.rmtree(study / "samples")
    (study / "samples").symlink_to(tmp_path / "other" / "samples")
    before = the_samples(tmp_path / "other")
    for write in (False, True):
        with pytest.raises(CorruptStore, match="is a link"):
            StudyStore.open(study, write=write)
    with StudyStore.open(study, write=True, ending=True):
        pass
    assert the_samples(tmp_path / "other") == before


@pytest.mark.parametrize("name", ["study.db", "study.db-wal", "study.db-shm", "study.db-journal"])
def test_a_link_or_a_journal_beside_the_database_is_refused(name: str, study: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    (study / name).unlink(missing_ok=True)
    (study / name).symlink_to(victim)
    for write in (False, True):
        with pytest.raises(CorruptStore, match="study does not hold"):
            StudyStore.open(study, write=write)
    assert victim.read_bytes() == b"precious"


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TRIGGER t AFTER INSERT ON lease BEGIN DELETE FROM attempt; END",
        "CREATE VIEW v AS SELECT 1",
        "CREATE TABLE more (x)",
        "ALTER TABLE lease ADD COLUMN more TEXT",
        "DROP TABLE price",
    ],
)
def test_other_tables_than_a_studys_are_refused(statement: str, study: Path) -> None:
    with database_of(study) as connection:
        connection.execute(statement)
    for write in (False, True):
        with pytest.raises(CorruptStore, match="has other tables"):
            StudyStore.open(study, write=write)


def test_p18_rows_that_are_lost_with_the_log_are_told(store: StudyStore, tmp_path: Path) -> None:
    for trial in store.plan.trials[:6]:
        run_trial(store, trial)
    shutil.copytree(store.folder, tmp_path / "whole")
    shutil.copytree(store.folder, tmp_path / "copy", ignore=shutil.ignore_patterns("study.db-*"))
    with StudyStore.open(tmp_path / "whole", write=False) as whole:
        assert len(whole.attempts()) == 6
    for write in (False, True):
        with pytest.raises(CorruptStore, match="lacks the rows of") as caught:
            StudyStore.open(tmp_path / "copy", write=write)
        assert "study.db-wal" in caught.value.faults[0].next
    assert len(the_samples(tmp_path / "copy")) == 6
    with StudyStore.open(tmp_path / "copy", write=True, ending=True):  # what is rented is ended all the same
        pass


def test_a_launch_that_has_ended_needs_no_log(store: StudyStore, tmp_path: Path) -> None:
    store.begin_launch(0, 5.0, "launch-0")
    for trial in store.plan.trials[:3]:
        run_trial(store, trial)
    store.end_launch(0, 6.0, "done")
    shutil.copytree(store.folder, tmp_path / "copy", ignore=shutil.ignore_patterns("study.db-*"))
    with StudyStore.open(tmp_path / "copy", write=True) as copy:
        assert [one.outcome for one in copy.launches()] == ["done"]
        assert len(copy.attempts()) == 3


def test_what_crashes_leave_is_no_loss_and_no_whole_file_goes(store: StudyStore) -> None:
    first, second = store.plan.trials[:2]
    store.begin_attempt(first.index, 0, 5.0)
    folder = store.folder / "samples"
    (folder / "trial-000000-0.parquet").write_bytes(b"durable, and not yet acknowledged")
    (folder / "trial-000001-0.parquet.1.part").write_bytes(b"half")
    (folder / "notes.txt").write_bytes(b"the user's own")
    store.interrupt_open(lambda _: 6.0)
    store.begin_attempt(second.index, 0, 7.0)
    store.finish_attempt(attempt_of(second), samples_of(second))
    shutil.copy(folder / "trial-000001-0.parquet", folder / "study-7.parquet")  # a compaction that was cut short
    store.close()
    with StudyStore.open(store.folder, write=False):
        pass
    kept = "trial-000000-0.parquet.unacknowledged"
    for moved in (("trial-000000-0.parquet",), ()):
        with StudyStore.open(store.folder, write=True) as opened:
            assert opened.moved_aside == moved
            assert sorted(the_samples(store.folder)) == ["notes.txt", kept, "trial-000001-0.parquet"]


def test_p18_the_samples_of_all_trials_are_no_leftover_of_a_database_that_lost_their_rows(full: StudyStore) -> None:
    full.compact()
    full.close()
    with database_of(full.folder) as connection:  # as an early copy of it
        connection.execute("DELETE FROM attempt")
    before = the_samples(full.folder)
    assert list(before) == ["study-0.parquet"]
    for write in (False, True):
        with pytest.raises(CorruptStore, match=r"lacks the rows of study-0\.parquet"):
            StudyStore.open(full.folder, write=write)
    (full.folder / "samples" / "study-0.parquet").write_bytes(b"damaged")
    with pytest.raises(CorruptStore, match="is named by no row and cannot be read"):
        StudyStore.open(full.folder, write=True)


def test_p18_what_was_made_one_is_whole_before_its_parts_go(full: StudyStore) -> None:
    parts = the_samples(full.folder)
    full.compact()
    full.close()
    for name, content in parts.items():  # as if the process had died before it removed them
        (full.folder / "samples" / name).write_bytes(content)
    whole = full.folder / "samples" / "study-0.parquet"
    content = whole.read_bytes()
    whole.write_bytes(content[:100] + bytes([content[100] ^ 1]) + content[101:])
    with pytest.raises(CorruptStore, match="were changed"):
        StudyStore.open(full.folder, write=True)
    assert parts.items() <= the_samples(full.folder).items()
    whole.write_bytes(content)
    StudyStore.open(full.folder, write=True).close()
    assert list(the_samples(full.folder)) == ["study-0.parquet"]


def test_a_forged_row_is_no_fault_of_our_own(study: Path) -> None:
    with closing(sqlite3.connect(study / "study.db", isolation_level=None)) as connection:
        connection.execute("UPDATE lease SET cloud_id = x'00ff', seal = x'00ff'")
    with StudyStore.open(study, write=False) as store:
        assert store.readable_leases() == ((), 1)
    as_a_stranger_made_it(study)


@pytest.mark.parametrize("forged", ['"runs:mode"', '"launch:median"', '"runs:median:"'])
def test_p41_a_plan_with_another_order_of_aggregation_is_told(forged: str, study: Path) -> None:
    with database_of(study) as connection:
        ((body,),) = connection.execute("SELECT body FROM plan").fetchall()
        connection.execute("UPDATE plan SET body = ?", (body.replace('"runs:median"', forged),))
    change_plan(study, "which?", "how?")
    with pytest.raises(CorruptStore, match="the plan makes no sense"):
        StudyStore.open(study, write=False)
