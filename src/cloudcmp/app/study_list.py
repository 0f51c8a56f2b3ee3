"""The studies of this user that were written elsewhere than usual, each a small file in the user's state folder.

A file for each study, named by the digest of its path, needs no lock between concurrent writers, and a crash leaves it
whole or not at all.
"""

import hashlib
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from cloudcmp.app.provider_clients import brief
from cloudcmp.errors import CloudcmpError
from cloudcmp.owned_folder import OwnedPath, names_in, read_small, write_whole
from cloudcmp.store import state_folder

_FOLDER = "studies"
_DATABASE = "study.db"


def remember(folder: Path) -> str:
    """Add a study's folder to the list; returns a warning if that fails, else an empty text."""
    path = os.fsencode(os.path.abspath(folder))  # noqa: PTH100 - a link on the way stays, as the user typed it
    try:
        with OwnedPath(state_folder(), (_FOLDER,)).folder(make=True) as list_:
            write_whole(list_, _name(path), path)
    except (OSError, CloudcmpError) as error:
        return f"'cloudcmp list studies' will not show {folder} from elsewhere: {brief(error)}"
    return ""


def remembered() -> tuple[Path, ...]:
    """The listed folders that still hold a study, sorted; the others are removed from the list."""
    try:
        with OwnedPath(state_folder(), (_FOLDER,)).folder() as list_:
            return tuple(sorted(_existing(list_)))
    except (OSError, CloudcmpError):  # there is no list, or it is not this user's
        return ()


def _existing(list_: int) -> Iterator[Path]:
    for name in names_in(list_):
        with suppress(OSError, ValueError):
            path = read_small(list_, name)
            if _name(path) != name:
                continue  # not written by `remember`, or by one that has not finished
            folder = Path(os.fsdecode(path))
            if _is_gone(folder):
                os.unlink(name, dir_fd=list_)
            else:
                yield folder


def _is_gone(folder: Path) -> bool:
    """True if a folder certainly holds no study; one that cannot be looked into may."""
    try:
        (folder / _DATABASE).lstat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


def _name(path: bytes) -> str:
    return hashlib.sha256(path).hexdigest()
