"""How a run is stopped: in order at the first signal, at once at the second."""

import asyncio
import errno
import os
import signal
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
DRAIN_S = 50.0
"""How long the trial that runs may go on after the first signal, before it is cut short and machines are ended."""

_SAID = "stopping after the trial that runs, within 50 s; once more to leave at once"
_ENDING = "everything is being ended; once more to leave at once"


class Stopping:
    """The signals of a run. `stop` ends it after the trial that runs; `hurried` is set by the second signal.

    A closed terminal (SIGHUP) is never the second one: a shell passes on the one that the system sends as well, within
    a millisecond, and there is nobody left to whom a list could be shown. Where `stop` is set from the beginning, it is
    the end already, and the first signal counts as the second. `asked` is whether any came.
    """

    def __init__(self, stop: asyncio.Event, say: Callable[[str], None], drain_s: float = DRAIN_S) -> None:
        self._stop = stop
        self._say = say
        self._drain_s = drain_s
        self.hurried = asyncio.Event()
        self._over = asyncio.Event()
        self._why = ""
        self.asked = stop.is_set()

    @contextmanager
    def heeding(self) -> Iterator[None]:
        """Inside, signals are ours; in another thread than the main one whoever embeds us minds them.

        One that is ignored (`nohup`, a job of a script in the background) stays so.
        """
        loop, before = asyncio.get_running_loop(), {}

        def came(number: int, _frame: FrameType | None) -> None:
            loop.call_soon_threadsafe(self.signalled, number)

        # Not by the loop's own handlers: it would give a signal back to the system before whoever had it.
        for number in SIGNALS:
            former = signal.getsignal(number)
            if former not in {None, signal.SIG_IGN}:
                with suppress(ValueError):
                    signal.signal(number, came)
                    before[number] = former
        try:
            yield
        finally:
            for number, former in before.items():
                signal.signal(number, former)

    def signalled(self, number: int = signal.SIGINT) -> None:
        """One signal came."""
        let_go_of_closed_terminals()
        if not self.asked:
            self.asked = True
            self._stop.set()
            self._say(_ENDING if self._over.is_set() else _SAID)
        elif number != signal.SIGHUP:
            self.hurried.set()

    def end(self, why: str) -> None:
        """End everything now, without waiting for the trial that runs."""
        self._why = why
        self._stop.set()
        self._over.set()

    async def draining(self, work: Coroutine[Any, Any, str]) -> str:
        """What the work returns; cut short where it goes on too long after the first signal, or at once by `end`."""
        task = asyncio.create_task(work)
        stopped, over = asyncio.create_task(self._stop.wait()), asyncio.create_task(self._over.wait())
        try:
            await asyncio.wait({task, stopped}, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                await asyncio.wait({task, over}, timeout=self._drain_s, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
                return self._why or "stopped on request, within the trial that ran"
            return await task
        finally:
            stopped.cancel()
            over.cancel()
            task.cancel()
            await asyncio.wait({task})

    async def unless_hurried(self, work: Coroutine[Any, Any, None]) -> bool:
        """Do the work to its end; False as soon as the second signal comes, with the work cut short where it was.

        What is cut short is not waited for: it only must not take what we then do to its machines for their own doing.
        """
        task = asyncio.create_task(work)
        hurried = asyncio.create_task(self.hurried.wait())
        await asyncio.wait({task, hurried}, return_when=asyncio.FIRST_COMPLETED)
        hurried.cancel()
        if not task.done():
            task.cancel()
            return False
        await task
        return True


def let_go_of_closed_terminals() -> None:
    """What was said to a terminal that is closed now goes nowhere: a write to it would be a fault."""
    for stream in (1, 2):
        try:
            os.tcgetpgrp(stream)
        except OSError as error:
            if error.errno == errno.EIO:
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, stream)
                os.close(nowhere)
