"""Study folders as a forger would change them: rows rewritten and sealed anew, in this one place."""

import sqlite3
from pathlib import Path

from cloudcmp.store.database import seal

_LEASE = (
    "slot, attempt, event, provider, region, kind, name, token, at, cloud_id, price_per_hour, currency, ttl_s, detail"
)


def revive_lease(folder: Path, cloud_id: str) -> None:
    """Make the ended leases of a study live again, under an id that the study never had."""
    with sqlite3.connect(folder / "study.db") as database:
        database.execute("DELETE FROM lease WHERE event NOT IN ('INTENT', 'CREATED')")
        database.execute("UPDATE lease SET cloud_id = ? WHERE event = 'CREATED'", (cloud_id,))
        for number, *values in database.execute(f"SELECT id, {_LEASE} FROM lease").fetchall():
            database.execute("UPDATE lease SET seal = ? WHERE id = ?", (seal("lease", *values), number))
    database.close()


def forget_trials(folder: Path) -> None:
    """Leave a study as if none of its trials had been run."""
    with sqlite3.connect(folder / "study.db") as database:
        database.execute("DELETE FROM attempt")
    database.close()
