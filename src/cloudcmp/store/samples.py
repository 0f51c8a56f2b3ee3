"""The Parquet files of samples; each is read only if its digest is right."""

import errno
import hashlib
import io
import math
import os
import re
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cloudcmp.model.trial import Attempt, Sample
from cloudcmp.store.arrow import numbers, texts
from cloudcmp.store.database import Database
from cloudcmp.store.faults import corrupt, not_plain, storage
from cloudcmp.store.plan_rows import digest_of

if TYPE_CHECKING:
    import pyarrow as pa

SAMPLES_FOLDER = "samples"
COMPRESSION = "zstd"
IMPORTED_FILE = "imported.parquet"
_LARGE_BYTES = 64 * 1024 * 1024
FILE_NAME = re.compile(r"(trial-\d+-\d+|study-\d+|imported)\.parquet")


def schema() -> "pa.Schema":
    """The columns of every file of samples; `value` and `hist` exclude each other, `t_s` is in seconds."""
    import pyarrow as pa

    return pa.schema(
        [
            ("trial_id", pa.int32()),
            ("attempt", pa.int32()),
            ("seq", pa.int32()),
            ("metric", pa.string()),
            ("params", pa.string()),
            ("t_s", pa.float64()),
            ("value", pa.float64()),
            ("hist", pa.string()),
        ]
    )


def file_name(trial: int, attempt: int) -> str:
    """The name of the file of one attempt."""
    return f"trial-{trial:06d}-{attempt}.parquet"


def distinct(samples: Iterable[Sample]) -> list[Sample]:
    """The samples in the order of `seq`, without duplicates of retransmission.

    Raises ValueError for a time or a value that is not a finite number.
    """
    by_seq: dict[int, Sample] = {}
    for sample in samples:
        if not (math.isfinite(sample.t_s) and (sample.value is None or math.isfinite(sample.value))):
            raise ValueError(f"sample {sample.seq} of {sample.metric} is not finite")
        by_seq.setdefault(sample.seq, sample)
    return [by_seq[seq] for seq in sorted(by_seq)]


def encode(trial: int, attempt: int, samples: Sequence[Sample]) -> bytes:
    """The Parquet file of one attempt; the same samples give the same bytes."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = (
        numbers(np.full(len(samples), trial, np.int32)),
        numbers(np.full(len(samples), attempt, np.int32)),
        numbers(np.array([sample.seq for sample in samples], np.int32)),
        texts([sample.metric for sample in samples]),
        texts([sample.params for sample in samples]),
        numbers(np.array([sample.t_s for sample in samples], np.float64)),
        # None becomes NaN, which no sample is.
        numbers(np.array([sample.value for sample in samples], np.float64)),
        texts([sample.hist for sample in samples]),
    )
    buffer = io.BytesIO()
    # A few rows, until all are merged: dictionaries and statistics would be a quarter of the work.
    pq.write_table(pa.Table.from_arrays(columns, schema=schema()), buffer, compression=COMPRESSION,
                   use_dictionary=False, write_statistics=False)  # fmt: skip
    return buffer.getvalue()


@dataclass(frozen=True, slots=True)
class Source:
    """A file of samples, its acknowledged digest, and a description of the trials in it."""

    path: Path
    sha256: str
    whose: str


def sources(database: Database, folder: Path, attempts: Iterable[tuple[Attempt, str | None]]) -> list[Source]:
    """The files that hold the samples of some attempts, each once, in the order of the attempts."""
    digests: dict[str, str] = {}
    by_file: dict[str, Source] = {}
    for attempt, file in attempts:
        if attempt.sha256 is None or file is None or file in by_file:
            continue
        whose = f"trial {attempt.trial}, attempt {attempt.attempt}"
        if file.startswith("study-"):
            digests[file] = digests.get(file) or digest_of(database, file) or ""
            by_file[file] = Source(folder / file, digests[file], "all trials")
        else:
            by_file[file] = Source(folder / file, attempt.sha256, whose)
    return list(by_file.values())


def checked(source: Source) -> Path:
    """The path of a file after verifying its digest; raises CorruptStore naming file and trial."""
    with storage(source.path), _opened(source) as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != source.sha256:
        what = f"SHA-256 {digest[:12]}... instead of {source.sha256[:12]}..."
        raise corrupt(source.path, f"the samples of {source.whose} were changed ({what})")
    return source.path


def _opened(source: Source) -> io.BufferedReader:
    """A file of samples, opened for reading; raises CorruptStore for a missing file, a link, a pipe, or a large hole.

    The folder may come from a stranger, and hashing a hole of terabytes would take days.
    """
    path = source.path
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        raise corrupt(path, f"the samples of {source.whose} are missing") from None
    except OSError as error:
        if error.errno in {errno.ELOOP, errno.ENXIO}:
            raise not_plain(path) from error
        raise
    try:
        kind = os.fstat(descriptor)
        if not stat.S_ISREG(kind.st_mode):
            raise not_plain(path)
        if _has_hole(descriptor, kind):
            raise corrupt(path, f"has a hole in its {kind.st_size} bytes, so it is not what was written")
    except BaseException:
        os.close(descriptor)
        raise
    return os.fdopen(descriptor, "rb")


def _has_hole(descriptor: int, kind: os.stat_result) -> bool:
    """True if most of a large file is not on the disk.

    A file system that compresses files stores less than their size without a hole.
    """
    if kind.st_size <= _LARGE_BYTES or kind.st_blocks * 512 >= kind.st_size / 2:
        return False
    hole = os.lseek(descriptor, 0, os.SEEK_HOLE)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return hole < kind.st_size
