"""Converts errors of the operating system and of SQLite into one-line faults."""

import errno
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cloudcmp.errors import CloudcmpError, CorruptStore, Fault, StorageFault, StudyBusy

_FULL = {errno.ENOSPC, errno.EDQUOT}
_INDEX_BYTES = 65536
_DENIED = {errno.EACCES, errno.EPERM}


class DiskFull(StorageFault):
    """The disk has no space left."""


def from_os(error: OSError, where: Path) -> StorageFault:
    """The fault for an OSError at a path."""
    if error.errno in _FULL:
        return disk_full(where)
    if error.errno == errno.EFBIG:
        return _storage(where, "the limit on the size of files is reached", "raise it, then go on with --resume")
    if error.errno == errno.EROFS:
        return _storage(where, "the file system is read-only", "make it writable or name another folder with --out")
    if error.errno in _DENIED:
        return _storage(where, "permission denied", "change its permissions or name another folder with --out")
    what = error.strerror or str(error)
    return _storage(where, f"input or output failed ({what})", "check the disk, then go on with --resume")


def from_sqlite(error: sqlite3.Error, where: Path) -> CloudcmpError:
    """The fault for an SQLite error on a database."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    if code == sqlite3.SQLITE_FULL or (code == sqlite3.SQLITE_IOERR and _no_room(where)):
        return disk_full(where)
    if code == sqlite3.SQLITE_READONLY:
        return from_os(OSError(errno.EACCES, ""), where)
    if code in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
        return from_os(OSError(errno.EIO, str(error)), where)
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StudyBusy(Fault(str(where.parent), "another process holds the study's database", "wait, then try again"))
    return corrupt(where, f"is damaged ({error})")


def _no_room(where: Path) -> bool:
    """True if the disk has no room for the index next to SQLite's log; SQLite reports that as an I/O error."""
    try:
        disk = os.statvfs(where.parent)
    except OSError:
        return False
    return disk.f_bavail * disk.f_frsize < _INDEX_BYTES


def disk_full(where: Path) -> DiskFull:
    """The fault of a disk without space."""
    return DiskFull.at(str(where), "the disk is full", "free some space, then go on with --resume")


def corrupt(where: Path, what: str) -> CorruptStore:
    """The fault of a file that does not hold what was acknowledged."""
    return CorruptStore(Fault(str(where), what, "restore the study's folder from a copy"))


def not_plain(where: Path) -> CorruptStore:
    """The fault of a link, a pipe or another non-regular file in the place of a study's file."""
    return corrupt(where, "is no plain file, which a study does not hold")


def unconfirmed(where: Path) -> StorageFault:
    """The fault of continuing after the disk did not confirm a write."""
    return _storage(
        where, "the disk did not confirm that it holds what was written", "check the disk, then go on with --resume"
    )


def _storage(where: Path, what: str, next: str) -> StorageFault:
    return StorageFault(Fault(str(where), what, next))


@contextmanager
def corrupt_if_malformed(where: Path, what: str) -> Iterator[None]:
    """Converts errors of malformed values into CorruptStore: a study may come from a stranger."""
    try:
        yield
    except (ValueError, TypeError, ArithmeticError, RecursionError) as error:
        raise corrupt(where, f"{what} makes no sense ({' '.join(str(error).split())})") from error


@contextmanager
def storage(where: Path) -> Iterator[None]:
    """Converts errors of the system and of SQLite inside into cloudcmp errors for this file."""
    try:
        yield
    except sqlite3.Error as error:
        raise from_sqlite(error, where) from error
    except UnicodeDecodeError as error:  # SQLite puts bytes of a damaged file into its messages
        raise corrupt(where, "is damaged (text that is not UTF-8)") from error
    except OSError as error:
        raise from_os(error, where) from error
