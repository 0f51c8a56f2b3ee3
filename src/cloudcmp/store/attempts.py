"""The rows of attempts: begun, then ended by themselves or interrupted by the end of the controller."""

from collections.abc import Callable, Iterable
from typing import Any

from cloudcmp.model.trial import Attempt, Outcome
from cloudcmp.store import row_values as of
from cloudcmp.store.crash import crash_point
from cloudcmp.store.database import Database
from cloudcmp.store.faults import corrupt, corrupt_if_malformed
from cloudcmp.store.samples import FILE_NAME
from cloudcmp.store.seals import SEALED_COLUMNS, Seals, is_intact

INTERRUPTED_WHY = "the controller ended before the trial did"
_COLUMNS = SEALED_COLUMNS["attempt"]

Begin = tuple[int, int, float]
"""Trial, attempt and start (Unix seconds) of an attempt to be written as begun."""
Ended = tuple[tuple[Attempt, str | None], ...]
"""Attempts that have ended, each with the name of its samples file."""


def begin(database: Database, first: Begin) -> None:
    """Writes that an attempt starts; raises ValueError if it was begun before."""
    with database.transaction() as connection:
        _insert(connection, database.seals, first)
        crash_point("begin.before_commit")
    crash_point("begin.after_commit")


def _insert(connection: Any, seals: Seals, first: Begin) -> None:
    trial, attempt, started_at = first
    done = connection.execute("SELECT 1 FROM attempt WHERE trial = ? AND attempt = ?", (trial, attempt)).fetchone()
    if done is not None:
        raise ValueError(f"attempt {attempt} of trial {trial} was begun before")
    sealed = seals.make("attempt", trial, attempt, None, float(started_at), None, "", 0, 0, None, "{}", None, None)
    connection.execute(
        "INSERT INTO attempt (trial, attempt, started_at, seal) VALUES (?,?,?,?)", (trial, attempt, started_at, sealed)
    )


def finish(database: Database, attempt: Attempt, file: str | None, begin_next: Begin | None) -> None:
    """Writes the end of a begun attempt, which acknowledges its samples, and in the same step the start of the next."""
    with database.transaction() as connection:
        _update(connection, database.seals, attempt, file)
        if begin_next is not None:
            _insert(connection, database.seals, begin_next)
        crash_point("finish.before_commit")
    crash_point("finish.after_commit")


def _update(connection: Any, seals: Seals, attempt: Attempt, file: str | None) -> None:
    values = (
        attempt.trial, attempt.attempt, attempt.outcome.value, float(attempt.started_at), float(attempt.ended_at),
        attempt.why, int(attempt.interrupted), attempt.n_samples, attempt.sha256, attempt.facts, file,
        attempt.reason,
    )  # fmt: skip
    changed = connection.execute(
        "UPDATE attempt SET outcome = ?3, started_at = ?4, ended_at = ?5, why = ?6, interrupted = ?7, n_samples = ?8,"
        " sha256 = ?9, facts = ?10, file = ?11, reason = ?12, seal = ?13"
        " WHERE trial = ?1 AND attempt = ?2 AND outcome IS NULL",
        (*values, seals.make("attempt", *values)),
    )
    if changed.rowcount != 1:
        raise ValueError(f"attempt {attempt.attempt} of trial {attempt.trial} is not open")


def move_samples(database: Database, connection: Any, file: str) -> None:
    """Writes that the samples of every attempt with samples are now in one file."""
    rows = connection.execute(f"SELECT {_COLUMNS} FROM attempt WHERE file IS NOT NULL").fetchall()  # noqa: S608 (constants)
    place = _COLUMNS.split(", ").index("file")
    for values in rows:
        sealed = database.seals.make("attempt", *values[:place], file, *values[place + 1 :])
        where = (values[0], values[1])
        connection.execute(
            "UPDATE attempt SET file = ?, seal = ? WHERE trial = ? AND attempt = ?", (file, sealed, *where)
        )


def interrupt_open(database: Database, at: Callable[[int], float]) -> int:
    """Ends every open attempt as aborted and interrupted, at the time `at` of its trial; returns their number."""
    open_ones = open_attempts(database)
    if not open_ones:
        return 0
    cuts = [
        Attempt(trial, attempt, Outcome.ABORTED, started_at, at(trial), INTERRUPTED_WHY, interrupted=True)
        for trial, attempt, started_at in open_ones
    ]
    with database.transaction() as connection:
        for cut in cuts:
            _update(connection, database.seals, cut, None)
        crash_point("interrupt.before_commit")
    crash_point("interrupt.after_commit")
    return len(open_ones)


def begun(database: Database) -> frozenset[tuple[int, int]]:
    """Trial and number of every attempt that was begun."""
    rows = database.rows("SELECT trial, attempt FROM attempt")
    with corrupt_if_malformed(database.path, "the row of an attempt"):
        return frozenset((of.count(trial), of.count(attempt)) for trial, attempt in rows)


def open_attempts(database: Database) -> list[Begin]:
    """The attempts that have begun and not ended."""
    rows = database.rows("SELECT trial, attempt, started_at FROM attempt WHERE outcome IS NULL ORDER BY trial, attempt")
    with corrupt_if_malformed(database.path, "the row of an attempt"):
        return [(of.count(trial), of.count(attempt), of.moment(started_at)) for trial, attempt, started_at in rows]


def ended(database: Database) -> Ended:
    """Every attempt that has ended, with the name of its samples file, in the order of trial and attempt."""
    rows = database.rows(f"SELECT {_COLUMNS}, seal FROM attempt ORDER BY trial, attempt")  # noqa: S608 (constants)
    return tuple(attempt for attempt in (_attempt(database, row) for row in rows) if attempt is not None)


class EndedRows:
    """Gives every attempt that has ended; if `kept`, its rows are read again only if any row was written since."""

    def __init__(self, database: Database, *, kept: bool) -> None:
        self._database, self._kept = database, kept
        self._read: tuple[tuple[int, int], Ended] | None = None

    def __call__(self) -> Ended:
        """The attempts, as `ended` gives them."""
        if not self._kept:
            return ended(self._database)
        stamp = self._database.changes()
        if self._read is None or self._read[0] != stamp:
            self._read = stamp, ended(self._database)
        return self._read[1]


def _attempt(database: Database, row: tuple[Any, ...]) -> tuple[Attempt, str | None] | None:
    *values, sealed = row
    if not is_intact(sealed, "attempt", *values):
        raise corrupt(database.path, f"the row of trial {values[0]}, attempt {values[1]} was changed")
    if values[2] is None:
        return None
    trial, attempt, outcome, started_at, ended_at, why, interrupted, n_samples, sha256, facts, file, reason = values
    whose = f"the row of trial {trial}, attempt {attempt}"
    with corrupt_if_malformed(database.path, whose):
        head = (of.count(trial), of.count(attempt), Outcome(outcome), of.moment(started_at), of.moment(ended_at))
        rest = (of.text(why), bool(of.count(interrupted)), of.count(n_samples), of.optional_digest(sha256))
        parsed = Attempt(*head, *rest, of.facts(facts), of.optional_name(reason))
        file = of.optional_name(file)
    if (file is None) != (parsed.sha256 is None) or not (file is None or FILE_NAME.fullmatch(file)):
        raise corrupt(database.path, f"{whose} names no file of samples")
    return parsed, file


def count(database: Database, trial: int, *, interrupted_too: bool) -> int:
    """The number of attempts at a trial that ended by themselves, or with `interrupted_too` that were begun."""
    query = "SELECT count(*) FROM attempt WHERE trial = ? AND (? OR (outcome IS NOT NULL AND NOT interrupted))"
    return int(database.rows(query, (trial, interrupted_too))[0][0])


def first_ok(attempts: Ended) -> dict[int, tuple[Attempt, str | None]]:
    """For each trial the first attempt that ended ok; it supplies the trial's values."""
    chosen: dict[int, tuple[Attempt, str | None]] = {}
    for attempt, file in attempts:
        if attempt.outcome is Outcome.OK and not attempt.interrupted:
            chosen.setdefault(attempt.trial, (attempt, file))
    return chosen


def keys(attempts: Iterable[tuple[Attempt, str | None]]) -> list[tuple[int, int, int]]:
    """Trial, attempt and number of samples of each attempt."""
    return [(one.trial, one.attempt, one.n_samples) for one, _ in attempts]
