"""Study folders as somebody else would send them: rows changed, and sealed with a key that is not this user's."""

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

from cloudcmp.store.seals import SEALED_COLUMNS, Seals, sign_all
from cloudcmp.store.user_key import study_key

STRANGER = Seals(b"the key of somebody else, 32 byte")


@contextmanager
def database_of(folder: Path) -> Iterator[sqlite3.Connection]:
    """The database of a study, changed past the store."""
    with closing(sqlite3.connect(folder / "study.db", isolation_level=None)) as connection:
        yield connection


def change(folder: Path, table: str, values: Mapping[str, object], where: str = "1", seals: Seals = STRANGER) -> None:
    """Change the rows of a table, each with a seal that fits them."""
    with database_of(folder) as connection:
        names = ", ".join(f"{name} = ?" for name in values)
        connection.execute(f"UPDATE {table} SET {names} WHERE {where}", tuple(values.values()))
        columns = SEALED_COLUMNS[table]
        for rowid, *row in connection.execute(f"SELECT rowid, {columns} FROM {table} WHERE {where}").fetchall():
            connection.execute(f"UPDATE {table} SET seal = ? WHERE rowid = ?", (seals.make(table, *row), rowid))


def change_plan(folder: Path, old: str, new: str, seals: Seals = STRANGER) -> None:
    """Replace a text in the stored plan and its trials, with digests that fit."""
    with database_of(folder) as connection:
        for table, key in (("plan", "id"), ("trial", "trial")):
            for row, body in connection.execute(f"SELECT {key}, body FROM {table}").fetchall():
                changed = body.replace(json.dumps(old)[1:-1], json.dumps(new)[1:-1])
                connection.execute(f"UPDATE {table} SET body = ? WHERE {key} = ?", (changed, row))
        ((body,),) = connection.execute("SELECT body FROM plan").fetchall()
        digest = hashlib.sha256(body.encode())
        for (trial,) in connection.execute("SELECT body FROM trial ORDER BY trial"):
            digest.update(b"\n" + trial.encode())
        connection.execute("UPDATE plan SET sha256 = ?", (digest.hexdigest(),))
    change(folder, "meta", {"value": digest.hexdigest()}, "key = '.plan'", seals)


def as_a_stranger_made_it(folder: Path) -> None:
    """Seal every row of a study anew, as if somebody else had made it."""
    with database_of(folder) as connection:
        sign_all(connection, STRANGER)


def own_seals(folder: Path) -> Seals:
    """The seals of this user's own: for the case that a signature did not stop it."""
    with database_of(folder) as connection:
        ((tag,),) = connection.execute("SELECT value FROM meta WHERE key = '.tag'").fetchall()
    return Seals(study_key(tag))


def revive_lease(folder: Path, cloud_id: str, seals: Seals = STRANGER) -> None:
    """Make the ended leases of a study live again, under an id that the study never had."""
    with database_of(folder) as connection:
        connection.execute("DELETE FROM lease WHERE event NOT IN ('INTENT', 'CREATED')")
    change(folder, "lease", {"cloud_id": cloud_id}, "event = 'CREATED'", seals)


def forget_trials(folder: Path) -> None:
    """Leave a study as if none of its trials had been run."""
    with database_of(folder) as connection:
        connection.execute("DELETE FROM attempt")
    for path in (folder / "samples").iterdir():
        path.unlink()
