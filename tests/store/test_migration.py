"""Studies that an earlier version of cloudcmp wrote: read, gone on with and cleaned up with the same bill.

`schema_2.tar.gz` holds a simulated study that was killed while its second launch was measured, by the last version
that wrote schema 2, with the key that signed it. To its ledger the rows of five machines were added that show every
note as that version wrote it: text in the detail. That version counted 9.3697 USD for them.
"""

import os
import sqlite3
import tarfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from tests.cli.command import cloudcmp
from tests.crash_points import MIGRATION_CRASH_POINTS
from tests.forged import change, database_of, own_seals
from tests.store.conftest import as_nobody

from cloudcmp.errors import CorruptStore
from cloudcmp.model.lease import LeaseEvent, LeaseNote, LeaseState
from cloudcmp.model.offering import Billing
from cloudcmp.model.trial import Attempt, Outcome
from cloudcmp.provision import accrued_cost, charges
from cloudcmp.store import MadeElsewhere, StudyStore
from cloudcmp.store.seals import MIGRATED_COLUMNS, SEALED_COLUMNS
from cloudcmp.units import Money

TERMS = {"aws": Billing(60, 60, ends=True)}
LATE, BILL = 1767580000.0, Money(Decimal("9.3697"), "USD")
NOTES = {
    "launch-0.2": {LeaseNote.ENDS_BY_ITSELF},
    "launch-0.3": {LeaseNote.ENDS_BY_ITSELF, LeaseNote.BY_THE_HOUR, LeaseNote.STARTED_AGAIN},
    "launch-0.4": {LeaseNote.ENDS_BY_ITSELF, LeaseNote.STILL_THERE},
    "launch-0.5": {LeaseNote.BY_THE_HOUR},
}


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of the earlier version, with the key of the user who made it."""
    with tarfile.open(Path(__file__).parent / "schema_2.tar.gz") as packed:
        packed.extractall(tmp_path, filter="data")
    state = tmp_path / "state" / "cloudcmp"
    state.mkdir(parents=True)
    (tmp_path / "study" / "key").rename(state / "key")
    (state / "key").chmod(0o600)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "study"


def schema_of(study: Path) -> int:
    with database_of(study) as connection:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])


def check_ledger(store: StudyStore) -> None:
    """Every note is found, and the bill is that of the version that wrote it."""
    found: dict[str, set[LeaseNote]] = {}
    for row in store.lease_rows():
        if row.notes:
            found.setdefault(row.slot, set()).update(row.notes)
    assert found == NOTES
    rows = [row for row in store.lease_rows() if row.provider == "aws"]
    assert accrued_cost(charges(rows, LATE), TERMS, "USD") == BILL


def test_it_is_read_without_a_change(study: Path) -> None:
    before = (study / "study.db").read_bytes()
    with StudyStore.open(study, write=False) as store:
        assert store.version == 2
        assert store.made_here()
        check_ledger(store)
        assert [one.launch for one in store.launches() if one.ended_at is None] == [1]
        assert len(store.attempts()) == 7
        assert {one.reason for one in (*store.launches(), *store.attempts())} == {None}
        store.verify()
        assert store.consistent(lambda: len(store.attempts())) == 7
    assert (study / "study.db").read_bytes() == before


def test_it_is_read_where_nothing_can_be_written(study: Path) -> None:
    assert as_nobody(study, "read").endswith(" values")


def test_it_is_migrated_when_it_is_opened_to_be_written(study: Path) -> None:
    with StudyStore.open(study, write=True) as store:
        assert store.version == 3
        check_ledger(store)
        first = next(row for row in store.lease_rows() if row.slot == "launch-1")
        added = replace(first, event=LeaseEvent.DELETE_ASKED, notes=frozenset({LeaseNote.STILL_THERE}))
        store.append_lease(added)
        store.end_launch(1, LATE, "failed", "the words may change", reason="SOME_REASON")
        ((trial, number, begun_at),) = store.open_attempts()
        done = Attempt(trial, number, Outcome.FAILED, begun_at, LATE, "any words", reason="ANOTHER")
        store.finish_attempt(done, ())
    assert schema_of(study) == 3
    for write in (False, True):
        with StudyStore.open(study, write=write) as store:
            assert store.made_here()
            assert store.lease_rows()[-1] == added
            assert store.launches()[-1].reason == "SOME_REASON"
            assert [one.reason for one in store.attempts()] == [None] * 7 + ["ANOTHER"]


@pytest.mark.parametrize("point", MIGRATION_CRASH_POINTS)
def test_a_migration_that_is_killed_is_done_or_not_begun(point: str, study: Path) -> None:
    pid = os.fork()
    if not pid:
        os.environ["CLOUDCMP_CRASH_AT"] = f"{point}:1"
        StudyStore.open(study, write=True)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -9
    assert schema_of(study) == (2 if point == "migrate.before_commit" else 3)
    with StudyStore.open(study, write=True) as store:
        check_ledger(store)


def test_it_goes_on_to_the_end_that_it_would_have_had(study: Path, tmp_path: Path) -> None:
    """Value by value what an uninterrupted study says."""
    with StudyStore.open(study, write=False) as store:
        StudyStore.create(tmp_path / "same", store.plan, study_text=store.study_text, provenance=store.provenance,
                          created_at=store.created_at).close()  # fmt: skip
    assert cloudcmp("run", "--resume", str(study)).code == 0
    assert cloudcmp("run", "--resume", str(tmp_path / "same")).code == 0
    tables = []
    for folder in (study, tmp_path / "same"):
        with StudyStore.open(folder, write=False) as store:
            tables.append(store.measured(frozenset({"fma_flop_per_s"})).values)
            assert not [one for one in store.leases() if one.state is not LeaseState.GONE]
    first, second = tables
    assert first.cells == second.cells
    for column in ("launch", "cell", "ok", "value"):
        assert getattr(first, column).tolist() == getattr(second, column).tolist()
    assert schema_of(study) == 3


def test_it_is_cleaned_up_with_the_same_bill(study: Path) -> None:
    said = cloudcmp("cleanup", str(study))
    assert said.out == "1 destroyed, 0 left\n"
    with StudyStore.open(study, write=False, ending=True) as store:
        assert not [one for one in store.leases() if one.state is not LeaseState.GONE]
        check_ledger(store)


@pytest.mark.parametrize(("table", "value"), [("lease", "ENDS_BY_ITSELF"), ("launch", "X"), ("attempt", "X")])
def test_what_its_seals_do_not_cover_cannot_be_added_to_its_rows(study: Path, table: str, value: str) -> None:
    """By a stranger who changes rows of before in tables of today."""
    StudyStore.open(study, write=True).close()
    with database_of(study) as connection:
        connection.execute(f"UPDATE {table} SET {MIGRATED_COLUMNS[table]} = ?", (value,))
    with StudyStore.open(study, write=False, ending=True) as store, pytest.raises(CorruptStore):
        store.lease_rows(), store.launches(), store.attempts()


@pytest.mark.parametrize("notes", ["ENDS_BY_ITSELF,", "OTHER", "ends by itself at its time to live", b"STILL_THERE", 5])
def test_notes_are_those_that_a_store_writes(study: Path, notes: object) -> None:
    StudyStore.open(study, write=True).close()
    change(study, "lease", {"notes": notes}, seals=own_seals(study))
    with StudyStore.open(study, write=False, ending=True) as store:
        if notes == "ENDS_BY_ITSELF,":
            assert all(row.notes == {LeaseNote.ENDS_BY_ITSELF} for row in store.lease_rows())
        else:
            with pytest.raises(CorruptStore):
                store.lease_rows()


def test_somebody_elses_is_refused_as_it_is_and_migrated_when_it_is_adopted(
    study: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "other"))
    with pytest.raises(MadeElsewhere):
        StudyStore.open(study, write=True)
    assert schema_of(study) == 2
    StudyStore.adopt(study)
    assert schema_of(study) == 3
    with StudyStore.open(study, write=True) as store:
        check_ledger(store)


def test_the_tables_of_a_migrated_study_are_those_of_a_new_one(study: Path) -> None:
    StudyStore.open(study, write=True).close()
    with database_of(study) as connection:
        for table, columns in SEALED_COLUMNS.items():
            connection.execute(f"SELECT {columns}, seal FROM {table}")
        left = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE name LIKE '%before%'")]
    assert left == []
    with closing(sqlite3.connect(study / "study.db")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_an_earlier_schema_with_tables_of_today_is_refused(study: Path) -> None:
    StudyStore.open(study, write=True).close()
    with database_of(study) as connection:
        connection.execute("PRAGMA user_version = 2")
    with pytest.raises(CorruptStore, match="other tables"):
        StudyStore.open(study, write=False)
