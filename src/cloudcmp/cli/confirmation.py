"""Asks whether a study's commands may run on the user's own machines."""

import os
import pwd
import sys
from typing import TYPE_CHECKING

from cloudcmp.errors import UserMistake

if TYPE_CHECKING:
    from cloudcmp.app.confirmation import Confirm, ConfirmationRequest


def confirmation(*, yes: bool, json: bool) -> "Confirm":
    """Confirms commands by `--yes`, else by asking at the terminal; refuses if there is no terminal.

    Questions go to standard error, so that standard output holds only the answer.
    """

    def confirm(request: "ConfirmationRequest") -> bool:
        if not yes and (json or not (sys.stdin.isatty() and sys.stderr.isatty())):
            what = f"it runs commands {request.where}, and nobody is there to confirm them"
            raise UserMistake.at(request.study, what, f"look at them with '{request.look}', then add --yes")
        if not json:
            _show(request)
        return yes or _agrees(f"Run these commands {_places(request.where)}? [y/N] ")

    return confirm


def _show(request: "ConfirmationRequest") -> None:
    from rich.console import Console

    from cloudcmp.report.command_lines import show_commands

    show_commands(Console(stderr=True, highlight=False), request.uses)


def _places(where: str) -> str:
    return where.replace(", as you", f" as {_user()}")


def _user() -> str:
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return f"user {os.geteuid()}"


def _agrees(question: str) -> bool:
    """True if the typed line says yes; the end of the input means no."""
    try:
        sys.stderr.write(question)
        sys.stderr.flush()
        line = sys.stdin.readline()
    except KeyboardInterrupt:
        sys.stderr.write("\n")  # the fault that follows gets its own line
        raise
    if not line:
        sys.stderr.write("\n")
    return line.strip().lower() in {"y", "yes"}
