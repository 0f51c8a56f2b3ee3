"""Output files named by a user: an existing file is replaced only by one of its kind."""

import os
from collections.abc import Callable
from pathlib import Path

from cloudcmp.errors import UserMistake
from cloudcmp.store.faults import storage

_HEAD_BYTES = 4096


def is_stream(path: Path) -> bool:
    """True if a path names a device, a pipe or an open file, such as /dev/stdout: it is written to, never replaced."""
    folder = path.parent.resolve()
    if folder == Path("/dev") or folder.is_relative_to("/proc"):
        return True
    return path.exists() and not path.is_file() and not path.is_dir()


def is_standard_output(path: Path) -> bool:
    """True if a path in /dev or /proc names this process's own standard output, such as /dev/stdout."""
    try:
        return is_stream(path) and os.path.samestat(path.stat(), os.fstat(1))
    except OSError:
        return False


def check_replaceable(path: Path, what: str, is_one: Callable[[bytes], bool]) -> None:
    """Raises UserMistake if the file at an output path is something other than `what`.

    `is_one` gets the first bytes of the file. An empty file may be replaced, and so may a link, which is not followed.
    """
    if path.is_dir():
        raise UserMistake.at(str(path), "is a folder", "name a file")
    if is_stream(path):
        raise UserMistake.at(str(path), "is no plain file", "name another file")
    if path.is_symlink() or not path.exists():
        return
    with storage(path), path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    if head and not is_one(head):
        raise UserMistake.at(
            str(path), f"is there already and is no {what}, so it is not replaced", "name another file, or remove it"
        )
