"""Defers signals until it is safe to raise an exception."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_HELD = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def held_signals(notify: Callable[[], object]) -> Iterator[list[int]]:
    """Defers signals: inside, each is added to the list and `notify` is called; they are delivered afterwards.

    Has no effect in threads other than the main one, which signals never interrupt, and for signals that end the
    process or are ignored.
    """
    received: list[int] = []
    before: dict[int, Callable[[int, FrameType | None], object]] = {}

    def note(number: int, _: FrameType | None) -> None:
        received.append(number)
        notify()

    try:
        if threading.current_thread() is threading.main_thread():
            for one in _HELD:
                former = signal.getsignal(one)
                if callable(former):
                    before[one] = former
                    signal.signal(one, note)
        yield received
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)
        for number in received:
            before[number](number, None)
