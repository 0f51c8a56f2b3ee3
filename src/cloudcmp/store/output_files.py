"""Files that a person names to be written: one that is there is replaced only by its like."""

from collections.abc import Callable
from pathlib import Path

from cloudcmp.errors import UserMistake
from cloudcmp.store.faults import storage

_HEAD_BYTES = 4096


def check_replaceable(path: Path, what: str, is_one: Callable[[bytes], bool]) -> None:
    """Raise UserMistake where something else than `what` stands at a path that is to be written.

    `is_one` is given the first bytes of the file. An empty file may be replaced, and so may a link, which is not
    followed.
    """
    if path.is_symlink():
        return
    if path.is_dir():
        raise UserMistake.at(str(path), "is a folder", "name a file")
    if not path.exists():
        return
    if not path.is_file():
        raise UserMistake.at(str(path), "is no plain file", "name another file")
    with storage(path), path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    if head and not is_one(head):
        raise UserMistake.at(
            str(path), f"is there already and is no {what}, so it is not replaced", "name another file, or remove it"
        )
