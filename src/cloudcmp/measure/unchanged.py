"""Whether the files that a plan ships are still those that it was made with."""

import hashlib
from pathlib import Path

from cloudcmp.errors import Fault, UserMistake
from cloudcmp.model.command import Command, Shipped
from cloudcmp.model.plan import Plan


def check_unchanged(plan: Plan) -> None:
    """Raise UserMistake with a line for each file that is gone or holds something else than when it was planned."""
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
    of_all = (*command.files, *((command.image,) if command.image else ()))
    return [fault for one in of_all if (fault := _fault(Path(command.folder), one)) is not None]


def _fault(folder: Path, one: Shipped) -> Fault | None:
    path = folder / one.path
    next_ = "put back what it was, or begin a new study"
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        return Fault(str(path), f"a file of the study: {(error.strerror or 'can not be read').lower()}", next_)
    return None if digest == one.sha256 else Fault(str(path), "it was changed since the study was planned", next_)
