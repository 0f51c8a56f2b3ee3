"""For every test: signals as a terminal would give them, whoever started the tests."""

import signal
import sys
from collections.abc import Iterator

import pytest

from tests.keyboard import heed

_TAKEN = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM)


def pytest_configure() -> None:
    """Heed Ctrl-C from the beginning."""
    heed()


@pytest.fixture(autouse=True)
def own_signals() -> Iterator[None]:
    """What the command takes for itself where a test runs it in this process is given back."""
    before, hook = {number: signal.getsignal(number) for number in _TAKEN}, sys.unraisablehook
    yield
    sys.unraisablehook = hook
    for number, handler in before.items():
        if signal.getsignal(number) is not handler:
            signal.signal(number, handler)
