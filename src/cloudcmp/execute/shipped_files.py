"""Whether the files that a plan ships are still those that it was made with, and lie where a study's files may."""

import hashlib
import re
from pathlib import Path

from cloudcmp.errors import Fault, UserMistake
from cloudcmp.model.command import Command, Shipped
from cloudcmp.model.plan import Plan

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")


def check_unchanged(plan: Plan) -> None:
    """Raise UserMistake with a line for each file that is gone or holds something else than when it was planned.

    So it is for one whose name leads out of the study's folder: its copy would lead out of the machine's as well.
    """
    if all(candidate.simulated for candidate in plan.candidates):
        return
    for_all = [fault for command in plan.commands for fault in _changed(command)]
    if for_all:
        raise UserMistake(*for_all)


def check_command(command: Command) -> None:
    """The same for the files of one command."""
    faults = _changed(command)
    if faults:
        raise UserMistake(*faults)


def _changed(command: Command) -> list[Fault]:
    if not _NAME.fullmatch(command.name):
        return [Fault(f"command {command.name!r}", "it cannot name a folder of files", "begin a new study")]
    of_all = (*command.files, *((command.image,) if command.image else ()))
    return [fault for one in of_all if (fault := _fault(Path(command.folder), one)) is not None]


def _fault(folder: Path, one: Shipped) -> Fault | None:
    path = folder / one.path
    if Path(one.path).is_absolute() or ".." in Path(one.path).parts:
        return Fault(repr(one.path), "it leads out of the study's folder", "begin a new study")
    next_ = "put back what it was, or begin a new study"
    try:
        if not path.resolve(strict=True).is_relative_to(folder.resolve(strict=True)):
            return Fault(str(path), "it leads out of the study's folder", "copy the file into it")
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, RuntimeError) as error:  # RuntimeError: links in a circle
        reason = getattr(error, "strerror", None) or "cannot be read"
        return Fault(str(path), f"a file of the study: {reason.lower()}", next_)
    return None if digest == one.sha256 else Fault(str(path), "it was changed since the study was planned", next_)
