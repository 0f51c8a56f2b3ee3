"""The making of a study's folder: nothing in it is a study until the plan is committed."""

import errno
import glob
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from cloudcmp.errors import CloudcmpError, Fault, UserMistake
from cloudcmp.model.plan import Plan
from cloudcmp.store.crash import crash_point
from cloudcmp.store.database import Database
from cloudcmp.store.faults import storage
from cloudcmp.store.files import Reserve, sync_folder
from cloudcmp.store.lock import StudyLock
from cloudcmp.store.planned import (
    Origin,
    insert_origin,
    insert_plan,
    insert_pseudonym_key,
    insert_tag,
    put_meta,
    tag_of,
)
from cloudcmp.store.samples import SAMPLES_FOLDER
from cloudcmp.store.seals import Seals
from cloudcmp.store.user_key import new_study_key

_PART = ".part"


def lay_out(folder: Path, plan: Plan, origin: Origin, fill: Callable[[Path], Mapping[str, str]]) -> None:
    """Make a study's folder; `fill` may put files into the folder of samples, and returns notes to be stored.

    The folder is there whole or not at all, whenever the process dies: it is made beside its place under a hidden name
    and renamed. Raises UserMistake where the folder is there and is not empty.
    """
    tag = tag_of(plan, origin.created_at)
    seals = Seals(new_study_key(tag))
    with storage(folder):
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise _taken(folder)
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
        raise type(error)(*(_as_asked(fault, part, folder) for fault in error.faults)) from error
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise


def _as_asked(fault: Fault, part: Path, folder: Path) -> Fault:
    """A fault in words of the folder that was asked for, of which nothing is there yet."""
    return Fault(
        fault.where.replace(str(part), str(folder)),
        fault.what,
        fault.next.replace("go on with --resume", "run again"),
    )


def _taken(folder: Path) -> UserMistake:
    fault = Fault(str(folder), "is there already and is not empty", "name a new folder, or go on with --resume")
    return UserMistake(fault)


def _sweep_parts(folder: Path) -> None:
    """Remove what killed processes left of folders of this name; one that is still being made holds its lock."""
    for part in folder.parent.glob(f".{glob.escape(folder.name)}.*{_PART}"):
        try:
            lock = StudyLock(part)
        except CloudcmpError:
            continue
        shutil.rmtree(part, ignore_errors=True)
        lock.release()


def _move(part: Path, folder: Path) -> None:
    with storage(folder):
        try:
            part.rename(folder)
        except OSError as error:
            if error.errno in {errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR}:
                raise _taken(folder) from None
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
