"""Standard output and standard error that survive the loss of their reader."""

import errno
import os
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

import typer

MAKING = frozenset({"check", "cleanup", "demo", "run", "sweep", "watch"})
"""Verbs that create, destroy or record: a lost reader must not stop them, and is no success either."""


class _Answer:
    """Standard output; once its reader is gone, writes are discarded.

    A closed terminal never ends a verb. A closed pipe ends it quietly, as for a list piped into `head`, unless the verb
    `goes_on`.
    """

    def __init__(self, stream: TextIO, *, goes_on: bool) -> None:
        self._stream = stream
        self._goes_on = goes_on
        self._terminal = stream.isatty()  # a closed terminal no longer reports that it is one

    def write(self, text: str) -> int:
        """Write a string; returns its length also if the reader is gone."""
        self._guard(lambda: self._stream.write(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write each line."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Flush what was written."""
        self._guard(self._stream.flush)

    def _guard(self, action: Callable[[], object]) -> None:
        try:
            action()
        except OSError as error:
            if self._reader_gone(error):
                _discard(self._stream)
            self._handle(error)

    def _reader_gone(self, error: OSError) -> bool:
        """True if the error means that the reader is gone."""
        return error.errno == errno.EPIPE or (self._terminal and error.errno == errno.EIO)

    def _handle(self, error: OSError) -> None:
        """Handle a failed write: a truncated answer must not exit 0."""
        if not self._reader_gone(error):
            raise error
        if error.errno == errno.EPIPE and not self._goes_on:
            raise typer.Exit from error

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class _Messages(_Answer):
    """Standard error: a failed write is ignored."""

    def _handle(self, error: OSError) -> None:
        """Ignore a failed write."""


def _discard(stream: TextIO) -> None:
    """Redirect a stream to the null device, also what is in its buffers."""
    with suppress(OSError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def outlast_readers(*, goes_on: bool) -> None:
    """Make the standard streams survive the loss of their reader; closed ones lead to the null device."""
    if sys.stdin is None:
        sys.stdin = Path(os.devnull).open(encoding="utf-8")  # noqa: SIM115 - for good
    for name, kind in (("stdout", _Answer), ("stderr", _Messages)):
        # Otherwise the next opened file would take the closed stream's descriptor.
        stream = getattr(sys, name) or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - for good
        setattr(sys, name, kind(stream, goes_on=goes_on))


def settle() -> None:
    """Flush both streams at the end; a failure no longer changes the exit code."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, typer.Exit):
            _discard(stream)
