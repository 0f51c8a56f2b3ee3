"""Commands on machines of the user's own are run once this user has said so: the same lines are asked for once."""

import hashlib
import json
import os
import shlex
import stat
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from cloudcmp.app.command_uses import notice, on_own_machines, where
from cloudcmp.errors import StorageFault, UserMistake
from cloudcmp.model.command import CommandUse
from cloudcmp.model.plan import Plan
from cloudcmp.store import state_folder

_FORM = 1
"""The version of the canonical form; another one has everything confirmed again."""


@dataclass(frozen=True, slots=True)
class ConfirmationRequest:
    """What is to be confirmed: all commands and tools of a study, and where they would run, in words.

    `study` is what `cloudcmp plan` is given to show the same lines: the study's file, or its folder.
    """

    study: str
    uses: tuple[CommandUse, ...]
    where: str

    @property
    def look(self) -> str:
        """The command that shows the lines without running any."""
        return f"cloudcmp plan {shlex.quote(self.study)}"


Confirm = Callable[[ConfirmationRequest], bool]
"""Shows the lines of a request and says whether they may be run; it may raise UserMistake where nobody can be asked."""


def refuse(_: ConfirmationRequest) -> bool:
    """Confirms nothing, for studies that run no command."""
    return False


class ConfirmedDigests:
    """The digests that this user has confirmed, one empty file each in a folder of the user's own (0700).

    Where the folder cannot be made, or belongs to or can be written by somebody else, nothing is confirmed.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    def holds(self, digest: str) -> bool:
        """Whether the digest was confirmed."""
        if self._folder is None:
            return False
        try:
            file = os.lstat(self._folder / digest)
            return self._is_own() and stat.S_ISREG(file.st_mode) and file.st_uid == os.geteuid()
        except OSError:
            return False

    def add(self, digest: str) -> None:
        """Remember a digest, if that is possible: else it is asked for each time."""
        if self._folder is None:
            return
        with suppress(OSError):
            self._folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._folder.mkdir(mode=0o700, exist_ok=True)
            if self._is_own():
                flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
                os.close(os.open(self._folder / digest, flags, 0o600))

    def _is_own(self) -> bool:
        assert self._folder is not None
        found = os.lstat(self._folder)
        return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o022


def confirmed_folder() -> Path | None:
    """Where confirmed digests are kept; None where this user has no home."""
    try:
        return state_folder() / "confirmed"
    except StorageFault:
        return None


def digest_of(uses: Sequence[CommandUse], machines: Sequence[str]) -> str:
    """SHA-256 of all that is confirmed: every line, the files with their digests, and the machines.

    The order of commands does not count: it is drawn for each study.
    """
    commands = sorted(
        json.dumps([use.name, [[line.kind, line.text] for line in use.lines],
                    sorted([one.path, one.sha256, one.size_bytes] for one in use.files)])
        for use in uses
    )  # fmt: skip
    return hashlib.sha256(json.dumps([_FORM, commands, sorted(machines)]).encode("ascii")).hexdigest()


def confirm_commands(plan: Plan, study: str, confirm: Confirm, note: Callable[[str], None]) -> None:
    """Have the commands that a plan runs on machines of the user's own confirmed, unless this user has done so before.

    `study` is the study's file or folder. Only free text needs it: lines that cloudcmp makes itself, from parameters
    that it has checked, do not. `note` is told what runs where. Raises UserMistake where it is not confirmed.
    """
    uses, machines = on_own_machines(plan)
    if not uses:
        return
    if any(use.free for use in uses):
        kept, digest = ConfirmedDigests(confirmed_folder()), digest_of(uses, machines)
        if not kept.holds(digest):
            request = ConfirmationRequest(study, uses, where(machines))
            if not confirm(request):
                what = "its commands were not confirmed, and nothing of it was run"
                raise UserMistake.at(study, what, f"look at them with: {request.look}")
            kept.add(digest)
    note(notice(plan))
