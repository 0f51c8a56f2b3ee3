"""Opens a study's folder: its lock, its database, and the tag of a damaged one."""

import errno
import fcntl
import os
import stat
from contextlib import closing, suppress
from pathlib import Path

from cloudcmp.errors import CloudcmpError, CorruptStore, StorageFault, StudyBusy
from cloudcmp.store import plan_rows
from cloudcmp.store.database import Database
from cloudcmp.store.faults import DiskFull, from_os, not_plain
from cloudcmp.store.files import Reserve

LOCK_FILE = "study.lock"
_NOT_PLAIN = {errno.ELOOP, errno.ENXIO, errno.EISDIR}


class StudyLock:
    """The exclusive right to write to a study's folder, held from creation to `release`.

    The lock file is separate from the database, because closing any descriptor of a file drops SQLite's own locks on
    it.
    """

    def __init__(self, folder: Path, *, write: bool = True) -> None:
        """Takes the lock, or raises StudyBusy at once; raises StorageFault if the folder cannot be written.

        Without `write` it locks the existing file, and raises StorageFault if the file cannot be read. Raises
        CorruptStore if the lock is not a plain file.
        """
        path = folder / LOCK_FILE
        flags = os.O_RDWR | os.O_CREAT if write else os.O_RDONLY
        try:
            self._descriptor = os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
        except OSError as error:
            if error.errno in _NOT_PLAIN:
                raise not_plain(path) from error
            raise from_os(error, path) from error
        if not stat.S_ISREG(os.fstat(self._descriptor).st_mode):
            self.release()
            raise not_plain(path)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.release()
            raise StudyBusy.at(
                str(folder), "another process works on this study", "wait for it to end, or stop it"
            ) from None
        except OSError as error:
            self.release()
            raise from_os(error, path) from error

    def release(self) -> None:
        """Lets others write."""
        os.close(self._descriptor)


def lock_of(folder: Path, *, write: bool, ending: bool) -> StudyLock | None:
    """The lock of a study for a writer; None for a reader.

    A command that only ends the study's resources (`ending`) takes the lock if possible. Raises StudyBusy, StorageFault
    and CorruptStore.
    """
    if write:
        return StudyLock(folder)
    if ending:
        with suppress(StorageFault, CorruptStore):
            return StudyLock(folder, write=False)
    return None


def open_database(folder: Path, *, write: bool, reserve: bool) -> Database:
    """The database of a study; with `reserve` the reserved space is freed if the disk is full.

    SQLite needs space for the index of its log. Raises the errors of `Database`.
    """
    try:
        return Database(folder, write=write)
    except DiskFull:
        if not (reserve and Reserve(folder).free()):
            raise
        return Database(folder, write=write)


def tag_in(folder: Path) -> str | None:
    """The tag of a study that is otherwise unreadable; None if the tag is unreadable too."""
    with suppress(CloudcmpError), closing(Database(folder, write=False)) as database:
        return plan_rows.load_tag(database)
    return None
