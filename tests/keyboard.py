"""The signals and the standard input of a terminal, for tests that were started without them."""

import os
import signal


def heed() -> None:
    """Heed Ctrl-C, also where the tests run in the background: a shell has such children ignore it, for good.

    What the tests start inherits that, and would never end when it is told to. Where `nohup` has the tests outlive
    their terminal they still do, but what they start heeds that it was closed: a handler is not inherited.
    """
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, _outlive)


def _outlive(*_: object) -> None:
    """Do nothing, unlike a process that heeds the signal, and unlike an ignored one, which children ignore as well."""


def fill_stdin() -> None:
    """Where standard input is closed, have it be empty: else the next file that is opened is taken for it."""
    try:
        os.fstat(0)
    except OSError:
        os.open(os.devnull, os.O_RDONLY)  # the lowest free number, which is 0
