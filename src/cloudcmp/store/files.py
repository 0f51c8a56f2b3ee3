"""Durable files: written under a temporary name, fsynced, renamed, and the folder fsynced."""

import errno
import hashlib
import os
import stat
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import BinaryIO

from cloudcmp.store.crash import crash_point
from cloudcmp.store.faults import from_os, unconfirmed

RESERVE_FILE = "reserve"
RESERVE_BYTES = 4 * 1024 * 1024
TEMPORARY = ".part"


def sync_folder(folder: Path) -> None:
    """Makes the names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_durably(path: Path, content: bytes | Callable[[BinaryIO], None]) -> None:
    """Writes the file `path` durably and atomically, from bytes or by a function.

    After a failed fsync the kernel may drop the unwritten data and report success the next time, so the content is
    written once more to a new file, never fsynced again. Raises StorageFault; `path` is then unchanged.
    """
    for attempt in (0, 1):
        temporary = path.with_name(f"{path.name}.{attempt}{TEMPORARY}")
        try:
            if _write_temporary(temporary, content):
                crash_point("file.before_rename")
                temporary.rename(path)
                crash_point("file.before_folder_fsync")
                sync_folder(path.parent)
                crash_point("file.after_folder_fsync")
                return
        except OSError as error:
            raise from_os(error, path) from error
        finally:
            discard([temporary])
    raise unconfirmed(path)


def _write_temporary(path: Path, content: bytes | Callable[[BinaryIO], None]) -> bool:
    """Writes and fsyncs a file; returns False if only the fsync failed."""
    crash_point("file.before_write")
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        if isinstance(content, bytes):
            file.write(content)
        else:
            content(file)
        file.flush()
        crash_point("file.before_fsync")
        try:
            os.fsync(file.fileno())
        except OSError:
            return False
    return True


def discard(paths: Iterable[Path]) -> None:
    """Removes files if possible; the rest is removed when the study is next opened."""
    for path in paths:
        try:
            path.unlink(missing_ok=True)
        except OSError:
            continue


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file, as hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _allocate(descriptor: int, path: Path) -> None:
    try:
        os.posix_fallocate(descriptor, 0, RESERVE_BYTES)
    except OSError:
        discard([path])
        raise


class Reserve:
    """A file that reserves space for the clean-up of a study on a full disk."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / RESERVE_FILE

    def keep(self) -> None:
        """Reserves the space unless it is reserved; raises OSError, and leaves no part of it, on a full disk.

        Also raises OSError if a non-regular file has its name.
        """
        flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        descriptor = os.open(self._path, flags, 0o600)
        try:
            kind = os.fstat(descriptor)
            if not stat.S_ISREG(kind.st_mode):
                raise OSError(errno.EINVAL, "is no plain file")
            if kind.st_blocks * 512 < RESERVE_BYTES:
                _allocate(descriptor, self._path)
        finally:
            os.close(descriptor)

    def free(self) -> bool:
        """Frees the space; returns False if there was none."""
        try:
            self._path.unlink()
        except OSError:
            return False
        return True
