"""The append-only rows of leases and launches, and the leases that they describe."""

import sqlite3
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from cloudcmp.errors import CorruptStore
from cloudcmp.model.lease import STATE_OF, Lease, LeaseEvent, LeaseNote, LeaseRow
from cloudcmp.store import row_values as of
from cloudcmp.store.crash import crash_point
from cloudcmp.store.database import Database
from cloudcmp.store.faults import corrupt, corrupt_if_malformed
from cloudcmp.store.seals import SEALED_COLUMNS, Seals, is_intact

_LEASE = SEALED_COLUMNS["lease"]
_LAUNCH = SEALED_COLUMNS["launch"]
_NOTES_IN_DETAIL = {
    "seen there after its time to live": LeaseNote.STILL_THERE,
    "started again": LeaseNote.STARTED_AGAIN,
    "ends by itself at its time to live": LeaseNote.ENDS_BY_ITSELF,
    "counted by the hour begun": LeaseNote.BY_THE_HOUR,
}
"""The notes of schemas before 3: text in the detail, which their seals cover."""


@dataclass(frozen=True, slots=True)
class LaunchRecord:
    """One execution of a launch on the lease of `slot`; the end is None while it runs. Unix seconds."""

    launch: int
    slot: str
    begun_at: float
    ended_at: float | None = None
    outcome: str | None = None
    why: str = ""
    reason: str | None = None


def append_lease(database: Database, row: LeaseRow) -> None:
    """Writes one row of the ledger; it is durable when this returns."""
    price = None if row.price_per_hour is None else str(row.price_per_hour)
    ttl_s = None if row.ttl_s is None else float(row.ttl_s)
    values = (
        row.slot, row.attempt, row.event.value, row.provider, row.region, row.kind, row.name, row.token, float(row.at),
        row.cloud_id, price, row.currency, ttl_s, row.detail, ",".join(sorted(row.notes)),
    )  # fmt: skip
    with database.transaction() as connection:
        connection.execute(
            f"INSERT INTO lease ({_LEASE}, seal) VALUES ({','.join('?' * 16)})",  # noqa: S608 (constants)
            (*values, database.seals.make("lease", *values)),
        )
        crash_point("lease.before_commit")
    crash_point("lease.after_commit")


def lease_rows(database: Database) -> tuple[LeaseRow, ...]:
    """The whole ledger, in the order of writing."""
    rows = database.rows(f"SELECT {_LEASE}, seal FROM lease ORDER BY id")  # noqa: S608 (constants)
    return tuple(_lease_row(database, row) for row in rows)


def readable_rows(database: Database) -> tuple[tuple[LeaseRow, ...], int]:
    """The intact rows of the ledger, and the number of damaged ones."""
    rows = database.rows(f"SELECT {_LEASE}, seal FROM lease ORDER BY id")  # noqa: S608 (constants)
    good: list[LeaseRow] = []
    for row in rows:
        with suppress(CorruptStore):
            good.append(_lease_row(database, row))
    return tuple(good), len(rows) - len(good)


def _lease_row(database: Database, row: tuple[Any, ...]) -> LeaseRow:
    if not is_intact(row[-1], "lease", *row[:-1]):
        raise corrupt(database.path, f"a row of the ledger, of slot {row[0]}, was changed")
    slot, attempt, event, provider, region, kind, name, token, at, cloud_id, price, currency, ttl_s = row[:13]
    with corrupt_if_malformed(database.path, f"a row of the ledger, of slot {slot},"):
        amount = None if price is None else of.amount(price)
        if ttl_s is not None:
            of.moment(of.moment(at) + of.number(ttl_s))
        head = (of.name(slot), of.count(attempt), LeaseEvent(event))
        resource = (of.name(provider), of.name(region), of.name(kind), of.name(name), of.name(token))
        id_, money = of.optional_name(cloud_id), of.optional_name(currency)
        detail, notes = of.text(row[13]), _notes(row[13], row[14])
        return LeaseRow(*head, *resource, of.moment(at), id_, amount, money, ttl_s, detail, notes)


def _notes(detail: str, notes: object) -> frozenset[LeaseNote]:
    """The notes of a row; raises ValueError and TypeError for notes that no store writes."""
    if notes is None:
        return frozenset(note for text, note in _NOTES_IN_DETAIL.items() if text in detail.split("; "))
    return frozenset(map(LeaseNote, filter(None, of.text(notes).split(","))))


def fold(rows: Iterable[LeaseRow]) -> tuple[Lease, ...]:
    """Each lease in the state of its last row, in the order of their first rows; one lease is one attempt at a slot."""
    leases: dict[tuple[str, int], Lease] = {}
    for row in rows:
        before = leases.get((row.slot, row.attempt))
        created_at = row.at if row.event is LeaseEvent.CREATED else None
        leases[row.slot, row.attempt] = Lease(
            row.slot,
            row.attempt,
            STATE_OF[row.event],
            row.provider,
            row.region,
            row.kind,
            row.name,
            row.token,
            row.cloud_id or (before.cloud_id if before else None),
            before.created_at if before and before.created_at is not None else created_at,
            before.price_per_hour if before and before.price_per_hour is not None else row.price_per_hour,
            before.currency if before and before.currency is not None else row.currency,
            before.expires_at if before else (None if row.ttl_s is None else row.at + row.ttl_s),
        )
    return tuple(leases.values())


def begin_launch(database: Database, launch: int, at: float, slot: str) -> None:
    """Writes the start of a launch on the lease of a slot."""
    with database.transaction() as connection:
        _insert_launch(connection, database.seals, launch, ("BEGIN", at, slot, "", "", None))
        crash_point("launch.before_commit")
    crash_point("launch.after_commit")


def end_launch(database: Database, launch: int, at: float, outcome: str, why: str, reason: str | None) -> None:
    """Writes the end of the launch that was last begun under this index."""
    with database.transaction() as connection:
        _insert_launch(connection, database.seals, launch, ("END", at, "", outcome, why, reason))
        crash_point("launch.before_commit")
    crash_point("launch.after_commit")
    database.checkpoint()


def _insert_launch(
    connection: sqlite3.Connection, seals: Seals, launch: int, row: tuple[str, float, str, str, str, str | None]
) -> None:
    """Writes one row: its event, Unix time (s), slot, outcome, why and reason."""
    event, at, *rest = row
    values = (launch, event, float(at), *rest)
    connection.execute(
        f"INSERT INTO launch ({_LAUNCH}, seal) VALUES (?,?,?,?,?,?,?,?)",  # noqa: S608 (constants)
        (*values, seals.make("launch", *values)),
    )


def launches(database: Database) -> tuple[LaunchRecord, ...]:
    """Each execution of a launch, in the order of their starts."""
    records: list[LaunchRecord] = []
    for launch, event, at, slot, outcome, why, reason, sealed in database.rows(
        f"SELECT {_LAUNCH}, seal FROM launch ORDER BY id"  # noqa: S608 (constants)
    ):
        if not is_intact(sealed, "launch", launch, event, at, slot, outcome, why, reason):
            raise corrupt(database.path, f"a row of launch {launch} was changed")
        with corrupt_if_malformed(database.path, f"a row of launch {launch}"):
            of.count(launch), of.moment(at), of.name(slot), of.text(outcome), of.text(why), of.optional_name(reason)
        if event not in {"BEGIN", "END"}:
            raise corrupt(database.path, f"a row of launch {launch} names no event of a launch")
        if event == "BEGIN":
            records.append(LaunchRecord(launch, slot, at))
            continue
        index = max((i for i, record in enumerate(records) if record.launch == launch), default=None)
        if index is not None:
            begun = records[index]
            records[index] = LaunchRecord(launch, begun.slot, begun.begun_at, at, outcome, why, reason)
    return tuple(records)
