"""Confirmation of the commands that a study runs on the user's own machines; equal lines are confirmed once."""

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
"""The version of the canonical form; a new version needs every confirmation again."""


@dataclass(frozen=True, slots=True)
class ConfirmationRequest:
    """A request to confirm all commands and tools of a study; `where` says in words where they would run.

    `study` is the argument with which `cloudcmp plan` shows these lines: the study's file or folder.
    """

    study: str
    uses: tuple[CommandUse, ...]
    where: str

    @property
    def look(self) -> str:
        """The command that shows the lines without running any."""
        return f"cloudcmp plan {shlex.quote(self.study)}"


Confirm = Callable[[ConfirmationRequest], bool]
"""Shows the lines of a request and returns whether they may run; may raise UserMistake if nobody can be asked."""


def refuse(_: ConfirmationRequest) -> bool:
    """Confirms nothing, for studies that run no command."""
    return False


class ConfirmedDigests:
    """The digests that this user has confirmed, each an empty file in a folder of mode 0700.

    Nothing counts as confirmed if the folder cannot be made, or another user owns it or can write to it.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    def holds(self, digest: str) -> bool:
        """True if the digest was confirmed."""
        if self._folder is None:
            return False
        try:
            file = os.lstat(self._folder / digest)
            return self._is_own() and stat.S_ISREG(file.st_mode) and file.st_uid == os.geteuid()
        except OSError:
            return False

    def add(self, digest: str) -> None:
        """Store a digest if possible; otherwise the confirmation is asked for each time."""
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
    """The folder of confirmed digests; None if this user has no home."""
    try:
        return state_folder() / "confirmed"
    except StorageFault:
        return None


def digest_of(uses: Sequence[CommandUse], machines: Sequence[str]) -> str:
    """SHA-256 of everything that is confirmed: lines, files with their digests, and machines.

    The order of commands does not matter, because it is random in each study.
    """
    commands = sorted(
        json.dumps([use.name, [[line.kind, line.text] for line in use.lines],
                    sorted([one.path, one.sha256, one.size_bytes] for one in use.files)])
        for use in uses
    )  # fmt: skip
    return hashlib.sha256(json.dumps([_FORM, commands, sorted(machines)]).encode("ascii")).hexdigest()


def confirm_commands(plan: Plan, study: str, confirm: Confirm, note: Callable[[str], None]) -> None:
    """Ask for confirmation of the commands that a plan runs on the user's own machines, unless it was given before.

    `study` is the study's file or folder. Only free text needs confirmation, not lines that cloudcmp builds from
    checked parameters. `note` reports what runs where. Raises UserMistake if it is not confirmed.
    """
    uses, machines = on_own_machines(plan)
    if not uses:
        return
    if any(use.free for use in uses):
        kept, digest = ConfirmedDigests(confirmed_folder()), digest_of(uses, machines)
        if not kept.holds(digest):
            request = ConfirmationRequest(study, uses, where(machines))
            if not confirm(request):
                what = "its commands were not confirmed, and nothing was run"
                raise UserMistake.at(study, what, f"look at them with: {request.look}")
            kept.add(digest)
    note(notice(plan))
