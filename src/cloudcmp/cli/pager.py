"""Long answers at a terminal go through the user's pager."""

import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from cloudcmp.cli.output import console

if TYPE_CHECKING:
    from rich.console import Console

_DEFAULT = "less -FRX -Ps'q ends, space shows more'"


@contextmanager
def paged(*, wanted: bool = True) -> Iterator["Console"]:
    """A console whose output goes through the user's pager at the end if it is longer than the terminal.

    It is printed as it comes without a terminal, without a pager, and if none is `wanted`.
    """
    out = console()
    pager = _pager(out) if wanted else []
    if not pager:
        yield out
        return
    with out.capture() as captured:
        yield out
    text = captured.get()
    if text.count("\n") < out.height or not _shown_by(pager, text):
        sys.stdout.write(text)


def _pager(out: "Console") -> Sequence[str]:
    """The words of the pager's command: those of $PAGER, else of less; none without a terminal, or if it is missing.

    An empty $PAGER means none, as for other commands. A dumb terminal cannot show what less does.
    """
    if not out.is_terminal:
        return []
    default = "" if out.is_dumb_terminal else _DEFAULT
    try:
        words = shlex.split(os.environ.get("PAGER", default))
    except ValueError:  # a quote that does not end
        return []
    return words if words and shutil.which(words[0]) else []


def _shown_by(pager: Sequence[str], text: str) -> bool:
    """Show a text in a pager, and wait for its end; False if it could not be started.

    Ctrl-C is for the pager alone: most go on, and whoever leaves one has seen enough.
    """
    sys.stdout.flush()
    try:
        process = subprocess.Popen(pager, stdin=subprocess.PIPE)
    except OSError:
        return False
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with suppress(BrokenPipeError), process:
            assert process.stdin is not None
            process.stdin.write(text.encode(sys.stdout.encoding or "utf-8", "replace"))
            process.stdin.close()
    finally:
        signal.signal(signal.SIGINT, before)
    return True
