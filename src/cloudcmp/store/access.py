"""Opens a study's folder: its lock, its database, and the tag of a damaged one."""

from contextlib import closing, suppress
from pathlib import Path

from cloudcmp.errors import CloudcmpError, CorruptStore, StorageFault
from cloudcmp.store import planned
from cloudcmp.store.database import Database
from cloudcmp.store.faults import DiskFull
from cloudcmp.store.files import Reserve
from cloudcmp.store.lock import StudyLock


def lock_of(folder: Path, *, write: bool, ending: bool) -> StudyLock | None:
    """The lock of a study for a writer; None for a reader.

    A command that is `ending` what the study made takes the lock if it can be had. Raises StudyBusy, StorageFault and
    CorruptStore.
    """
    if write:
        return StudyLock(folder)
    if ending:
        with suppress(StorageFault, CorruptStore):
            return StudyLock(folder, write=False)
    return None


def open_database(folder: Path, *, write: bool, reserve: bool) -> Database:
    """The database of a study; with `reserve` the space that was set aside is freed if the disk is full.

    SQLite needs some for the index of its log. Raises what `Database` raises.
    """
    try:
        return Database(folder, write=write)
    except DiskFull:
        if not (reserve and Reserve(folder).free()):
            raise
        return Database(folder, write=write)


def tag_in(folder: Path) -> str | None:
    """The tag of a study of which hardly anything can be read any more, None where not even that can."""
    with suppress(CloudcmpError), closing(Database(folder, write=False)) as database:
        return planned.load_tag(database)
    return None
