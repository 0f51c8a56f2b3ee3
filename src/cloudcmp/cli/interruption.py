"""What interrupts a verb: the first signal is raised where it is, the second ends the process at once.

A study, a cleanup and a sweep take signals themselves as soon as something could be left (`pipeline.stopping`); what is
here holds before and after that, and for all other verbs.
"""

import os
import signal
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress
from types import FrameType
from typing import Any, NoReturn

from cloudcmp.errors import Fault

EXIT_INTERRUPTED = 130
_TAKEN = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_AGAIN_S = 0.01


def told(verb: str) -> Fault:
    """The line of a verb that was interrupted."""
    measures = verb in {"run", "demo"}
    next_ = "nothing measured is lost: 'cloudcmp run --resume DIR' or 'cloudcmp report DIR'" if measures else ""
    return Fault("", "interrupted", next_)


def verb_of(arguments: Sequence[str]) -> str:
    """The first word that is no option."""
    return next((word for word in arguments if not word.startswith("-")), "cloudcmp")


def leave_now(code: int = EXIT_INTERRUPTED) -> NoReturn:
    """End this process, whatever its threads still wait for."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, RuntimeError):  # RuntimeError: a signal came amid another flush
            stream.flush()
    os._exit(code)


class Interruption:
    """Ctrl-C, SIGTERM and a closed terminal, all taken alike.

    Where one is ignored, as under `nohup`, it stays so. A closed terminal is never the second signal: a shell passes on
    the one that the system sends as well.
    """

    def __init__(self) -> None:
        self._came = 0
        self._over: int | None = None

    def heed(self) -> None:
        """Take them from now on, for as long as this process lives."""
        for number in _TAKEN:
            if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
                signal.signal(number, self._signalled)
        if signal.getsignal(signal.SIGALRM) is signal.SIG_DFL:
            signal.signal(signal.SIGALRM, self._once_more)
            self._unraisable, sys.unraisablehook = sys.unraisablehook, self._swallowed

    @property
    def came(self) -> bool:
        """Whether a signal was taken."""
        return self._came != 0

    def over(self, code: int) -> None:
        """The verb is over, and how: who interrupts what remains, such as a wait for threads, changes nothing."""
        self._over = code

    def _signalled(self, number: int, _frame: FrameType | None) -> None:
        if self._over is not None:
            if self._came and self._over == EXIT_INTERRUPTED and number != signal.SIGHUP:
                self.leave()  # the line of the first may not be told yet
            leave_now(self._over)
        if not self._came:
            self._came = number
            warnings.simplefilter("ignore")  # of coroutines that nobody awaits any more, and the like
            raise KeyboardInterrupt
        if number != signal.SIGHUP:
            self.leave()

    def leave(self) -> NoReturn:
        """End this process as one that was interrupted, with one line that says so whatever else comes."""
        for number in _TAKEN:
            signal.signal(number, signal.SIG_IGN)
        with suppress(OSError):  # nobody may be there to read it; and who prints already must not be waited for
            os.write(2, f"{told(verb_of(sys.argv[1:])).line()}\n".encode())
        leave_now()

    def _swallowed(self, unraisable: Any) -> None:
        """What is raised within a destructor goes nowhere: it is raised once more, outside of it.

        What destructors of half-made things complain of once we were interrupted is nobody's concern.
        """
        if not self._came:
            self._unraisable(unraisable)
        elif unraisable.exc_type is KeyboardInterrupt:
            signal.setitimer(signal.ITIMER_REAL, _AGAIN_S)

    def _once_more(self, _number: int, _frame: FrameType | None) -> None:
        number, self._came = self._came, 0
        if number:
            signal.raise_signal(number)
