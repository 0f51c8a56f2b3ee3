"""Runs blocking library calls in threads; a thread is abandoned after its deadline."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import TypeVar

from cloudcmp.errors import IncompleteListing, LostAnswer

_T = TypeVar("_T")


def run_blocking(work: Callable[[], _T], where: str, deadline_s: float) -> _T:
    """Runs blocking read-only work; raises IncompleteListing after the deadline."""
    done = Future[_T]()

    def run() -> None:
        try:
            done.set_result(work())
        except BaseException as raised:
            done.set_exception(raised)

    threading.Thread(target=run, name=f"{where} look", daemon=True).start()
    try:
        return done.result(deadline_s)
    except TimeoutError:
        raise IncompleteListing.at(where, f"no complete answer within {deadline_s:g} s", "check the network") from None


async def run_in_thread(work: Callable[[], _T], where: str, deadline_s: float, *, changes: bool = False) -> _T:
    """Runs blocking work in a thread; after the deadline raises LostAnswer (if it `changes`) or IncompleteListing."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[_T] = loop.create_future()

    def settle(result: _T | None, error: BaseException | None) -> None:
        if done.cancelled():
            return
        if error is not None:
            done.set_exception(error)
        else:
            done.set_result(result)  # type: ignore[arg-type]

    def run() -> None:
        result, error = None, None
        try:
            result = work()
        except BaseException as raised:
            error = raised
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(settle, result, error)

    threading.Thread(target=run, name=f"{where} call", daemon=True).start()
    try:
        return await asyncio.wait_for(done, deadline_s)
    except TimeoutError:
        kind = LostAnswer if changes else IncompleteListing
        raise kind.at(where, f"no answer within {deadline_s:g} s", "check the network") from None


async def run_to_completion(work: Callable[[], _T]) -> _T:
    """Runs uninterruptible work in a thread; if cancelled, waits for its end and drops its result."""
    thread = asyncio.ensure_future(asyncio.to_thread(work))
    cancelled: asyncio.CancelledError | None = None
    while not thread.done():
        try:
            await asyncio.wait({thread})
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        thread.exception()  # asyncio complains about exceptions that are not retrieved
        raise cancelled
    return thread.result()
