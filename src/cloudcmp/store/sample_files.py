"""The files in the folder of samples: those that rows name, leftovers of a crash, and evidence of lost rows."""

import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from cloudcmp.errors import CorruptStore, Fault, UserMistake
from cloudcmp.store import attempts as attempt_rows
from cloudcmp.store.attempts import Ended
from cloudcmp.store.crash import crash_point
from cloudcmp.store.database import Database
from cloudcmp.store.faults import corrupt, storage
from cloudcmp.store.files import sha256_of, write_durably
from cloudcmp.store.plan_rows import digest_key, digest_of, put_meta
from cloudcmp.store.samples import COMPRESSION, FILE_NAME, IMPORTED_FILE, Source, checked, file_name, schema, sources
from cloudcmp.store.untrusted_parquet import batches, opened_parquet

if TYPE_CHECKING:
    import pyarrow as pa

_TRIAL = re.compile(r"trial-(\d+)-(\d+)\.parquet")
_STUDY = re.compile(r"study-\d+\.parquet")
_RENAMED = ".unacknowledged"
_ROWS_AT_ONCE = 1 << 20
_ROWS_A_GROUP = 256 * 1024
_PART = re.compile(r"(trial-\d+-\d+|study-\d+|imported)\.parquet\.\d+\.part")


def is_file_of_samples(name: str) -> bool:
    """True if a file name is one that the store gives to files of samples, finished or not."""
    return FILE_NAME.fullmatch(name) is not None or _PART.fullmatch(name) is not None


def check_no_rows_lost(database: Database, folder: Path, ended: Callable[[], Ended]) -> None:
    """Raises CorruptStore if a file holds samples of an attempt that the database does not know.

    An attempt is written to the database before its samples: such a file shows that rows were lost, for example because
    `study.db` was copied without its log. Lost rows of attempts without samples leave no trace. Another process may
    write to the study during the read: the files are listed first.
    """
    if not os.path.lexists(folder):
        return  # readers of samples report them as missing
    with _opened(folder) as descriptor:
        names = sorted(os.listdir(descriptor))  # noqa: PTH208 - by the descriptor
    known = attempt_rows.begun(database)
    unknown = [name for name in names if (match := _TRIAL.fullmatch(name)) and _attempt(match) not in known]
    if whole := [name for name in names if _STUDY.fullmatch(name)]:
        rows = ended()
        named = {file for _, file in rows}
        kept = {(attempt.trial, attempt.attempt) for attempt, file in rows if file is not None}
        unknown += [name for name in whole if name not in named and not _attempts_in(folder / name) <= kept]
    if unknown:
        files = f"{len(unknown)} files of samples, {unknown[0]} first," if len(unknown) > 1 else unknown[0]
        what = f"lacks the rows of {files} which were acknowledged"
        next_ = "restore study.db together with study.db-wal from a copy, or move the files out of samples/"
        raise CorruptStore(Fault(str(database.path), what, next_))


def _attempts_in(path: Path) -> set[tuple[int, int]]:
    """The attempts whose samples a file of several trials holds; raises CorruptStore if it cannot be read."""
    attempts: set[tuple[int, int]] = set()
    try:
        with opened_parquet(path, "") as file:
            for batch in batches(file, path, ("trial_id", "attempt"), _ROWS_AT_ONCE):
                attempts.update(zip(*(column.to_pylist() for column in batch.columns), strict=True))
    except FileNotFoundError:
        return set()  # the writing process has removed it meanwhile
    except UserMistake as error:
        raise corrupt(path, f"is named by no row and cannot be read ({error.faults[0].what})") from error
    return attempts


def _attempt(match: re.Match[str]) -> tuple[int, int]:
    return int(match[1]), int(match[2])


def remove_leftovers(database: Database, folder: Path) -> tuple[str, ...]:
    """Removes the leftovers of a crash or compaction: unfinished files, and files whose samples are in a later one.

    A complete file of an interrupted attempt is renamed and kept, because its row may have been lost or never written;
    returns these names. Before removing anything, it reads every row, checks that every file named in a row exists, and
    verifies the digest of the file that now holds the samples; raises CorruptStore otherwise.
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
        renamed = tuple(name for name in names if name in cut)
        with storage(folder):
            for name in renamed:
                os.rename(name, f"{name}{_RENAMED}", src_dir_fd=descriptor, dst_dir_fd=descriptor)
        for name in left:
            crash_point("sweep.before_unlink")
            with suppress(OSError):  # leftovers are removed when the study is next opened
                os.unlink(name, dir_fd=descriptor)
        if left or renamed:
            with storage(folder):
                os.fsync(descriptor)
    return renamed


@contextmanager
def _opened(folder: Path) -> Iterator[int]:
    """A descriptor of the folder itself; raises CorruptStore if it is missing, or a link to another one."""
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
    """Writes all samples of a study to one file, names it in the rows of their attempts, then removes the small ones.

    The order is that of every file: durable first, named second. After a crash at any step the study reads the same.
    """
    small = sources(database, folder, attempt_rows.ended(database))
    if len(small) < 2:
        return
    numbers = [int(path.stem.split("-")[1]) for path in folder.glob("study-*.parquet")]
    path = folder / f"study-{max(numbers, default=-1) + 1}.parquet"
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
        rows = 0
        for table in _tables(small):
            waiting.append(table)
            rows += table.num_rows
            if rows >= _ROWS_A_GROUP:
                writer.write_table(pa.concat_tables(waiting))
                waiting, rows = [], 0
        if waiting:
            writer.write_table(pa.concat_tables(waiting))


def _tables(small: Iterable[Source]) -> Iterator["pa.Table"]:
    import pyarrow.parquet as pq

    for source in small:
        with pq.ParquetFile(checked(source)) as file:
            for group in range(file.num_row_groups):
                yield file.read_row_group(group, use_threads=False)
