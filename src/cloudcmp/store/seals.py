"""Seals of rows: a digest that detects a changed byte, and a signature that only the maker of a study can create.

A seal is `3:`, the signature (32 digits) and the digest of row and signature (16 digits), in hexadecimal. Every reader
checks the digest, because SQLite does not notice a flipped bit in its pages. The signature identifies the writer of a
row: a study's folder may come from a stranger, who can make every digest. The form of a seal shows the schema in which
its row was written, and so the columns that it covers: schema 2 wrote no `3:`, schema 1 no signature either.
"""

import hashlib
import hmac
import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from cloudcmp.errors import Fault, UserMistake

_MARK = "3:"
_SIGNATURE, _DIGEST = 32, 16

SEALED_COLUMNS = {
    "meta": "key, value",
    "price": "provider, region, offering, amount_per_hour, currency, source, as_of",
    "lease": "slot, attempt, event, provider, region, kind, name, token, at, cloud_id, price_per_hour, currency, ttl_s,"
    " detail, notes",
    "launch": "launch, event, at, slot, outcome, why, reason",
    "attempt": "trial, attempt, outcome, started_at, ended_at, why, interrupted, n_samples, sha256, facts, file,"
    " reason",
}
"""The tables with sealed rows, and the columns that a seal covers, in its order."""
MIGRATED_COLUMNS = {"lease": "notes", "launch": "reason", "attempt": "reason"}
"""The last column of these tables, which schema 3 added: it is empty in older rows."""


def row_digest(*values: object) -> str:
    """A digest over a row's values; values of other types, which only a stranger writes, have one too."""
    return hashlib.sha256(_text(values)).hexdigest()[:_DIGEST]


def _text(values: tuple[object, ...]) -> bytes:
    return json.dumps(values, default=repr).encode()


class MadeElsewhere(UserMistake):
    """A study's folder was not made by this user on this computer, or was changed by somebody else."""

    @classmethod
    def of(cls, folder: Path, version: int) -> "MadeElsewhere":
        """The refusal to trust the content of a folder of a schema version."""
        what = "was made by another user or on another computer, or was changed there"
        if version < 2:
            what = "was made by another user, on another computer, or by a version of cloudcmp that signed nothing"
        return cls(Fault(str(folder), what, "look at what it names, then give --adopt"))


class Seals:
    """Makes and checks the seals of one study; `key` is the study's own, None if this user has none."""

    def __init__(self, key: bytes | None) -> None:
        self._key = key

    def make(self, table: str, *values: object) -> str:
        """The seal of a row of a table; raises MadeElsewhere without a key."""
        signature = self._signature(table, values)
        if signature is None:
            raise MadeElsewhere(Fault(table, "rows of a study that was made elsewhere cannot be added to"))
        return _MARK + signature + row_digest(table, *values, signature)

    def signs(self, seal: object, table: str, *values: object) -> bool:
        """True if the row was written by this user on this computer."""
        if not isinstance(seal, str):
            return False
        signature = self._signature(table, _covered(seal, table, values))
        given = seal.removeprefix(_MARK)[:_SIGNATURE]
        return signature is not None and hmac.compare_digest(given.encode(), signature.encode())

    def _signature(self, table: str, values: tuple[object, ...]) -> str | None:
        if self._key is None:
            return None
        return hmac.digest(self._key, _text((table, *values)), "sha256").hex()[:_SIGNATURE]


def is_intact(seal: object, table: str, *values: object) -> bool:
    """True if a row is as it was written, by any user."""
    if not isinstance(seal, str):
        return False
    covered = _covered(seal, table, values)
    if not seal.startswith(_MARK) and table in MIGRATED_COLUMNS and values[-1] is not None:
        return False
    if len(seal) == _DIGEST:
        return row_digest(table, *covered) == seal
    body = seal.removeprefix(_MARK)
    return row_digest(table, *covered, body[:_SIGNATURE]) == body[_SIGNATURE:]


def _covered(seal: str, table: str, values: tuple[object, ...]) -> tuple[object, ...]:
    """The values of a row that its seal covers."""
    if seal.startswith(_MARK) or table not in MIGRATED_COLUMNS:
        return values
    without_file = table == "attempt" and len(seal) == _DIGEST  # schema 1 did not cover the file name
    return values[: -2 if without_file else -1]


def unsigned_rows(query: Callable[[str], Sequence[tuple[Any, ...]]], seals: Seals) -> Iterator[str]:
    """The table of each intact row that this user did not write; damaged rows are left out."""
    for table, columns in SEALED_COLUMNS.items():
        for *values, seal in query(f"SELECT {columns}, seal FROM {table}"):  # noqa: S608 (constants)
            if is_intact(seal, table, *values) and not seals.signs(seal, table, *values):
                yield table


def sign_all(connection: sqlite3.Connection, seals: Seals) -> None:
    """Signs every intact row as this user's own; damaged rows stay as they are."""
    for table, columns in SEALED_COLUMNS.items():
        rows = connection.execute(f"SELECT rowid, {columns}, seal FROM {table}").fetchall()  # noqa: S608 (constants)
        signed = [
            (seals.make(table, *values), rowid) for rowid, *values, seal in rows if is_intact(seal, table, *values)
        ]
        connection.executemany(f"UPDATE {table} SET seal = ? WHERE rowid = ?", signed)  # noqa: S608 (constants)
