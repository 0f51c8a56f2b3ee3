"""One writer a study: an exclusive lock that the kernel drops when its process ends, however it ends."""

import fcntl
import os
from pathlib import Path

from cloudcmp.errors import StudyBusy
from cloudcmp.store.faults import from_os

LOCK_FILE = "study.lock"


class StudyLock:
    """The right to write to a study's folder, held from creation to `release`.

    The file is apart from the database, because closing any descriptor of a file drops SQLite's own locks on it.
    """

    def __init__(self, folder: Path, *, write: bool = True) -> None:
        """Take the lock or raise StudyBusy at once; StorageFault where the folder can not be written.

        Without `write` it is taken by the file as it is, and the fault is that it can not be read.
        """
        path = folder / LOCK_FILE
        how = os.O_RDWR | os.O_CREAT if write else os.O_RDONLY
        try:
            self._descriptor = os.open(path, how | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise from_os(error, path) from error
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
