"""A summary of a study, cheap enough for a list of hundreds: a few rows of its database, the rest unchecked."""

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from cloudcmp.store import row_values as of
from cloudcmp.store.database import DATABASE_FILE, Database
from cloudcmp.store.faults import corrupt, corrupt_if_malformed


@dataclass(frozen=True, slots=True)
class StudySummary:
    """The name of a study, its number of candidates, and how many of its trials have ended; an import has none.

    `written_at` is the Unix time (s) at which its database was last written.
    """

    name: str
    imported: bool
    candidates: int
    trials: int
    ended: int
    written_at: float


_PLAN = """
SELECT json_extract(body, '$.name'), json_extract(body, '$.imported'), json_array_length(body, '$.candidates') FROM plan
"""
_ENDED = "SELECT count(DISTINCT trial) FROM attempt WHERE outcome IS NOT NULL AND interrupted = 0"


def summary_of(folder: Path) -> StudySummary:
    """The summary of a study's folder, without a check of digests and signatures: for a list, never for a verdict.

    Raises UserMistake if the folder holds no study, CorruptStore, NewerSchema and StorageFault.
    """
    with closing(Database(folder, write=False, whole=False)) as database:
        plans = database.rows(_PLAN)
        if not plans:
            raise corrupt(database.path, "has no plan")
        name, imported, candidates = plans[0]
        with corrupt_if_malformed(database.path, "the plan"):
            trials, ended = (of.count(database.rows(query)[0][0]) for query in ("SELECT count(*) FROM trial", _ENDED))
            written_at = max(one.stat().st_mtime for one in folder.glob(f"{DATABASE_FILE}*") if one.suffix != ".db-shm")
            return StudySummary(of.text(name), bool(imported), of.count(candidates), trials, ended, written_at)
