"""Makes many small files of samples one when a study ends."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from cloudcmp.store import attempts as attempt_rows
from cloudcmp.store.crash import crash_point
from cloudcmp.store.database import Database
from cloudcmp.store.faults import storage
from cloudcmp.store.files import sha256_of, write_durably
from cloudcmp.store.planned import digest_key, put_meta
from cloudcmp.store.sample_files import remove_leftovers
from cloudcmp.store.samples import COMPRESSION, Source, checked, schema, sources

if TYPE_CHECKING:
    import pyarrow as pa

_ROWS_A_GROUP = 256 * 1024


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
