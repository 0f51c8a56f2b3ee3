"""The files in the folder of samples: those that rows name, leftovers of a crash, and evidence of lost rows."""

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from cloudcmp.errors import CorruptStore, Fault, UserMistake
from cloudcmp.store import attempts as attempt_rows
from cloudcmp.store.crash import crash_point
from cloudcmp.store.database import Database
from cloudcmp.store.faults import corrupt, storage
from cloudcmp.store.files import sha256_of, write_durably
from cloudcmp.store.planned import digest_key, digest_of, put_meta
from cloudcmp.store.samples import COMPRESSION, FILE_NAME, IMPORTED_FILE, Source, checked, file_name, schema, sources
from cloudcmp.store.untrusted_parquet import batches, opened_parquet

if TYPE_CHECKING:
    import pyarrow as pa

_TRIAL = re.compile(r"trial-(\d+)-(\d+)\.parquet")
_STUDY = re.compile(r"study-\d+\.parquet")
_ASIDE = ".unacknowledged"
_ROWS_AT_ONCE = 1 << 20
_ROWS_A_GROUP = 256 * 1024
_PART = re.compile(r"(trial-\d+-\d+|study-\d+|imported)\.parquet\.\d+\.part")


def is_file_of_samples(name: str) -> bool:
    """Whether a file's name is one that the store gives to files of samples, finished or not."""
    return FILE_NAME.fullmatch(name) is not None or _PART.fullmatch(name) is not None


def check_no_rows_lost(database: Database, folder: Path) -> None:
    """Raise CorruptStore if a file holds samples of an attempt that the database does not know.

    An attempt is written down before its samples: such a file shows that rows were lost, as they are when `study.db` is
    copied without its log. Rows of attempts without samples are lost without a trace. A study that another process
    works on may be read meanwhile: the files are listed first.
    """
    if not os.path.lexists(folder):
        return  # what reads samples says that they are missing
    with _opened(folder) as descriptor:
        names = sorted(os.listdir(descriptor))  # noqa: PTH208 - by the descriptor
    known = attempt_rows.begun(database)
    unknown = [name for name in names if (found := _TRIAL.fullmatch(name)) and _attempt(found) not in known]
    if whole := [name for name in names if _STUDY.fullmatch(name)]:
        rows = attempt_rows.ended(database)
        named = {file for _, file in rows}
        kept = {(attempt.trial, attempt.attempt) for attempt, file in rows if file is not None}
        unknown += [name for name in whole if name not in named and not _attempts_in(folder / name) <= kept]
    if unknown:
        files = f"{len(unknown)} files of samples, {unknown[0]} first," if len(unknown) > 1 else unknown[0]
        what = f"lacks the rows of {files} which were acknowledged"
        next_ = "restore study.db together with study.db-wal from a copy, or move the files out of samples/"
        raise CorruptStore(Fault(str(database.path), what, next_))


def _attempts_in(path: Path) -> set[tuple[int, int]]:
    """The attempts whose samples a file of several trials holds; raises CorruptStore where it cannot be read."""
    found: set[tuple[int, int]] = set()
    try:
        with opened_parquet(path, "") as file:
            for batch in batches(file, path, ("trial_id", "attempt"), _ROWS_AT_ONCE):
                found.update(zip(*(column.to_pylist() for column in batch.columns), strict=True))
    except FileNotFoundError:
        return set()  # the process that writes has removed it meanwhile
    except UserMistake as error:
        raise corrupt(path, f"is named by no row and cannot be read ({error.faults[0].what})") from error
    return found


def _attempt(found: re.Match[str]) -> tuple[int, int]:
    return int(found[1]), int(found[2])


def remove_leftovers(database: Database, folder: Path) -> tuple[str, ...]:
    """Remove what a crash or compaction left: unfinished files, and files whose samples are in a later one.

    A whole file of an attempt that was cut short is kept under another name, because nothing tells whether its row was
    lost or never written; returns these names. Nothing is removed before every row is read, every file that a row names
    is seen, and the digest of the file that holds the samples now is right; raises CorruptStore otherwise.
    """
    rows = attempt_rows.ended(database)
    named = {file for _, file in rows if file is not None}
    if digest_of(database, IMPORTED_FILE) is not None:
        named.add(IMPORTED_FILE)
    moved = {file_name(one.trial, one.attempt) for one, file in rows if file is not None and _STUDY.fullmatch(file)}
    cut = {file_name(*key) for key in attempt_rows.begun(database)} - named - moved
    with _opened(folder) as descriptor:
        names = sorted(os.listdir(descriptor))  # noqa: PTH208 - by the descriptor
        missing = sorted(named.difference(names))
        if missing:
            raise corrupt(folder / missing[0], "the samples of acknowledged trials are missing")
        left = [name for name in names if name not in named and
                (name in moved or _PART.fullmatch(name) or _STUDY.fullmatch(name))]  # fmt: skip
        if not moved.isdisjoint(left) or any(_STUDY.fullmatch(name) for name in left):
            for source in sources(database, folder, rows):
                checked(source)
        aside = tuple(name for name in names if name in cut)
        with storage(folder):
            for name in aside:
                os.rename(name, f"{name}{_ASIDE}", src_dir_fd=descriptor, dst_dir_fd=descriptor)
        for name in left:
            crash_point("sweep.before_unlink")
            with suppress(OSError):  # what stays is removed when the study is next opened
                os.unlink(name, dir_fd=descriptor)
        if left or aside:
            with storage(folder):
                os.fsync(descriptor)
    return aside


@contextmanager
def _opened(folder: Path) -> Iterator[int]:
    """A descriptor of the folder itself; raises CorruptStore where it is missing, or a link to another one."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        raise corrupt(folder, "the folder of samples is missing") from None
    except NotADirectoryError:
        raise corrupt(folder, "is a link or no folder: the samples are not in the study") from None
    except OSError as error:
        with storage(folder):
            raise error
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def compact(database: Database, folder: Path) -> None:
    """Write all samples of a study to one file, name it in the rows of their attempts, then remove the small ones.

    The order is that of every file: durable first, named second. After a crash at any step the study reads the same.
    """
    small = sources(database, folder, attempt_rows.ended(database))
    if len(small) < 2:
        return
    taken = [int(path.stem.split("-")[1]) for path in folder.glob("study-*.parquet")]
    path = folder / f"study-{max(taken, default=-1) + 1}.parquet"
    write_durably(path, lambda file: _write_all(small, file))
    with storage(path):
        digest = sha256_of(path)
    with database.transaction() as connection:
        put_meta(connection, database.seals, digest_key(path.name), digest)
        attempt_rows.move_samples(database, connection, path.name)
        crash_point("compact.before_commit")
    crash_point("compact.after_commit")
    remove_leftovers(database, folder)
    crash_point("compact.after_sweep")


def _write_all(small: Iterable[Source], file: BinaryIO) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pq.ParquetWriter(file, schema(), compression=COMPRESSION) as writer:
        waiting: list[pa.Table] = []
        for table in _tables(small):
            waiting.append(table)
            if sum(part.num_rows for part in waiting) >= _ROWS_A_GROUP:
                writer.write_table(pa.concat_tables(waiting))
                waiting = []
        if waiting:
            writer.write_table(pa.concat_tables(waiting))


def _tables(small: Iterable[Source]) -> Iterator["pa.Table"]:
    import pyarrow.parquet as pq

    for source in small:
        with pq.ParquetFile(checked(source)) as file:
            for group in range(file.num_row_groups):
                yield file.read_row_group(group, use_threads=False)
