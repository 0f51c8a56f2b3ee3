"""The study's database: its tables, opening it, and durable transactions."""

import os
import shutil
import sqlite3
import stat
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from cloudcmp.errors import Fault, NewerSchema, UserMistake
from cloudcmp.store.crash import crash_point
from cloudcmp.store.faults import corrupt, not_plain, storage, unconfirmed
from cloudcmp.store.seals import MIGRATED_COLUMNS, Seals

DATABASE_FILE = "study.db"
SCHEMA_VERSION = 3
APPLICATION_ID = 0x636C6363

_TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL, seal TEXT NOT NULL);
CREATE TABLE plan (id INTEGER PRIMARY KEY CHECK (id = 0), body TEXT NOT NULL, sha256 TEXT NOT NULL);
CREATE TABLE trial (trial INTEGER PRIMARY KEY, body TEXT NOT NULL);
CREATE TABLE price (
    id INTEGER PRIMARY KEY, provider TEXT NOT NULL, region TEXT NOT NULL, offering TEXT NOT NULL,
    amount_per_hour TEXT NOT NULL, currency TEXT NOT NULL, source TEXT NOT NULL, as_of TEXT, seal TEXT NOT NULL);
CREATE TABLE lease (
    id INTEGER PRIMARY KEY, slot TEXT NOT NULL, attempt INTEGER NOT NULL, event TEXT NOT NULL, provider TEXT NOT NULL,
    region TEXT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL, token TEXT NOT NULL, at REAL NOT NULL, cloud_id TEXT,
    price_per_hour TEXT, currency TEXT, ttl_s REAL, detail TEXT NOT NULL,
    notes TEXT, seal TEXT NOT NULL);
CREATE TABLE launch (
    id INTEGER PRIMARY KEY, launch INTEGER NOT NULL, event TEXT NOT NULL, at REAL NOT NULL, slot TEXT NOT NULL,
    outcome TEXT NOT NULL, why TEXT NOT NULL,
    reason TEXT, seal TEXT NOT NULL);
CREATE TABLE attempt (
    trial INTEGER NOT NULL, attempt INTEGER NOT NULL, outcome TEXT, started_at REAL NOT NULL, ended_at REAL,
    reason TEXT,
    why TEXT NOT NULL DEFAULT '', interrupted INTEGER NOT NULL DEFAULT 0, n_samples INTEGER NOT NULL DEFAULT 0,
    sha256 TEXT, facts TEXT NOT NULL DEFAULT '{}', file TEXT, seal TEXT NOT NULL, PRIMARY KEY (trial, attempt));
"""
_TABLES_BEFORE = _TABLES.replace("\n    notes TEXT,", "").replace("\n    reason TEXT,", "")
"""The tables of schema 1 and 2."""
_MARKS = f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {SCHEMA_VERSION};"

Row = tuple[Any, ...]


class Database:
    """A connection on which every transaction is fsynced before it returns. Raises only cloudcmp errors.

    `seals` are those of the study, once its tag is known.
    """

    def __init__(self, folder: Path, *, write: bool, whole: bool = True) -> None:
        """Opens the database of an existing study; `write` needs the study's lock to be held.

        Unless `whole`, its pages are not checked: that takes longer, the larger the study is.

        Raises UserMistake if there is none, NewerSchema, CorruptStore and StorageFault.
        """
        self.path = folder / DATABASE_FILE
        self.seals = Seals(None)
        self._mutex = threading.Lock()
        self._unconfirmed = False
        self._copy: tempfile.TemporaryDirectory[str] | None = None
        with storage(self.path):
            _refuse_traps(self.path)
            if not self.path.is_file():
                raise no_study(folder)
            if not write and _lacks_index(self.path):
                self._copy = _copy_of(self.path)
            at = Path(self._copy.name) / DATABASE_FILE if self._copy else self.path
            self._connection = _connect(at, "rw" if write else _read_mode(at))
        try:
            self._check(folder, whole=whole)
            if write:
                self._prepare_writing()
        except BaseException:
            self.close()
            raise

    @staticmethod
    def create(folder: Path) -> None:
        """Creates the tables in a new file that only its owner can read; it is no study until a plan is committed."""
        path = folder / DATABASE_FILE
        with storage(path):
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
            connection = _connect(path, "rw")
            try:
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = FULL")
                crash_point("create.before_tables")
                connection.executescript(f"BEGIN;{_TABLES}{_MARKS}COMMIT;")
                crash_point("create.after_tables")
            finally:
                connection.close()

    def _check(self, folder: Path, *, whole: bool) -> None:
        with storage(self.path):
            if self._value("PRAGMA application_id") != APPLICATION_ID:
                raise no_study(folder)
            version = int(self._value("PRAGMA user_version"))
        if version > SCHEMA_VERSION:
            raise NewerSchema.at(
                str(folder),
                f"was written by a later version of cloudcmp (schema {version}, this one reads up to {SCHEMA_VERSION})",
                "use that version",
            )
        if version < 1:
            raise corrupt(self.path, f"has the impossible schema {version}")
        self.version = version
        self._check_schema()
        if version < SCHEMA_VERSION:
            self._show_added_columns()
        # Seals protect the existing rows; this check finds missing rows.
        for (fault,) in self.rows("PRAGMA quick_check(1)") if whole else ():
            if fault != "ok":
                raise corrupt(self.path, f"is damaged ({' '.join(str(fault).split())})")

    def _check_schema(self) -> None:
        """Refuses other tables than a study's: a stranger's view or trigger could return different rows each time."""
        tables = _TABLES if self.version == SCHEMA_VERSION else _TABLES_BEFORE
        with storage(self.path):
            statements = sorted(sql for (sql,) in self._connection.execute("SELECT sql FROM sqlite_schema") if sql)
        if statements != sorted(_statements(tables)):
            raise corrupt(self.path, "has other tables than a study's")

    def _show_added_columns(self) -> None:
        """Shows the tables of an earlier schema with this one's columns, on this connection only; not in the file."""
        with storage(self.path):
            self._connection.execute("PRAGMA temp_store = MEMORY")
            for table, added in MIGRATED_COLUMNS.items():
                self._connection.execute(
                    f"CREATE TEMP VIEW {table} AS SELECT *, NULL AS {added} FROM main.{table}"  # noqa: S608 (constants)
                )

    def migrate(self) -> None:
        """Upgrades the tables of an earlier schema to this one, all or none; rows keep their values and seals."""
        if self.version == SCHEMA_VERSION:
            return
        with self.transaction() as connection:
            for table in MIGRATED_COLUMNS:
                connection.execute(f"DROP VIEW temp.{table}")
                connection.execute(f"ALTER TABLE {table} RENAME TO {table}_before")
                columns = ", ".join(row[1] for row in connection.execute(f"PRAGMA table_info({table}_before)"))
                connection.execute(next(one for one in _statements(_TABLES) if f" {table} (" in one))
                connection.execute(
                    f"INSERT INTO {table} ({columns}) SELECT {columns} FROM {table}_before ORDER BY rowid"  # noqa: S608
                )
                connection.execute(f"DROP TABLE {table}_before")
            connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
            crash_point("migrate.before_commit")
        crash_point("migrate.after_commit")
        self.version = SCHEMA_VERSION

    def checkpoint(self) -> None:
        """Moves committed rows from the log into the database, so that a copy without the log is complete."""
        with self._mutex, storage(self.path):
            self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()

    def _prepare_writing(self) -> None:
        """Moves the log's rows into the database itself, so that none depends on an fsync that once failed."""
        with storage(self.path):
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = FULL")
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _value(self, statement: str) -> Any:
        return self._connection.execute(statement).fetchone()[0]

    def changes(self) -> tuple[int, int]:
        """A stamp that differs from an earlier one if any connection has written to the database since."""
        with self._mutex, storage(self.path):
            return self._value("PRAGMA data_version"), self._connection.total_changes

    def rows(self, statement: str, values: Sequence[object] = ()) -> list[Row]:
        """All rows of a query."""
        with self._mutex, storage(self.path):
            return self._connection.execute(statement, values).fetchall()

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Runs all queries inside on the rows as of the first query, even if another process writes meanwhile."""
        with storage(self.path):
            self._connection.execute("BEGIN")
        try:
            yield
        finally:
            with storage(self.path):
                self._connection.execute("ROLLBACK")

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Makes all statements inside durable together at its end, or none of them."""
        with self._mutex, storage(self.path):
            if self._unconfirmed:
                raise unconfirmed(self.path)
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._commit()
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def _commit(self) -> None:
        try:
            self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            # It is unknown if these rows are on the disk; reopening the study finds out.
            self._unconfirmed = getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_IOERR
            raise

    def close(self) -> None:
        """Closes the connection; a failure loses no data."""
        with self._mutex, storage(self.path):
            self._connection.close()
            if self._copy is not None:
                self._copy.cleanup()


def _statements(tables: str) -> list[str]:
    return [statement.strip() for statement in tables.split(";") if statement.strip()]


def no_study(folder: Path) -> UserMistake:
    """The mistake of naming a folder that holds no study."""
    return UserMistake(Fault(str(folder), "is no cloudcmp study", "name a folder that cloudcmp run or import made"))


def _refuse_traps(path: Path) -> None:
    """Refuses files that would make SQLite write or delete elsewhere, or block forever.

    These are links, pipes and devices, and a rollback journal, which can name files.
    """
    for one in (path, _sibling(path, "-wal"), _sibling(path, "-shm")):
        with suppress(FileNotFoundError):
            kind = one.lstat().st_mode
            if stat.S_ISLNK(kind):
                raise corrupt(one, "is a link, which a study does not hold")
            if not stat.S_ISREG(kind):
                raise not_plain(one)
    if os.path.lexists(_sibling(path, "-journal")):
        raise corrupt(_sibling(path, "-journal"), "is a rollback journal, which a study does not hold")


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    uri = f"file:{quote(str(path.absolute()))}?{'mode=ro&immutable=1' if mode == 'immutable' else f'mode={mode}'}"
    connection = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False, timeout=10.0)
    connection.execute("PRAGMA trusted_schema = OFF")  # the file may come from a stranger
    return connection


def _lacks_index(path: Path) -> bool:
    """True if a log is pending and its index neither exists nor can be created: SQLite could not read the log there."""
    log, index = _sibling(path, "-wal"), _sibling(path, "-shm")
    return _is_pending(log) and not index.exists() and not os.access(path.parent, os.W_OK)


def _copy_of(path: Path) -> "tempfile.TemporaryDirectory[str]":
    """A copy of the database and its log in a folder where an index can be created."""
    folder = tempfile.TemporaryDirectory(prefix="cloudcmp-")
    for one in (path, _sibling(path, "-wal")):
        shutil.copyfile(one, Path(folder.name) / one.name)
    return folder


def _sibling(path: Path, ending: str) -> Path:
    return path.with_name(path.name + ending)


def _is_pending(log: Path) -> bool:
    return log.exists() and log.stat().st_size > 0


def _read_mode(path: Path) -> str:
    """`immutable` if no log is pending and the folder cannot be written: SQLite could not create its shared memory."""
    return "ro" if _is_pending(_sibling(path, "-wal")) or os.access(path.parent, os.W_OK) else "immutable"
