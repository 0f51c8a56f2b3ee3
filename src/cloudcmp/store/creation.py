"""Creates a study's folder; it is a study only once the plan is committed."""

import errno
import os
import re
import secrets
import shutil
import stat
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from cloudcmp.errors import CloudcmpError, Fault, UserMistake
from cloudcmp.model.plan import Plan
from cloudcmp.store.access import LOCK_FILE, StudyLock
from cloudcmp.store.crash import crash_point
from cloudcmp.store.database import DATABASE_FILE, Database
from cloudcmp.store.faults import storage
from cloudcmp.store.files import RESERVE_FILE, Reserve, sync_folder
from cloudcmp.store.plan_rows import (
    Origin,
    insert_origin,
    insert_plan,
    insert_pseudonym_key,
    insert_tag,
    put_meta,
    tag_of,
)
from cloudcmp.store.sample_files import is_file_of_samples
from cloudcmp.store.samples import SAMPLES_FOLDER
from cloudcmp.store.seals import Seals
from cloudcmp.store.user_key import KEY_BYTES, NoPlaceForKey, new_study_key

_PART = ".part"
_FILES = {LOCK_FILE, RESERVE_FILE, DATABASE_FILE, *(f"{DATABASE_FILE}-{end}" for end in ("wal", "shm", "journal"))}


def lay_out(folder: Path, plan: Plan, origin: Origin, fill: Callable[[Path], Mapping[str, str]]) -> Seals:
    """Creates a study's folder, and returns its seals.

    `fill` may put files into the folder of samples, and returns notes to be stored. Creation is atomic, even if the
    process dies: the folder is created next to its final path under a hidden name and renamed. Raises UserMistake if
    the folder exists and is not empty.
    """
    tag = tag_of(plan, origin.created_at)
    seals = Seals(_key_of(plan, tag))
    with storage(folder):
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise _not_empty(folder)
        folder.parent.mkdir(parents=True, exist_ok=True)
        _sweep_parts(folder)
        part = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=_PART, dir=folder.parent))
    try:
        lock = StudyLock(part)
        try:
            _fill_folder(part, plan, origin, fill, tag, seals)
            _move(part, folder)
        finally:
            lock.release()
    except CloudcmpError as error:
        shutil.rmtree(part, ignore_errors=True)
        raise type(error)(*(_with_final_path(fault, part, folder) for fault in error.faults)) from error
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise
    return seals


def _key_of(plan: Plan, tag: str) -> bytes:
    """The key that signs a new study; a temporary one if none can be kept and the study rents and runs nothing."""
    try:
        return new_study_key(tag)
    except NoPlaceForKey:
        if plan.imported or all(one.simulated for one in plan.candidates):
            return secrets.token_bytes(KEY_BYTES)
        raise


def _with_final_path(fault: Fault, part: Path, folder: Path) -> Fault:
    """A fault with the path of the requested folder, which does not exist yet."""
    return Fault(
        fault.where.replace(str(part), str(folder)),
        fault.what,
        fault.next.replace("go on with --resume", "run again"),
    )


def _not_empty(folder: Path) -> UserMistake:
    fault = Fault(str(folder), "is there already and is not empty", "name a new folder, or go on with --resume")
    return UserMistake(fault)


def _sweep_parts(folder: Path) -> None:
    """Removes the leftovers of killed processes for this folder name; a folder in creation holds its lock.

    Keeps other folders with such a name: those of other users, and those that hold more than a new study does.
    """
    pattern = re.compile(rf"\.{re.escape(folder.name)}\.[a-z0-9_]{{8}}{re.escape(_PART)}")  # the names of mkdtemp
    parts: list[Path] = []
    with suppress(OSError):  # a folder that cannot be listed may still take a study
        parts = [path for path in folder.parent.iterdir() if pattern.fullmatch(path.name)]
    for part in parts:
        with suppress(OSError, CloudcmpError):
            if _is_unfinished(part):
                _remove_unfinished(part)


def _remove_unfinished(part: Path) -> None:
    with suppress(OSError):  # it was killed before it created its lock
        part.rmdir()
        return
    lock = StudyLock(part, write=False)
    try:
        if _is_unfinished(part):
            shutil.rmtree(part, ignore_errors=True)
    finally:
        lock.release()


def _is_unfinished(part: Path) -> bool:
    """True if a folder is this user's and holds only files of `lay_out`; raises OSError."""
    if not _is_own(part.lstat(), stat.S_ISDIR):
        return False
    samples = part / SAMPLES_FOLDER
    for path in part.iterdir():
        if not (_is_own(path.lstat(), stat.S_ISDIR) if path == samples else _is_own_file(path, path.name in _FILES)):
            return False
    return not samples.exists() or all(_is_own_file(path, is_file_of_samples(path.name)) for path in samples.iterdir())


def _is_own_file(path: Path, is_named: bool) -> bool:
    return is_named and _is_own(path.lstat(), stat.S_ISREG)


def _is_own(status: os.stat_result, is_kind: Callable[[int], bool]) -> bool:
    return is_kind(status.st_mode) and status.st_uid == os.geteuid()


def _move(part: Path, folder: Path) -> None:
    with storage(folder):
        try:
            part.rename(folder)
        except OSError as error:
            if error.errno in {errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR}:
                raise _not_empty(folder) from None
            raise
        crash_point("create.renamed")
        sync_folder(folder.parent)


def _fill_folder(
    folder: Path, plan: Plan, origin: Origin, fill: Callable[[Path], Mapping[str, str]], tag: str, seals: Seals
) -> None:
    samples = folder / SAMPLES_FOLDER
    with storage(folder):
        samples.mkdir(mode=0o700)
        crash_point("create.folder_made")
        Reserve(folder).keep()
    Database.create(folder)
    notes = fill(samples)
    with storage(folder):
        sync_folder(folder)
    database = Database(folder, write=True)
    try:
        with database.transaction() as connection:
            insert_plan(connection, seals, plan)
            insert_origin(connection, seals, origin)
            insert_tag(connection, seals, tag)
            insert_pseudonym_key(connection, seals)
            for key, value in notes.items():
                put_meta(connection, seals, key, value)
            crash_point("create.before_commit")
        crash_point("create.after_commit")
    finally:
        database.close()
