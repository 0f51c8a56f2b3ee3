"""The files that a command takes along to every machine: within the study's folder, and as they are now."""

import hashlib
from pathlib import Path as File
from typing import Any

from cloudcmp.model.command import ShippedFile
from cloudcmp.study.faults import Faults, Path, shown
from cloudcmp.study.tree import Tree

FILE_BYTES = 1 << 30
ALL_BYTES = 2 << 30
_FILES_MAX = 200
_NEXT = "name a file beside the study, e.g. bin/mine"


def shipped(items: list[Any], path: Path, tree: Tree, faults: Faults) -> tuple[ShippedFile, ...] | None:
    """The files of a list, with their digests; None where one is wrong, each fault added."""
    if len(items) > _FILES_MAX:
        faults.add(tree.place(path), f"more than {_FILES_MAX} files", "pack them into one, and unpack it in setup:")
        return None
    found = [one_shipped(item, (*path, number), tree, faults) for number, item in enumerate(items)]
    files = tuple(one for one in found if one is not None)
    if len({one.path for one in files}) < len(files):
        faults.add(tree.place(path), "a file is named twice", "name each once")
        return None
    if sum(one.size_bytes for one in files) > ALL_BYTES:
        faults.add(tree.place(path), f"the files are larger than {ALL_BYTES >> 30} GiB", "have setup: fetch them")
        return None
    return files if len(files) == len(items) else None


def one_shipped(item: Any, path: Path, tree: Tree, faults: Faults) -> ShippedFile | None:
    """A file of the study's folder; None where it is not there, is none, leads out of the folder or is too large."""
    place = tree.place(path)
    if not isinstance(item, str) or not item.strip() or not item.isprintable() or len(item) > 400:
        faults.add(place, f"{shown(item)} is not a file's name", _NEXT)
        return None
    named = File(item)
    if named.is_absolute() or ".." in named.parts or not named.parts:
        faults.add(place, f"{shown(item)} is not within the study's folder", _NEXT)
        return None
    found = _measured(faults.folder.resolve(), named)
    if isinstance(found, ShippedFile):
        return found
    faults.add(place, f"{shown(item)} {found[0]}", found[1])
    return None


def _measured(folder: File, named: File) -> ShippedFile | tuple[str, str]:
    """A file of a folder as it is now, or what is wrong with it and what next."""
    try:
        real = (folder / named).resolve(strict=True)
        if not real.is_relative_to(folder):
            return "leads out of the study's folder", "copy the file into it"
        if not real.is_file():
            return "is not a file", "name files, or pack a folder into one"
        size = real.stat().st_size
        if size > FILE_BYTES:
            return f"is larger than {FILE_BYTES >> 30} GiB", "have setup: fetch it"
        with real.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, ValueError, RuntimeError) as error:
        reason = (getattr(error, "strerror", None) or "it cannot be read").lower()
        return f"cannot be taken: {reason}", _NEXT
    return ShippedFile(named.as_posix(), digest, size)
