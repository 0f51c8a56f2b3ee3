"""Work whose caller may be interrupted: whoever interrupts it does not wait for calls that still hang in threads."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def unheld(work: Coroutine[Any, Any, T]) -> T:
    """What the work returns, once its threads have ended.

    Raises KeyboardInterrupt at once, also where only threads are waited for: the process must then be ended without
    waiting for them, as the `cloudcmp` command does.
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


def ask(question: Coroutine[Any, Any, T]) -> T:
    """The answer to a question to providers before anything is made: what hangs in threads makes nothing either."""
    return unheld(question)
