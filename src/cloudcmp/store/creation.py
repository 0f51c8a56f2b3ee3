"""The making of a study's folder: nothing in it is a study until the plan is committed."""

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from cloudcmp.errors import Fault, UserMistake
from cloudcmp.model.plan import Plan
from cloudcmp.store.crash import crash_point
from cloudcmp.store.database import Database
from cloudcmp.store.faults import storage
from cloudcmp.store.files import Reserve, discard, sync_folder
from cloudcmp.store.lock import StudyLock
from cloudcmp.store.planned import Origin, insert_origin, insert_plan, put_meta
from cloudcmp.store.samples import SAMPLES_FOLDER


def lay_out(folder: Path, plan: Plan, origin: Origin, fill: Callable[[Path], Mapping[str, str]]) -> None:
    """Make a study's folder; `fill` may put files into the folder of samples, and returns notes to be stored.

    Raises UserMistake where the folder is there and is not empty. What it made is removed again where it fails.
    """
    made = _make_folder(folder)
    try:
        lock = StudyLock(folder)
        try:
            _fill_folder(folder, plan, origin, fill)
        finally:
            lock.release()
    except BaseException:
        _remove(folder, made)
        raise


def _make_folder(folder: Path) -> bool:
    with storage(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        try:
            folder.mkdir(mode=0o700)
            return True
        except FileExistsError:
            if not folder.is_dir() or any(folder.iterdir()):
                raise UserMistake(
                    Fault(str(folder), "is there already and is not empty", "name a new folder, or go on with --resume")
                ) from None
            folder.chmod(0o700)
            return False


def _fill_folder(folder: Path, plan: Plan, origin: Origin, fill: Callable[[Path], Mapping[str, str]]) -> None:
    samples = folder / SAMPLES_FOLDER
    with storage(folder):
        samples.mkdir(mode=0o700)
        crash_point("create.folder_made")
        Reserve(folder).keep()
    Database.create(folder)
    notes = fill(samples)
    with storage(folder):
        sync_folder(folder)
        sync_folder(folder.parent)
    database = Database(folder, write=True)
    try:
        with database.transaction() as connection:
            insert_plan(connection, plan)
            insert_origin(connection, origin)
            for key, value in notes.items():
                put_meta(connection, key, value)
            crash_point("create.before_commit")
        crash_point("create.after_commit")
    finally:
        database.close()


def _remove(folder: Path, made: bool) -> None:
    """Remove what was made; the folder itself only where it was not there before."""
    if made:
        shutil.rmtree(folder, ignore_errors=True)
        return
    shutil.rmtree(folder / SAMPLES_FOLDER, ignore_errors=True)
    discard(list(folder.iterdir()))
