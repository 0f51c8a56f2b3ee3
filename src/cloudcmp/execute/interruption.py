"""Stopping a run: gracefully at the first signal, at once at the second."""

import asyncio
import errno
import os
import signal
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, TypeVar

T = TypeVar("T")
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
DRAIN_S = 50.0
"""The longest time that the current trial gets after the first signal; then it is aborted and machines are ended."""

_STOP_NOTE = "stopping after the trial that runs, within 50 s; once more to leave at once"
_END_NOTE = "everything is being ended; once more to leave at once"


def run_interruptible(work: Coroutine[Any, Any, T]) -> T:
    """The result of the work, once its threads have ended.

    Raises KeyboardInterrupt at once, even while threads still run: the process must then end without waiting for them,
    as the `cloudcmp` command does.
    """
    runner, interrupted = asyncio.Runner(), False
    try:
        return runner.run(work)
    except KeyboardInterrupt:
        interrupted = True
        raise
    finally:
        if not interrupted:  # closing waits for all threads
            runner.close()


class StopSignals:
    """The signals of a run. `stop` ends it after the current trial; `hurried` is set by the second signal.

    A closed terminal (SIGHUP) never counts as the second signal: a shell forwards the one that the system also sends,
    within a millisecond, and nobody is left to read a list. If `stop` is set from the start, the end has begun, and the
    first signal counts as the second. `interrupted` is true once any signal arrived.
    """

    def __init__(self, stop: asyncio.Event, say: Callable[[str], None], drain_s: float = DRAIN_S) -> None:
        self._stop = stop
        self._say = say
        self._drain_s = drain_s
        self.hurried = asyncio.Event()
        self._over = asyncio.Event()
        self._why = ""
        self.interrupted = stop.is_set()

    @contextmanager
    def handled(self) -> Iterator[None]:
        """Handles the signals inside the context; does nothing outside of the main thread.

        An ignored signal (`nohup`, a background job of a script) stays ignored.
        """
        loop, before = asyncio.get_running_loop(), {}

        def handle(number: int, _frame: FrameType | None) -> None:
            loop.call_soon_threadsafe(self.signalled, number)

        # Not by the loop's own handlers: it would restore the system's default instead of the former handler.
        for number in SIGNALS:
            former = signal.getsignal(number)
            if former not in {None, signal.SIG_IGN}:
                with suppress(ValueError):
                    signal.signal(number, handle)
                    before[number] = former
        try:
            yield
        finally:
            for number, former in before.items():
                signal.signal(number, former)

    def signalled(self, number: int = signal.SIGINT) -> None:
        """Handles one signal."""
        _detach_closed_terminals()
        if not self.interrupted:
            self.interrupted = True
            self._stop.set()
            self._say(_END_NOTE if self._over.is_set() else _STOP_NOTE)
        elif number != signal.SIGHUP:
            self.hurried.set()

    def end(self, why: str) -> None:
        """Ends everything now, without waiting for the current trial."""
        self._why = why
        self._stop.set()
        self._over.set()

    async def drain(self, work: Coroutine[Any, Any, str]) -> str:
        """The result of the work; aborts it if it takes too long after the first signal, or at once by `end`."""
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

    async def run_unless_hurried(self, work: Coroutine[Any, Any, None]) -> bool:
        """Runs the work to its end; on the second signal cancels it and returns False at once.

        The cancelled work is not awaited: it only must not record the effects of the teardown on its machines.
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


def _detach_closed_terminals() -> None:
    """Redirects output to a closed terminal to /dev/null: a write to it would fail."""
    for stream in (1, 2):
        try:
            os.tcgetpgrp(stream)
        except OSError as error:
            if error.errno == errno.EIO:
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, stream)
                os.close(nowhere)
