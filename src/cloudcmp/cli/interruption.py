"""Signals: the first one interrupts the verb, the second ends the process at once.

A study, a cleanup and a sweep handle signals themselves while something could be left (`execute/interruption.py`);
this module covers the time before and after, and all other verbs.
"""

import os
import signal
import sys
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import FrameType
from typing import Any, NoReturn, TypeVar

from cloudcmp.errors import Fault

EXIT_INTERRUPTED = 130
_TAKEN = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_AGAIN_S = 0.01

T = TypeVar("T")
TWO_WORDS = (["predict", "move"],)
"""The verbs of two words."""


def fault_of(verb: str) -> Fault:
    """The fault of an interrupted verb."""
    resumed = "nothing measured is lost: 'cloudcmp run --resume DIR' or 'cloudcmp report DIR'"
    next_ = {"run": resumed, "demo": resumed, "watch": "nothing stored is lost: the same command goes on"}
    return Fault("", "interrupted", next_.get(verb, ""))


def verb_of(arguments: Sequence[str]) -> str:
    """The first word that is not an option, or both of a verb of two words: `predict-move`."""
    words = [word for word in arguments if not word.startswith("-")][:2]
    return "-".join(words) if words in TWO_WORDS else next(iter(words), "cloudcmp")


def leave_now(code: int = EXIT_INTERRUPTED) -> NoReturn:
    """End this process without waiting for its threads."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, RuntimeError):  # RuntimeError: the signal interrupted another flush
            stream.flush()
    os._exit(code)


def leaving(show: Callable[[T], None]) -> Callable[[T], NoReturn]:
    """A function that shows a result and ends the process without waiting for its threads."""

    def leave(result: T) -> NoReturn:
        try:
            show(result)
        finally:
            leave_now()

    return leave


class Interruption:
    """Handles Ctrl-C, SIGTERM and a closed terminal alike.

    A signal that is ignored, as under `nohup`, stays ignored. A closed terminal is never the second signal, because a
    shell passes on the one that the system sends as well.
    """

    def __init__(self) -> None:
        self._came = 0
        self._over: int | None = None

    def heed(self) -> None:
        """Handle signals from now on."""
        for number in _TAKEN:
            if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
                signal.signal(number, self._signalled)
        if signal.getsignal(signal.SIGALRM) is signal.SIG_DFL:
            signal.signal(signal.SIGALRM, self._once_more)
            self._unraisable, sys.unraisablehook = sys.unraisablehook, self._swallowed

    @property
    def came(self) -> bool:
        """True if a signal has arrived."""
        return self._came != 0

    def over(self, code: int) -> None:
        """The verb has ended with this exit code; a later signal, such as while threads end, keeps it."""
        self._over = code

    def _signalled(self, number: int, _frame: FrameType | None) -> None:
        if self._over is not None:
            if not self._came or self._over != EXIT_INTERRUPTED:
                leave_now(self._over)
            if number != signal.SIGHUP:
                self.leave()  # the line about the first may not be printed yet
            return  # it is about to be printed, and the process ends then
        if not self._came:
            self._came = number
            warnings.simplefilter("ignore")  # such as about coroutines that are never awaited
            raise KeyboardInterrupt
        if number != signal.SIGHUP:
            self.leave()

    def leave(self) -> NoReturn:
        """End this process as interrupted, with one line that says so."""
        for number in _TAKEN:
            signal.signal(number, signal.SIG_IGN)
        with suppress(OSError):  # the reader may be gone; a blocked print must not be waited for
            os.write(2, f"{fault_of(verb_of(sys.argv[1:])).line()}\n".encode())
        leave_now()

    def _swallowed(self, unraisable: Any) -> None:
        """Raise an interruption again that a destructor swallowed.

        Once interrupted, other complaints of destructors are ignored.
        """
        if not self._came:
            self._unraisable(unraisable)
        elif unraisable.exc_type is KeyboardInterrupt:
            signal.setitimer(signal.ITIMER_REAL, _AGAIN_S)

    def _once_more(self, _number: int, _frame: FrameType | None) -> None:
        number, self._came = self._came, 0
        if number:
            signal.raise_signal(number)
