"""Standard output and standard error that may lose their reader: what was begun comes to its end all the same."""

import errno
import os
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

import typer

MAKING = frozenset({"check", "cleanup", "demo", "run", "sweep"})
"""The verbs that make or destroy: nobody reading their answer is no reason to stop half-way, nor a success."""


class _Lasting:
    """A stream whose reader may go away: what is said then goes nowhere.

    A terminal that was closed never ends a verb. A closed pipe does, quietly, unless the verb `goes_on`: whoever pipes
    a list into `head` wants no more of it.
    """

    def __init__(self, stream: TextIO, *, goes_on: bool) -> None:
        self._stream = stream
        self._goes_on = goes_on
        self._terminal = stream.isatty()  # one that is closed does not say any more that it is one

    def write(self, text: str) -> int:
        """All of it, as far as anybody is there to read it."""
        self._told(lambda: self._stream.write(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Each of them in turn."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """What was written, to whoever reads."""
        self._told(self._stream.flush)

    def _told(self, tell: Callable[[], object]) -> None:
        try:
            tell()
        except OSError as error:
            if self._unread(error):
                _let_go(self._stream)
            self._untold(error)

    def _unread(self, error: OSError) -> bool:
        """Whether a fault says that the reader is gone."""
        return error.errno == errno.EPIPE or (self._terminal and error.errno == errno.EIO)

    def _untold(self, error: OSError) -> None:
        """What comes of words that could not be said: an answer that is cut short by a fault is not told as whole."""
        if not self._unread(error):
            raise error
        if error.errno == errno.EPIPE and not self._goes_on:
            raise typer.Exit from error

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class _Aside(_Lasting):
    """Words beside the answer: none that cannot be said stops anything."""

    def _untold(self, error: OSError) -> None:
        """Nothing comes of it."""


def _let_go(stream: TextIO) -> None:
    """Have a stream lead nowhere, also what waits in its buffers."""
    with suppress(OSError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def outlast_readers(*, goes_on: bool) -> None:
    """Have no reader that goes away be a fault of what prints; closed streams lead nowhere from the beginning."""
    if sys.stdin is None:
        sys.stdin = Path(os.devnull).open(encoding="utf-8")  # noqa: SIM115 - for good
    for name, kind in (("stdout", _Lasting), ("stderr", _Aside)):
        # Else the next file that is opened would be taken for the closed stream.
        stream = getattr(sys, name) or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - for good
        setattr(sys, name, kind(stream, goes_on=goes_on))


def settle() -> None:
    """Nothing more is said: what cannot be said now cannot be the exit code's fault."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, typer.Exit):
            _let_go(stream)
