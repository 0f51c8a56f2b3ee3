"""One writer a study: an exclusive lock that the kernel drops when its process ends, however it ends."""

import errno
import fcntl
import os
import stat
from pathlib import Path

from cloudcmp.errors import StudyBusy
from cloudcmp.store.faults import from_os, not_plain

LOCK_FILE = "study.lock"
_NOT_PLAIN = {errno.ELOOP, errno.ENXIO, errno.EISDIR}


class StudyLock:
    """The right to write to a study's folder, held from creation to `release`.

    The file is apart from the database, because closing any descriptor of a file drops SQLite's own locks on it.
    """

    def __init__(self, folder: Path, *, write: bool = True) -> None:
        """Take the lock or raise StudyBusy at once; StorageFault where the folder cannot be written.

        Without `write` it is taken by the file as it is, and the fault is that it cannot be read. Raises CorruptStore
        if the lock is no plain file.
        """
        path = folder / LOCK_FILE
        how = os.O_RDWR | os.O_CREAT if write else os.O_RDONLY
        try:
            self._descriptor = os.open(path, how | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
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
        """Let others write."""
        os.close(self._descriptor)
