"""A study on disk: one folder with a database of events and the files of samples."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, TypeVar

from cloudcmp.errors import CorruptStore, Fault, StorageFault
from cloudcmp.model.lease import Lease, LeaseEvent, LeaseRow
from cloudcmp.model.metric import Metric
from cloudcmp.model.offering import Price
from cloudcmp.model.plan import Plan
from cloudcmp.model.trial import Attempt, Sample
from cloudcmp.model.values import SeriesLimits, StudyValues
from cloudcmp.store import attempts as attempt_rows
from cloudcmp.store import imported_table, ledger, outputs, plan_rows, samples, values
from cloudcmp.store.access import StudyLock, lock_of, open_database
from cloudcmp.store.attempts import Begin, Ended, EndedRows
from cloudcmp.store.crash import crash_point
from cloudcmp.store.creation import lay_out
from cloudcmp.store.database import DATABASE_FILE, Database, no_study
from cloudcmp.store.faults import DiskFull, corrupt, storage
from cloudcmp.store.files import Reserve, write_durably
from cloudcmp.store.imported_table import ImportedRows
from cloudcmp.store.ledger import LaunchRecord
from cloudcmp.store.plan_rows import OWN, Origin
from cloudcmp.store.sample_files import check_no_rows_lost, compact, remove_leftovers
from cloudcmp.store.samples import IMPORTED_FILE, SAMPLES_FOLDER
from cloudcmp.store.seals import MadeElsewhere, Seals, sign_all, unsigned_rows
from cloudcmp.store.user_key import new_study_key, study_key

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")


class StudyStore:
    """The only access to a study's folder. When a writing method returns, its data is on the disk.

    Methods may be called from several threads. All raise StorageFault for a full, read-only or failing disk and
    CorruptStore for a file that differs from its acknowledged content.
    """

    def __init__(self, folder: Path, database: Database, lock: StudyLock | None, seals: Seals | None = None) -> None:
        """Called by `create` and `open` only."""
        self.folder = folder
        self._database = database
        self._lock = lock
        self._reserve = Reserve(folder)
        self._samples = folder / SAMPLES_FOLDER
        self.moved_aside: tuple[str, ...] = ()
        self.plan = plan_rows.load_plan(database)
        origin = plan_rows.load_origin(database)
        self.study_text = origin.study_text
        self.provenance = dict(origin.provenance)
        self.created_at = origin.created_at
        self.tag = plan_rows.load_tag(database) or plan_rows.tag_of(self.plan, self.created_at)
        self._ended = EndedRows(database, kept=lock is None)
        self.key_fault: StorageFault | None = None
        try:
            database.seals = seals or Seals(study_key(self.tag))
        except StorageFault as fault:
            if lock:
                raise
            self.key_fault = fault  # a reader needs no key

    @classmethod
    def create(
        cls, folder: Path, plan: Plan, *, study_text: str, provenance: Mapping[str, str], created_at: float
    ) -> "StudyStore":
        """Creates a study's folder with its plan, opened for writing; `created_at` in Unix seconds.

        Raises UserMistake if the folder exists and is not empty; leaves nothing behind if it fails.
        """
        seals = lay_out(folder, plan, Origin(study_text, dict(provenance), created_at), lambda _: {})
        return cls.open(folder, write=True, seals=seals)

    @classmethod
    def open(cls, folder: Path, *, write: bool, ending: bool = False, seals: Seals | None = None) -> "StudyStore":
        """Opens an existing study; with `write` for this process alone, and removes leftovers of a crash.

        `ending` is for commands that only end the study's resources: opening may then already use the reserve for a
        full disk, and ignores faults of trials or samples. `seals` are those of a study that was just created, by
        default this user's. Raises UserMistake if the folder holds no study, MadeElsewhere if it is opened for writing
        and holds rows of another user, StudyBusy, NewerSchema and CorruptStore.
        """
        with storage(folder):
            if not (folder / DATABASE_FILE).is_file():
                raise no_study(folder)
        lock = lock_of(folder, write=write, ending=ending)
        try:
            crash_point("open.locked")
            database = open_database(folder, write=write, reserve=ending)
            try:
                store = cls(folder, database, lock, seals)
                if write and not store.made_here():
                    raise MadeElsewhere.of(folder, database.version)
                if write:
                    store._migrate(ending=ending)
                if not ending:
                    plan_rows.check_places(database, store.plan)
                    check_no_rows_lost(database, store._samples, store._ended)
                if write:
                    store._tidy_up(ending=ending)
            except BaseException:
                database.close()
                raise
        except BaseException:
            if lock is not None:
                lock.release()
            raise
        return store

    @classmethod
    def adopt(cls, folder: Path) -> None:
        """Signs a study that was made elsewhere as this user's own; from then on its rows are trusted.

        Raises the errors of `open` for a study that cannot be written.
        """
        lock = lock_of(folder, write=True, ending=True)
        try:
            with closing(open_database(folder, write=True, reserve=True)) as database:
                store = cls(folder, database, None)
                store._migrate(ending=True)
                database.seals = Seals(new_study_key(store.tag))
                with database.transaction() as connection:
                    plan_rows.insert_tag(connection, database.seals, store.tag)
                    plan_rows.sign_plan(connection, database.seals)
                    sign_all(connection, database.seals)
        finally:
            if lock is not None:
                lock.release()

    @property
    def version(self) -> int:
        """The schema version in which the study was written."""
        return self._database.version

    def made_here(self) -> bool:
        """True if every readable row was written by this user on this computer; reads all of them."""
        signed = next(unsigned_rows(self._database.rows, self._database.seals), None) is None
        return signed and plan_rows.plan_is_signed(self._database)

    def _migrate(self, *, ending: bool) -> None:
        if ending:
            self._despite_full_disk(self._database.migrate)
        else:
            self._database.migrate()

    def _tidy_up(self, *, ending: bool) -> None:
        crash_point("open.before_sweep")
        if not ending:
            self.moved_aside = remove_leftovers(self._database, self._samples)
        with suppress(OSError):  # a study works without it, and its disk may be full now
            self._reserve.keep()

    def close(self) -> None:
        """Closes the database and releases the lock."""
        try:
            self._database.close()
        finally:
            if self._lock is not None:
                self._lock.release()
                self._lock = None

    def __enter__(self) -> "StudyStore":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def replan(self, plan: Plan) -> None:
        """Replaces the plan from the first launch that has not begun; raises ValueError if that changes what has."""
        plan_rows.replan(self._database, self.plan, plan, self.tag)
        self.plan = plan

    # Leases and launches

    def append_lease(self, row: LeaseRow) -> None:
        """Writes one row of the ledger. On a full disk an INTENT fails; every other row may use the reserve."""
        if row.event is LeaseEvent.INTENT:
            ledger.append_lease(self._database, row)
        else:
            self._despite_full_disk(lambda: ledger.append_lease(self._database, row))

    def lease_rows(self) -> tuple[LeaseRow, ...]:
        """The whole ledger, in the order of writing."""
        return ledger.lease_rows(self._database)

    def leases(self) -> tuple[Lease, ...]:
        """Each lease in the state of its last row, in the order of their first rows."""
        return ledger.fold(self.lease_rows())

    def readable_leases(self) -> tuple[tuple[Lease, ...], int]:
        """Each lease by the intact rows alone, and the number of damaged rows."""
        rows, damaged = ledger.readable_rows(self._database)
        return ledger.fold(rows), damaged

    def begin_launch(self, launch: int, at: float, slot: str) -> None:
        """Writes the start of a launch of the plan on the lease of a slot."""
        ledger.begin_launch(self._database, launch, at, slot)

    def end_launch(self, launch: int, at: float, outcome: str, why: str = "", reason: str | None = None) -> None:
        """Writes the end of the launch last begun under this index; `reason` is the name of a reason, `why` text."""
        self._despite_full_disk(lambda: ledger.end_launch(self._database, launch, at, outcome, why, reason))

    def launches(self) -> tuple[LaunchRecord, ...]:
        """Each execution of a launch, in the order of their starts."""
        return ledger.launches(self._database)

    def _despite_full_disk(self, write: Callable[[], None]) -> None:
        try:
            write()
        except DiskFull:
            if not self._reserve.free():
                raise
            write()

    # Trials

    def begin_attempt(self, trial: int, attempt: int, started_at: float) -> None:
        """Writes that an attempt starts; raises ValueError if it was begun before."""
        attempt_rows.begin(self._database, (trial, attempt, started_at))

    def finish_attempt(
        self, attempt: Attempt, samples_of: Sequence[Sample], *, begin_next: Begin | None = None
    ) -> Attempt:
        """Writes the end of an attempt; once this returns, it and its samples survive the process and the machine.

        `n_samples` and `sha256` are filled in; a sample sent twice (by `seq`) is kept once. `begin_next` is (trial,
        attempt, started_at) of an attempt to begin in the same step. Raises ValueError for an attempt that is not open
        and for samples that are not finite.
        """
        rows = samples.distinct(samples_of)
        file = digest = None
        if rows:
            file = samples.file_name(attempt.trial, attempt.attempt)
            content = samples.encode(attempt.trial, attempt.attempt, rows)
            digest = hashlib.sha256(content).hexdigest()
            write_durably(self._samples / file, content)
        done = replace(attempt, n_samples=len(rows), sha256=digest)
        attempt_rows.finish(self._database, done, file, begin_next)
        return done

    def keep_output(self, trial: int, attempt: int, texts: Mapping[str, str], facts: str) -> str:
        """Writes the output of a command in an attempt; returns the facts with the file and its digest."""
        kept = outputs.keep(self.folder, trial, attempt, texts)
        return json.dumps({**json.loads(facts), outputs.KEY: kept}, sort_keys=True, separators=(",", ":"))

    def interrupt_open(self, at: Callable[[int], float]) -> int:
        """Ends each attempt that the end of the controller interrupted, at `at(trial)`; returns their number."""
        return attempt_rows.interrupt_open(self._database, at)

    def open_attempts(self) -> tuple[Begin, ...]:
        """Trial, attempt and start of each attempt that has begun and not ended."""
        return tuple(attempt_rows.open_attempts(self._database))

    def attempts(self) -> tuple[Attempt, ...]:
        """Every attempt that has ended, in the order of trial and attempt."""
        return tuple(attempt for attempt, _ in self._ended())

    def done(self) -> frozenset[int]:
        """The trials with an attempt that ended by itself, well or not; slow, as it reads all attempts."""
        return frozenset(attempt.trial for attempt in self.attempts() if not attempt.interrupted)

    def earlier(self, trial: int) -> int:
        """The number of attempts at a trial that ended by themselves: the k of its random numbers."""
        return attempt_rows.count(self._database, trial, interrupted_too=False)

    def next_attempt(self, trial: int) -> int:
        """The number of the next attempt at a trial: the count of those begun before."""
        return attempt_rows.count(self._database, trial, interrupted_too=True)

    # Values from samples

    def measured(self, totals: frozenset[str], drawn: SeriesLimits | None = None) -> StudyValues:
        """All results of every trial's first ok attempt: values, histograms, and the series within the limits `drawn`.

        There is a value for each trial with an attempt that ended by itself and each of its cells, in the order of the
        plan: the median of the samples, or for metrics in `totals` the whole run's total over its time. A cell is ok if
        the attempt gave a sample with a finite value, a percentile cell if it gave a histogram. The rows of an imported
        study are those of its table.
        """
        if self.plan.imported:
            return StudyValues(imported_table.trial_values(self.imported_rows()))

        def read(rows: Ended, files: Sequence[Path]) -> StudyValues:
            started = frozenset(attempt.trial for attempt, _ in rows if not attempt.interrupted)
            return values.measured(self.plan, started, attempt_rows.keys(self._chosen(rows)), files, totals, drawn)

        return self._reading(read)

    def sample_table(self) -> "pa.Table":
        """Every sample of each trial's first ok attempt, in the order of the trials; none for an imported study."""
        return self._reading(lambda rows, files: values.sample_table(attempt_rows.keys(self._chosen(rows)), files))

    def _reading(self, read: Callable[[Ended, Sequence[Path]], T]) -> T:
        """Reads the samples of every trial's first ok attempt, after verifying the digests of their files."""
        rows = self._ended()
        chosen = self._chosen(rows)
        try:
            return read(rows, [samples.checked(one) for one in samples.sources(self._database, self._samples, chosen)])
        except CorruptStore:
            if chosen == self._chosen(self._ended()):
                raise
        return self._reading(read)  # the writing process has compacted the files meanwhile

    def _chosen(self, rows: Ended) -> Ended:
        planned_trials = {trial.index for trial in self.plan.trials}
        return tuple(found for trial, found in attempt_rows.first_ok(rows).items() if trial in planned_trials)

    def consistent(self, read: Callable[[], T]) -> T:
        """The result of `read`, whose reads of this store all see the study at one moment.

        Only for a store that is open for reading. Another process may write meanwhile, and compact the files: then all
        is read once more.
        """
        while True:
            before: tuple[tuple[Attempt, str | None], ...] = ()
            try:
                with self._database.snapshot():
                    before = self._ended()
                    return read()
            except CorruptStore:
                if set(before) <= set(self._ended()):
                    raise

    def verify(self) -> None:
        """Checks every file of samples and outputs against its digest; raises CorruptStore naming each damaged one."""
        faults: list[Fault] = []
        table = imported_table.source(self._database, self._samples)
        files = samples.sources(self._database, self._samples, self._ended())
        for source in [*files, *([] if table is None else [table])]:
            try:
                samples.checked(source)
            except CorruptStore as error:
                faults.extend(error.faults)
        faults.extend(outputs.damaged(self.folder, self.attempts()))
        if faults:
            raise CorruptStore(*faults)

    def compact(self) -> None:
        """Merges the small files of samples into one, at the end of a study; a crash during it is harmless."""
        compact(self._database, self._samples)

    def imported_rows(self) -> ImportedRows:
        """The rows of an imported study's table, in its order; empty for a measured study."""
        rows = imported_table.rows(self._database, self._samples, own=self.made_here())
        if not rows.launches() <= {launch.index for launch in self.plan.launches}:
            raise corrupt(self._samples / IMPORTED_FILE, "the table names a launch that the plan does not have")
        return rows

    def imported_metrics(self) -> dict[str, Metric]:
        """The metrics of an imported study's table, by name; empty for a measured study."""
        return imported_table.metrics(self._database)

    # Notes

    def prices(self) -> tuple[tuple[str, str, str, Price], ...]:
        """Provider, region, offering and price of each candidate whose price was known when the study was planned."""
        return plan_rows.prices(self._database)

    def pseudonym_key(self) -> bytes:
        """The study's own random key for the pseudonyms of addresses and ids in reports."""
        return plan_rows.pseudonym_key(self._database)

    def meta(self, key: str) -> str | None:
        """The short text under a key, None if there is none."""
        return plan_rows.get_meta(self._database, key)

    def set_meta(self, key: str, value: str) -> None:
        """Writes a short text under a key, replacing an earlier one."""
        if key.startswith(OWN):
            raise ValueError(f"the key {key!r} is the store's own")
        with self._database.transaction() as connection:
            plan_rows.put_meta(connection, self._database.seals, key, value)
            crash_point("meta.before_commit")
        crash_point("meta.after_commit")


def open_to_end(folder: Path) -> tuple[StudyStore, str]:
    """Opens a study only to end its resources, for writing if possible; returns why it is read-only, else "".

    Raises the first fault if it cannot even be read.
    """
    try:
        return StudyStore.open(folder, write=True, ending=True), ""
    except (StorageFault, CorruptStore) as fault:
        try:
            return StudyStore.open(folder, write=False, ending=True), str(fault)
        except (StorageFault, CorruptStore):
            raise fault from None
