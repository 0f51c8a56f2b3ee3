"""Rows of a stranger that hold anything SQLite keeps, with digests that fit: readers tell it in one line."""

import hashlib
import json
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tests.forged import change, change_plan, database_of
from tests.slices import some, spread
from tests.store.conftest import create, make_plan, run_trial

from cloudcmp.app import adoption, export
from cloudcmp.app import cleanup as cleaning
from cloudcmp.app import study_view as viewing
from cloudcmp.errors import CloudcmpError, CorruptStore
from cloudcmp.model.lease import LeaseEvent, LeaseRow
from cloudcmp.store import StudyStore
from cloudcmp.store.seals import SEALED_COLUMNS

ODD: tuple[object, ...] = (
    b"\xff\xfe", "", "x\0", float("inf"), -1, 2**63 - 1, 1e308, None, '{"notes":5}', "[" * 3000,
)  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A whole study with a lease, launches, an interrupted attempt and an open one."""
    with create(tmp_path / "study", make_plan(rounds=1)) as store:
        thing = ("local", "here", "instance", "name", "token")
        store.append_lease(LeaseRow("launch-0", 0, LeaseEvent.INTENT, *thing, 5.0, ttl_s=60.0))
        store.append_lease(LeaseRow("launch-0", 0, LeaseEvent.CREATED, *thing, 6.0, cloud_id="abc-def-123456"))
        store.begin_launch(0, 5.0, "launch-0")
        store.end_launch(0, 9.0, "ok")
        store.begin_attempt(0, 0, 5.0)
        store.interrupt_open(lambda _: 6.0)
        for trial in store.plan.trials[:-1]:
            run_trial(store, trial)
        store.begin_attempt(store.plan.trials[-1].index, 0, 5.0)
    return tmp_path / "study"


def snapshot(folder: Path) -> bytes:
    """The bytes of a study's database, its log moved into it."""
    with database_of(folder) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return (folder / "study.db").read_bytes()


def restore(folder: Path, clean: bytes) -> None:
    """Give a study its database back."""
    for name in ("study.db-wal", "study.db-shm"):
        (folder / name).unlink(missing_ok=True)
    (folder / "study.db").write_bytes(clean)


def read_all(folder: Path) -> None:
    """Read a study in every way that needs no leave; each may raise CloudcmpError alone."""
    with suppress(CloudcmpError):
        viewing.view(folder, drawn=False)
    with suppress(CloudcmpError):
        export.rows(folder)
    with suppress(CloudcmpError):
        cleaning.cleanup(folder)
    with suppress(CloudcmpError), StudyStore.open(folder, write=False, ending=True) as store:
        reads: tuple[Callable[[], object], ...] = (
            lambda: list(adoption.resume_actions(store)), lambda: list(adoption.bill_actions(store)), store.launches,
            store.open_attempts, store.prices, store.verify,
        )  # fmt: skip
        for read in reads:
            with suppress(CloudcmpError):
                read()


COLUMNS = [(table, column) for table, listed in SEALED_COLUMNS.items() for column in listed.split(", ")]


@pytest.mark.parametrize(("table", "column"), spread([one for one in COLUMNS if one[0] != "meta"], 14))
def test_odd_values_in_a_column_are_told_in_one_line(folder: Path, table: str, column: str) -> None:
    clean = snapshot(folder)
    where = f"rowid = (SELECT min(rowid) FROM {table} WHERE file IS NOT NULL)" if table == "attempt" else "1"
    for odd in some(ODD, 2, COLUMNS.index((table, column))):
        restore(folder, clean)
        with suppress(sqlite3.IntegrityError):  # the tables themselves refuse None in most columns
            change(folder, table, {column: odd}, where)
            read_all(folder)


NOTES = (".plan", ".tag", ".origin", ".pseudonyms", "work_folder", "tries")


@pytest.mark.parametrize("key", NOTES)
def test_odd_values_of_a_note_are_told_in_one_line(folder: Path, key: str) -> None:
    with database_of(folder) as connection:
        connection.execute("INSERT OR IGNORE INTO meta VALUES (?, 'x', '')", (key,))
    clean = snapshot(folder)
    for odd in some((*ODD, "zz"), 2, NOTES.index(key)):
        restore(folder, clean)
        with suppress(sqlite3.IntegrityError):
            change(folder, "meta", {"value": odd}, f"key = '{key}'")
            read_all(folder)


@pytest.mark.parametrize(
    ("column", "odd"),
    [
        ("started_at", float("inf")), ("ended_at", 1e308), ("ended_at", "nan"), ("why", b"A"), ("facts", b"{}"),
        ("facts", "[]"), ("facts", "5"), ("facts", '{"a":' * 400 + "1" + "}" * 400), ("n_samples", -1),
        ("n_samples", 2.5), ("sha256", "xyz"), ("file", b"trial-000000-1.parquet"), ("file", "../other.parquet"),
        ("file", None), ("attempt", -1), ("interrupted", "yes"),
    ],
)  # fmt: skip
def test_an_attempt_is_of_the_types_that_a_store_writes(folder: Path, column: str, odd: object) -> None:
    change(folder, "attempt", {column: odd}, "trial = 1")
    with pytest.raises(CorruptStore), StudyStore.open(folder, write=False) as store:
        store.attempts()


@pytest.mark.parametrize(
    ("column", "odd"),
    [
        ("cloud_id", b"A"), ("cloud_id", "a\0"), ("token", b"A"), ("name", b"A"), ("at", float("inf")), ("at", "soon"),
        ("ttl_s", float("inf")), ("ttl_s", 1e300), ("price_per_hour", "NaN"), ("price_per_hour", "1E+999999"),
        ("price_per_hour", "1E-999999"), ("detail", b"A"), ("currency", b"A"), ("attempt", -1),
    ],
)  # fmt: skip
def test_a_lease_is_of_the_types_that_a_store_writes(folder: Path, column: str, odd: object) -> None:
    change(folder, "lease", {column: odd})
    with StudyStore.open(folder, write=False) as store:
        assert store.readable_leases() == ((), 2)
        with pytest.raises(CorruptStore):
            store.leases()


@pytest.mark.parametrize(
    ("column", "odd"), [("event", "OTHER"), ("slot", b"A"), ("at", float("inf")), ("outcome", b"A"), ("why", b"A")]
)
def test_a_launch_is_of_the_types_that_a_store_writes(folder: Path, column: str, odd: object) -> None:
    change(folder, "launch", {column: odd})
    with StudyStore.open(folder, write=False) as store, pytest.raises(CorruptStore):
        store.launches()


@pytest.mark.parametrize(("table", "column"), [("attempt", "trial"), ("launch", "launch")])
@pytest.mark.parametrize("odd", [6, -1, b"\x01", "one", 2**63 - 1])
def test_a_row_of_what_the_plan_does_not_have(folder: Path, table: str, column: str, odd: object) -> None:
    change(folder, table, {column: odd}, "rowid = 1")
    for write in (False, True):
        with pytest.raises(CloudcmpError) as raised:
            StudyStore.open(folder, write=write)
        if not write:
            assert f"a row names {column} " in str(raised.value)
            assert "which the plan does not have" in str(raised.value)
    StudyStore.open(folder, write=False, ending=True).close()


def planted(folder: Path, table: str, at: int, values: Mapping[str, Any]) -> None:
    """Change values of the stored plan or of one of its trials, with digests that fit."""
    key = "id" if table == "plan" else table
    with database_of(folder) as connection:
        ((body,),) = connection.execute(f"SELECT body FROM {table} WHERE {key} = ?", (at,)).fetchall()
        connection.execute(f"UPDATE {table} SET body = ? WHERE {key} = ?", (json.dumps(json.loads(body) | values), at))
    change_plan(folder, "\0", "")


@pytest.mark.parametrize(
    ("table", "values"),
    [
        ("trial", {"index": 6}), ("trial", {"launch": 2}), ("trial", {"launch": -1}), ("trial", {"cells": ["\ud800"]}),
        ("trial", {"start_s": 1e308}), ("plan", {"launches": []}), ("plan", {"name": "\ud800"}),
        ("plan", {"start_at": 1e308}), ("plan", {"start_at": -1e12}),
    ],
)  # fmt: skip
def test_a_plan_that_leads_nowhere(folder: Path, table: str, values: Mapping[str, Any]) -> None:
    planted(folder, table, 0, values)
    with pytest.raises(CorruptStore):
        StudyStore.open(folder, write=False)


def test_launches_are_at_their_places(folder: Path) -> None:
    with database_of(folder) as connection:
        ((body,),) = connection.execute("SELECT body FROM plan").fetchall()
    planted(folder, "plan", 0, {"launches": json.loads(body)["launches"][::-1]})
    with pytest.raises(CorruptStore, match="names a candidate or a launch that it does not have"):
        StudyStore.open(folder, write=False)


@pytest.mark.parametrize("body", [b"{}", "5", "[" * 3000])
def test_a_plan_that_is_no_object(folder: Path, body: object) -> None:
    with database_of(folder) as connection:
        connection.execute("UPDATE plan SET body = ?", (body,))
        text = body if isinstance(body, bytes) else str(body).encode()
        digest = hashlib.sha256(text)
        for (trial,) in connection.execute("SELECT body FROM trial ORDER BY trial"):
            digest.update(b"\n" + trial.encode())
        connection.execute("UPDATE plan SET sha256 = ?", (digest.hexdigest(),))
    with pytest.raises(CorruptStore):
        StudyStore.open(folder, write=False)


@pytest.mark.parametrize(("key", "value"), [(".pseudonyms", "zz"), (".pseudonyms", b"A"), ("work_folder", b"A")])
def test_a_note_of_another_type(folder: Path, key: str, value: object) -> None:
    with database_of(folder) as connection:
        connection.execute("INSERT OR IGNORE INTO meta VALUES (?, 'x', '')", (key,))
    change(folder, "meta", {"value": value}, f"key = '{key}'")
    with StudyStore.open(folder, write=False) as store, pytest.raises(CorruptStore):
        store.pseudonym_key() if key == ".pseudonyms" else store.meta(key)
