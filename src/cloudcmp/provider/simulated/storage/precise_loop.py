"""An event loop whose timers are late by tens of microseconds, not by up to a millisecond."""

import asyncio
import select
import selectors

LEAD_S = 2e-4
"""How much before its moment a timer is set for what must not be late; the rest is waited without sleep."""

_FD_MAX = 1000  # select() takes file descriptors below 1024


class _PreciseSelector(selectors.DefaultSelector):
    """Waits with select() on the selector's own descriptor: epoll_wait() rounds a timeout up to a millisecond."""

    def select(self, timeout: float | None = None) -> "list[tuple[selectors.SelectorKey, int]]":
        if timeout is not None and timeout > 0:
            select.select([self.fileno()], [], [], timeout)
            timeout = 0
        return super().select(timeout)


def precise_loop() -> asyncio.AbstractEventLoop:
    """A new event loop with precise timers; an ordinary one where the system does not offer what that needs."""
    selector = selectors.DefaultSelector()
    epoll = getattr(selectors, "EpollSelector", None)
    suits = epoll is not None and isinstance(selector, epoll) and selector.fileno() < _FD_MAX
    selector.close()
    return asyncio.SelectorEventLoop(_PreciseSelector() if suits else None)
