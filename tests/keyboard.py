"""The keyboard's signals, for tests that send them."""

import signal


def heed() -> None:
    """Heed Ctrl-C, also where the tests run in the background: a shell has such children ignore it, for good.

    What the tests start inherits that, and would never end when it is told to.
    """
    for number in (signal.SIGINT, signal.SIGQUIT):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
